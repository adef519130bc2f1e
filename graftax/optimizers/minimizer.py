"""Minimizer: what can train a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from graftax.core.errors import ArgumentError, ArgumentTypeError, GradientError
from graftax.core.typedefs import Array
from graftax.core.user_functions import check_takes, misfit
from graftax.optimizers.engine.gradients import Variables
from graftax.transforms.gradients.sources import refuse_late


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
        """Return one step, for the trainable ones of the variables.

        Args:
            loss_fn: Computes the loss; may be called more than once. With ``has_aux`` it returns ``(loss, anything)``.
            variables: Variables in any nested structure, or a Module for its trainable ones.
            has_aux: Whether ``loss_fn`` returns something besides the loss. Defaults to False.

        Returns:
            What ``loss_fn`` returned where the variables were; `LBFGS` gives the loss where they are then.
        """


def loss_of(result: Any, has_aux: bool) -> Array:
    """Return the loss in what a ``loss_fn`` returned.

    Raises:
        ArgumentError: with ``has_aux``, it is no pair.
        GradientError: without it, it is one.
    """
    if not has_aux:
        if isinstance(result, tuple | list):
            raise GradientError(
                f"minimize() got a {type(result).__name__} of {len(result)} from its loss_fn",
                "a loss is one number",
                "has_aux=True for a loss_fn that returns loss, anything; or return the loss alone",
            )
        return result  # type: ignore[no-any-return]
    if not isinstance(result, tuple) or len(result) != 2:
        shape = getattr(result, "shape", None)
        what = f"a {type(result).__name__}" if shape is None else f"an array of shape {tuple(shape)}"
        raise ArgumentError(
            f"minimize(..., has_aux=True) got {what} from its loss_fn",
            "it returns the loss and one thing besides",
            "return loss, (y_pred, anything)",
        )
    return result[0]  # type: ignore[no-any-return]


def check_returned(minimizer: object, result: object) -> tuple[Array, tuple[Any, Any, Any]]:
    """Return what ``minimize`` of any class returned for the loss function of a model, if it can be that.

    Raises:
        ArgumentError: it is no pair of a loss and what the model gave besides.
    """
    if isinstance(result, tuple | list) and len(result) == 2:
        aux = result[1]
        if isinstance(aux, tuple | list) and len(aux) == 3:
            return result[0], (aux[0], aux[1], aux[2])
        got = f"a loss and {type(aux).__name__}"
    else:
        alone = "one array" if hasattr(result, "shape") else type(result).__name__
        got = f"{len(result)} things" if isinstance(result, tuple | list) else alone
    raise ArgumentError(
        f"{type(minimizer).__name__}.minimize(..., has_aux=True) returned {got}",
        "fit shows the numbers of the step, and needs the pair that loss_fn gave: the loss, and what is besides",
        "return loss, aux  # of `loss, aux = loss_fn()`",
    )


def check_signature(minimizer: Minimizer) -> None:
    """Raise unless ``minimize`` can be called as training calls it.

    Raises:
        ArgumentTypeError: it takes other arguments.
    """
    if (found := misfit(minimizer.minimize, 2, ["has_aux"])) is not None:
        taken = found.shown.removeprefix("minimize")
        raise ArgumentTypeError(
            f"optimizer={type(minimizer).__name__}(...), whose minimize takes {taken}: {found.reason}",
            "training calls minimize(loss_fn, variables, has_aux=True)",
            "def minimize(self, loss_fn, variables, has_aux=False):",
        )


def check_loss_fn(loss_fn: object) -> None:
    """Raise for a loss that is no function: it was computed where no gradient of it can be taken."""
    if not callable(loss_fn):
        raise ArgumentTypeError(
            f"minimize got {type(loss_fn).__name__} as its loss",
            "the loss must be computed inside, for a gradient to be there",
            "optimizer.minimize(lambda: compute_loss(...), variables)",
        )
    check_takes("minimize", "loss_fn", loss_fn, (), "optimizer.minimize(lambda: loss(x, y), variables)")


def watch_loss_fn(loss_fn: Callable[[], Any], variables: object) -> Callable[[], Any]:
    """Return a loss that raises `GradientError` where it builds a part of a Module whose Variables were listed."""
    return refuse_late(loss_fn, variables)
