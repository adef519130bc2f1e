"""Checkpoints: any part of a program out to disk, any part of a checkpoint in; imported when first used.

Example:
    >>> import graftax as gx
    >>> dir(gx.checkpoint)[:4], dir(gx.checkpoint)[-2:]
    (['Checkpoint', 'CheckpointManager', 'ForeignReport', 'Record'], ['load_foreign', 'read'])
"""

from importlib import import_module

TYPE_CHECKING = False  # type checkers go by the name

if TYPE_CHECKING:
    from graftax.checkpoint.checkpoint import Checkpoint as Checkpoint
    from graftax.checkpoint.foreign.load import load_foreign as load_foreign
    from graftax.checkpoint.foreign.report import ForeignReport as ForeignReport
    from graftax.checkpoint.manager import CheckpointManager as CheckpointManager
    from graftax.checkpoint.report import RestoreReport as RestoreReport
    from graftax.checkpoint.retention import Record as Record
    from graftax.checkpoint.save import SaveReport as SaveReport
    from graftax.checkpoint.saved_arrays import SavedArray as SavedArray
    from graftax.checkpoint.saved_arrays import SavedArrays as SavedArrays
    from graftax.checkpoint.saved_arrays import read as read

__all__ = [
    "Checkpoint",
    "CheckpointManager",
    "ForeignReport",
    "Record",
    "RestoreReport",
    "SaveReport",
    "SavedArray",
    "SavedArrays",
    "load_foreign",
    "read",
]

_HOMES = {
    "Checkpoint": "graftax.checkpoint.checkpoint",
    "CheckpointManager": "graftax.checkpoint.manager",
    "ForeignReport": "graftax.checkpoint.foreign.report",
    "Record": "graftax.checkpoint.retention",
    "RestoreReport": "graftax.checkpoint.report",
    "SaveReport": "graftax.checkpoint.save",
    "SavedArray": "graftax.checkpoint.saved_arrays",
    "SavedArrays": "graftax.checkpoint.saved_arrays",
    "load_foreign": "graftax.checkpoint.foreign.load",
    "read": "graftax.checkpoint.saved_arrays",
}
"""So a program that only inspects checkpoints, such as ``graftax ckpt ls``, imports no array library."""


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'graftax.checkpoint' has no attribute {name!r}", name=name)
    found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
