"""Reading and setting the learning rate of a model's optimizer, for callbacks."""

from __future__ import annotations

from typing import Any

from graftax.core.errors import StateError
from graftax.core.typedefs import VariableLike
from graftax.optimizers.around import AroundOptimizer
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


def optimizer_of(model: object) -> Any:
    """Return the optimizer of a model, or of the roots of a session; None if there is none."""
    objectives = getattr(model, "_gx_objectives", None)
    return objectives.optimizer if objectives is not None else getattr(model, "optimizer_root", None)


def stepping(optimizer: object) -> Any:
    """Return what takes the steps and has the rate: the optimizer itself, or the one inside of one around it."""
    while isinstance(optimizer, AroundOptimizer):
        optimizer = optimizer.optimizer
    return optimizer


def rate_of(model: object) -> Any:
    """Return the present learning rate, a number or an array; None if there is no single rate."""
    optimizer = stepping(optimizer_of(model))
    if not isinstance(optimizer, Optimizer):
        return None
    rate = optimizer.learning_rate
    rate = rate.value if isinstance(rate, VariableLike) else rate
    return rate if tuple(getattr(rate, "shape", ())) == () else None


def require_settable_rate(model: object, callback: str) -> Optimizer:
    """Return the optimizer, if its learning rate can be set.

    Raises:
        StateError: there is no such optimizer, or it has a schedule.
    """
    optimizer = stepping(optimizer_of(model))
    if not isinstance(optimizer, Optimizer):
        raise StateError(
            f"{callback} with the optimizer {type(optimizer).__name__}",
            "it has no learning rate that could be set",
            'model.compile(optimizer="adam", loss=...)',
        )
    kept = optimizer.__dict__["learning_rate"]
    if not isinstance(kept, VariableLike):
        raise StateError(
            f"{callback} with {type(optimizer).__name__}, whose learning rate is {type(kept).__name__}",
            "what the callback sets would be overruled by the schedule at the next step",
            f"a number: graftax.optimizers.{type(optimizer).__name__}(1e-3); or leave the callback out",
        )
    return optimizer


def steps_taken(model: object) -> int:
    """Return the number of steps that the optimizer has counted so far; 0 if it does not count."""
    count = iterations_of(model)
    return 0 if count is None else int(count.value)


def iterations_of(model: object) -> Variable | None:
    """Return the step counter of the optimizer of a model; None if there is none."""
    found = getattr(optimizer_of(model), "iterations", None)
    return found if isinstance(found, Variable) else None
