"""Deleting checkpoints: never one that others refer to, and never so that a part of one is left under its name."""

import os

from graftax.checkpoint.folder_index import referrers
from graftax.checkpoint.places import place_of
from graftax.checkpoint.references import in_use
from graftax.core.errors import NotACheckpoint


def delete(path: str | os.PathLike[str]) -> None:
    """Delete a checkpoint.

    Raises:
        NotACheckpoint: there is none.
        CheckpointInUse: other checkpoints refer to it.
        DestinationExists: it holds what no save has made.
        StorageFailure: the system refused.
    """
    storage, where = place_of(path)
    if not storage.is_checkpoint(where):
        raise NotACheckpoint(f"nothing to delete at {path}", "no checkpoint is there", "graftax ckpt ls FOLDER")
    if users := referrers(storage, *storage.split(where)):
        raise in_use(where, users)
    storage.remove(where)
