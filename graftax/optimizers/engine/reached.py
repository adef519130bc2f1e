"""What losses reach: a loss that depends on no variable is refused, and a variable that it does not reach is left out.

Zeros, the gradients of what a loss does not depend on, would train nothing without a word, and decay would still move
the weights. A compiled program depends on all branches of a `graftax.cond`, an eager step on the one that it took: what
the same loss reached in an earlier step has zeros then, as in the compiled one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graftax.backend import registry
from graftax.core.errors import GradientError
from graftax.optimizers.engine.gradients import some_paths
from graftax.optimizers.engine.slot_table import SlotTable
from graftax.transforms.flow.branches import EagerChoices, watching
from graftax.transforms.gradients.grad import reached_value_and_grad
from graftax.variables.variable import Variable


def differentiate_reached(
    fn: Callable[[], tuple[Any, Any]], variables: Sequence[Variable], table: SlotTable
) -> Callable[[], tuple[Any, list[Any]]]:
    """Return a function that gives ``fn()`` and the gradients of its first part, None for what it does not reach.

    Args:
        fn: Returns ``(loss, anything)``; may wrap the loss function of the user, by which it is known again.
        variables: The variables.
        table: Of the optimizer: in it is kept which variables a loss has reached in eager steps.

    Raises:
        GradientError: when called: the loss depends on none of the variables.
    """
    source = _source_of(fn)
    backend = registry.current()
    at_once = not (backend.has("tracing") and backend.tracing.staged_within(None))
    known = {v for v in variables if source in table.state(v).reached_by} if at_once else set()
    choices = EagerChoices()

    def check(gradients: Sequence[Any]) -> None:
        if not (choices.made and known) and all(gradient is None for gradient in gradients):
            raise _unreached(variables)

    differentiate = reached_value_and_grad(fn, variables, check)

    def run() -> tuple[Any, list[Any]]:
        choices.made = False
        with watching.entered(choices):
            found, gradients = differentiate()
        if at_once:
            for place, (variable, gradient) in enumerate(zip(variables, gradients, strict=True)):
                if gradient is not None:
                    table.state(variable).reached_by.add(source)
                elif choices.made and variable in known:
                    gradients[place] = backend.arrays.numpy.zeros(variable.shape, variable.dtype)
        return found, gradients

    return run


def _source_of(fn: Any) -> object:
    """Return what two functions have in common that the same lines of a program make at two steps."""
    while hasattr(fn, "__wrapped__"):
        fn = fn.__wrapped__
    return getattr(fn, "__code__", type(fn))


def _unreached(variables: Sequence[Variable]) -> GradientError:
    return GradientError(
        f"the loss depends on none of the variables {some_paths(variables)}",
        "minimize would change nothing: they are those of another model, or the loss was computed before minimize, or "
        "it comes through stop_gradient, rounding, argmax or NumPy only, or it is constant in this step",
        "optimizer.minimize(lambda: compute_loss(model(x), y), model.trainable_variables), the same model in both",
    )
