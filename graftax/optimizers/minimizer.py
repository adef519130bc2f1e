"""Minimizer: what can train a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeAlias, runtime_checkable

from graftax.errors import ArgumentError, ArgumentTypeError
from graftax.module import Module
from graftax.typedefs import Array
from graftax.variables.variable import Variable

Variables: TypeAlias = "Module | Iterable[Variable] | Mapping[str, Any]"


@runtime_checkable
class Minimizer(Protocol):
    """What moves variables so that a loss falls: every `Optimizer`, and those that look at the loss more than once.

    A Module with a `minimize` of this form can be given to `Model.compile`.

    Example:
        >>> import graftax as gx
        >>> class Halve(gx.Module):
        ...     def minimize(self, loss_fn, variables, has_aux=False):
        ...         found = loss_fn()
        ...         for variable in variables:
        ...             variable.assign(variable * 0.5)
        ...         return found
        >>> w = gx.Variable([1.0, 2.0])
        >>> float(Halve().minimize(lambda: gx.ops.sum(w * w), [w])), w.numpy().tolist()
        (5.0, [0.5, 1.0])
        >>> isinstance(Halve(), Minimizer), isinstance(gx.optimizers.SGD(0.1), Minimizer)
        (True, True)
    """

    def minimize(self, loss_fn: Callable[[], Any], variables: Variables, has_aux: bool = False) -> Any:
        """One step, for the trainable ones of the variables.

        Args:
            loss_fn: Computes the loss; may be called more than once. With ``has_aux`` it returns ``(loss, anything)``.
            variables: Variables in any nested structure, or a Module for its trainable ones.
            has_aux: Whether ``loss_fn`` returns something besides the loss.

        Returns:
            What ``loss_fn`` returned where the variables were; `LBFGS` gives the loss where they are then.
        """


def loss_of(found: Any, has_aux: bool) -> Array:
    """The loss in what a ``loss_fn`` returned.

    Raises:
        ArgumentError: with ``has_aux``, it is no pair.
    """
    if not has_aux:
        return found  # type: ignore[no-any-return]
    if not isinstance(found, tuple) or len(found) != 2:
        raise ArgumentError(
            f"minimize(..., has_aux=True) got {type(found).__name__} from its loss_fn",
            "it returns the loss and one thing besides",
            "return loss, (y_pred, anything)",
        )
    return found[0]  # type: ignore[no-any-return]


def check_loss_fn(loss_fn: Any) -> None:
    """Raise for a loss that is no function: it was computed where no gradient of it can be taken."""
    if not callable(loss_fn):
        raise ArgumentTypeError(
            f"minimize got {type(loss_fn).__name__} as its loss",
            "the loss must be computed inside, for a gradient to be there",
            "optimizer.minimize(lambda: compute_loss(...), variables)",
        )
