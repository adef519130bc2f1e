"""Deleting checkpoints: never one that others refer to, and never leaving an incomplete one under its name."""

import os

from graftax.checkpoint.folder_index import referrers
from graftax.checkpoint.places import place_of
from graftax.checkpoint.references import in_use
from graftax.core.errors import NotACheckpoint


def delete(path: str | os.PathLike[str]) -> None:
    """Delete a checkpoint.

    Raises:
        NotACheckpoint: there is no checkpoint at the path.
        CheckpointInUse: other checkpoints refer to it.
        DestinationExists: the directory has files that no save has written.
        StorageFailure: the operating system refused.
    """
    storage, where = place_of(path)
    if not storage.is_checkpoint(where):
        raise NotACheckpoint(f"nothing to delete at {path}", "no checkpoint is there", "graftax ckpt ls FOLDER")
    if users := referrers(storage, *storage.split(where)):
        raise in_use(where, users)
    storage.remove(where)
