"""Weights that an evaluation assigns: the training after a validation goes on from other values than without one."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from graftax.core import user_line
from graftax.training.compiled_loss import variables_of
from graftax.training.objectives import Objectives
from graftax.transforms.compile.trace import Entry


def warn_of_assigned(model: Any, entry: Entry, objectives: Objectives) -> None:
    """Warn of weights that the step of an evaluation assigns, once for a model.

    States get their values back after a validation, and so do Variables of losses that the model was compiled with.
    Metrics, counters and random streams are to move.

    Args:
        model: The model.
        entry: The program of the step.
        objectives: What the model was compiled with.
    """
    if model in _told:
        return
    restored = set(map(id, variables_of(objectives.given_losses()["loss"])))
    changed = {id(storage) for storage in entry.written}
    found = [
        variable.path
        for variable in model.variables
        if variable.role == "weight" and id(variable._storage) in changed and id(variable) not in restored
    ]
    if not found:
        return
    _told.add(model)
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    user_line.warn(
        f"the evaluation of {type(model).__name__} assigns {', '.join(map(repr, found[:3]))}{more}: after a "
        "validation, the training goes on from other values than without one. Instead: assign only where training is "
        "True; or gx.Variable(..., role='state'), which gets its value back after a validation, or role='counter', "
        "which is to move"
    )


_told: WeakSet[Any] = WeakSet()
"""The models of which it was said."""
