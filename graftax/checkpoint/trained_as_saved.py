"""Whether a Variable that takes a saved value is trained as it was when that was saved, and what makes it so."""

from __future__ import annotations

from graftax.checkpoint.index import NodeRecord
from graftax.variables.graph.module import Module
from graftax.variables.graph.structure import structure
from graftax.variables.state import storage
from graftax.variables.trainability import Trainability
from graftax.variables.variable import Variable


def differs(record: NodeRecord, trainability: Trainability) -> bool:
    """Return whether what was saved is trained otherwise in the program, and no expression is the reason."""
    saved: bool = record.payload[1]
    return saved != trainability.trained and not _rests(record, trainability)


def _rests(record: NodeRecord, trainability: Trainability) -> bool:
    """Whether an expression keeps it as it is, on either side: that is not what was saved, nor what changes."""
    attributes = record.payload[3]
    return bool(trainability.resting or (attributes.get("resting") and not attributes.get("frozen")))


def as_saved(before: Trainability, trained: bool) -> Trainability:
    """Return what a Variable is to be that was trained, or was not."""
    return Trainability(before.made or trained, not trained, before.resting)


def set_trainability(variable: Variable, trainability: Trainability) -> None:
    """Let a Variable be trained or not; what was compiled before notices."""
    storage.changing(variable, "trainable")
    variable.trainability = trainability
    structure.bump()


def set_frozen(module: Module, frozen: bool) -> None:
    """Let what is made below a Module later be frozen or not."""
    storage.changing(module, "_gx_frozen")
    structure.bump()
    object.__setattr__(module, "_gx_frozen", frozen)
