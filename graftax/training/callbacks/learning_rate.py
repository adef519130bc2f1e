"""Reading and setting the learning rates of a model's optimizer and of those in its rules, for callbacks."""

from __future__ import annotations

from typing import Any

from graftax.core.errors import ArgumentTypeError, StateError
from graftax.core.typedefs import VariableLike
from graftax.optimizers.around import AroundOptimizer
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


def optimizer_of(model: object) -> Any:
    """Return the optimizer of a model, or of the roots of a session; None if there is none."""
    objectives = getattr(model, "_gx_objectives", None)
    return objectives.optimizer if objectives is not None else getattr(model, "optimizer_root", None)


def innermost_optimizer(optimizer: object) -> Any:
    """Return what takes the steps and has the rate: the optimizer itself, or the one inside of one around it."""
    while isinstance(optimizer, AroundOptimizer):
        optimizer = optimizer.optimizer
    return optimizer


def rates_of(model: object) -> dict[str, Any]:
    """Return the present learning rates by name, numbers or arrays; none where there is no single rate.

    ``learning_rate`` is that of the optimizer. Those of optimizers that its rules name follow by their place among
    them, ``learning_rate/0``, except where they share the Variable of one before.
    """
    rates = {name: one.learning_rate for name, one in _with_rates(innermost_optimizer(optimizer_of(model))).items()}
    found = {name: rate.value if isinstance(rate, VariableLike) else rate for name, rate in rates.items()}
    return {name: rate for name, rate in found.items() if tuple(getattr(rate, "shape", ())) == ()}


def check_optimizer(callback: str, optimizer: object) -> None:
    """Raise unless an argument is an optimizer, or None for that of the model.

    Raises:
        ArgumentTypeError: it is something else.
    """
    if optimizer is not None and not isinstance(optimizer, Optimizer | AroundOptimizer):
        raise ArgumentTypeError(
            f"{callback} got optimizer={optimizer!r:.60}",
            "it is the optimizer itself, of a model that has several",
            f"{callback}(..., optimizer=gan.generator_optimizer)",
        )


def without_optimizer(callback: str) -> StateError:
    """Return the error for a model that was compiled without an optimizer, such as one with several."""
    return StateError(
        f"{callback} of a model whose model.optimizer is None",
        "compile() got no optimizer, and those that the model keeps in attributes of its own are not guessed",
        f"{callback}(..., optimizer=gan.generator_optimizer), one callback for each; or compile(optimizer=...)",
    )


def require_settable_rates(model: object, callback: str, optimizer_given: object = None) -> dict[str, Optimizer]:
    """Return the optimizers whose learning rates can be set, by the names of `rates_of`.

    Args:
        model: The model.
        callback: The name of the callback, for messages.
        optimizer_given: The optimizer that the callback was given. Defaults to None: that of the model.

    Raises:
        StateError: there is no such optimizer, or one has a schedule.
    """
    optimizer = innermost_optimizer(optimizer_given or optimizer_of(model))
    if optimizer is None:
        raise without_optimizer(callback)
    found = _with_rates(optimizer)
    if not found:
        raise StateError(
            f"{callback} with the optimizer {type(optimizer).__name__}",
            "it has no learning rate that could be set",
            'model.compile(optimizer="adam", loss=...)',
        )
    for one in found.values():
        kept = one.__dict__["learning_rate"]
        if not isinstance(kept, VariableLike):
            where = "" if one is optimizer else f", which a rule of {type(optimizer).__name__} names, and"
            raise StateError(
                f"{callback} with {type(one).__name__}{where or ','} whose learning rate is {type(kept).__name__}",
                "what the callback sets would be overruled by the schedule at the next step",
                f"a number: graftax.optimizers.{type(one).__name__}(1e-3); or leave the callback out",
            )
    return found


def require_single_rate(model: object, callback: str, optimizer_given: object = None) -> Optimizer:
    """Return the optimizer, if its learning rate can be set and is that of all variables; arguments as above.

    Raises:
        StateError: there is no such optimizer, it has a schedule, or a rule names one with another rate.
    """
    optimizer = innermost_optimizer(optimizer_given or optimizer_of(model))
    found = _with_rates(optimizer)
    others = [one for one in found.values() if one is not optimizer]
    if others:
        raise StateError(
            f"{callback} with {type(optimizer).__name__}, whose rules name {others[0]!r:.80}",
            "it sets one rate for all, and that optimizer has a rate of its own, which would stay as it is",
            'rules=[(selector, {"learning_rate_multiplier": 2.0})] for the same optimizer with another rate; or one '
            "Variable as learning_rate= of both; or a graftax.Callback whose on_epoch_begin sets each, the other with "
            "self.model.optimizer.others[0].learning_rate = 0.1",
        )
    return require_settable_rates(model, callback, optimizer_given)["learning_rate"]


def _with_rates(optimizer: object, name: str = "learning_rate") -> dict[str, Optimizer]:
    """Return an optimizer and those that its rules name, at any depth, one for each rate."""
    if not isinstance(optimizer, Optimizer):
        return {}
    found = {name: optimizer}
    for place, other in enumerate(optimizer.others):
        found |= _with_rates(other, f"{name}/{place}")
    seen: dict[int, str] = {}
    for key, one in found.items():
        kept = one.__dict__["learning_rate"]
        seen.setdefault(id(kept if isinstance(kept, VariableLike) else one), key)
    return {key: found[key] for key in seen.values()}


def steps_taken(model: object) -> int:
    """Return the number of steps that the optimizer has counted so far; 0 if it does not count."""
    count = iterations_of(model)
    return 0 if count is None else int(count.value)


def iterations_of(model: object) -> Variable | None:
    """Return the step counter of the optimizer of a model; None if there is none."""
    found = getattr(optimizer_of(model), "iterations", None)
    return found if isinstance(found, Variable) else None
