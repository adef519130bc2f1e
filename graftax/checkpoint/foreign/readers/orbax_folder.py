"""The reader of Orbax directories; needs orbax-checkpoint."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from graftax.checkpoint.foreign.foreign_array import ForeignFile
from graftax.checkpoint.foreign.readers.flax_msgpack import flatten
from graftax.checkpoint.foreign.readers.optional_library import optional_library
from graftax.core.errors import CorruptMetadata, NotACheckpoint

_MARKS = ("_METADATA", "manifest.ocdbt", "_CHECKPOINT_METADATA")


def is_orbax(folder: str) -> bool:
    """Return True for a directory that Orbax wrote."""
    return any(os.path.exists(os.path.join(folder, mark)) for mark in _MARKS)


def read_orbax(path: str) -> ForeignFile:
    """Return the arrays of an Orbax directory, or of its item ``default``. All of them are read at once.

    Args:
        path: The directory.

    Raises:
        ArgumentError: orbax-checkpoint is not installed.
        CorruptMetadata: orbax cannot read it.
        NotACheckpoint: it has no arrays.
    """
    orbax = optional_library("orbax.checkpoint", "orbax-checkpoint", path)
    inner = os.path.join(path, "default")
    where = inner if os.path.isdir(inner) else path
    try:
        found = orbax.PyTreeCheckpointer().restore(os.path.abspath(where))
    except Exception as error:  # noqa: BLE001 - it raises what the libraries below it raise
        raise CorruptMetadata(
            f"{path} as Orbax reads it fails",
            f"{type(error).__name__}: {error}",
            "copy the directory again, with all files in it; or load it with the version of Orbax that wrote it",
        ) from None
    arrays = dict(flatten(_on_host(found), path))
    if not arrays:
        raise NotACheckpoint(
            f"{path} has no arrays",
            "the directory is readable, and there is no array in it",
            "orbax.checkpoint.PyTreeCheckpointer().save(path, params)",
        )
    return ForeignFile(path, arrays, "flax", keeps_order=False)


def _on_host(value: object) -> Any:
    if isinstance(value, dict):
        return {key: _on_host(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_on_host(item) for item in value]
    return np.asarray(value) if hasattr(value, "shape") and hasattr(value, "dtype") else value
