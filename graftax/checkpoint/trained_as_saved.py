"""Restoring ``trainable`` flags with the saved values of Variables."""

from __future__ import annotations

from graftax.checkpoint.index import NodeRecord
from graftax.variables.graph.module import Module
from graftax.variables.graph.structure import structure
from graftax.variables.state import storage
from graftax.variables.trainability import Trainability
from graftax.variables.variable import Variable


def is_different(record: NodeRecord, trainability: Trainability) -> bool:
    """Return whether the saved ``trainable`` flag differs from the program's, and not because of an expression."""
    saved: bool = record.payload[1]
    return saved != trainability.trained and not _is_resting(record, trainability)


def _is_resting(record: NodeRecord, trainability: Trainability) -> bool:
    """Return whether an expression freezes it, on either side: that is not part of the flag, and is not changed."""
    attributes = record.payload[3]
    return bool(trainability.resting or (attributes.get("resting") and not attributes.get("frozen")))


def trainability_as_saved(before: Trainability, trained: bool) -> Trainability:
    """Return the new trainability of a Variable that was, or was not, trained when it was saved."""
    return Trainability(before.made or trained, not trained, before.resting)


def set_trainability(variable: Variable, trainability: Trainability) -> None:
    """Set the trainability of a Variable. Compiled functions notice the change."""
    storage.changing(variable, "trainable")
    variable.trainability = trainability
    structure.bump()


def set_frozen(module: Module, frozen: bool) -> None:
    """Set whether Variables that are created below a Module later are frozen."""
    storage.changing(module, "_gx_frozen")
    object.__setattr__(module, "_gx_frozen", frozen)
    structure.bump()  # after the change: another thread looks again as soon as it counts
