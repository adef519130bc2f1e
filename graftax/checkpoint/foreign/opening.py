"""The choice of a reader for a path: by its suffix, and for directories by their content."""

from __future__ import annotations

import os
from collections.abc import Callable

from graftax.checkpoint.foreign.foreign_array import ForeignFile
from graftax.checkpoint.foreign.readers.flax_msgpack import read_flax
from graftax.checkpoint.foreign.readers.keras_h5 import read_keras
from graftax.checkpoint.foreign.readers.npz_file import read_npz
from graftax.checkpoint.foreign.readers.orbax_folder import is_orbax, read_orbax
from graftax.checkpoint.foreign.readers.own_checkpoint import read_checkpoint
from graftax.checkpoint.foreign.readers.safetensors_file import read_safetensors
from graftax.checkpoint.foreign.readers.sharded_index import SUFFIX, read_sharded
from graftax.checkpoint.foreign.readers.torch_zip import read_torch
from graftax.checkpoint.names import GRAPH
from graftax.core.errors import ArgumentError, NotACheckpoint

READERS: dict[str, Callable[[str], ForeignFile]] = {
    ".safetensors": read_safetensors,
    SUFFIX: read_sharded,
    ".pt": read_torch,
    ".pth": read_torch,
    ".bin": read_torch,
    ".ckpt": read_torch,
    ".h5": read_keras,
    ".hdf5": read_keras,
    ".keras": read_keras,
    ".npz": read_npz,
    ".msgpack": read_flax,
    ".flax": read_flax,
}
"""Readers by the suffix of the file."""

_IN_FOLDERS = (
    "model.safetensors.index.json",
    "model.safetensors",
    "pytorch_model.bin.index.json",
    "pytorch_model.bin",
    "flax_model.msgpack",
)


def opened(path: str | os.PathLike[str]) -> ForeignFile:
    """Return the content of a file or directory of weights in any known format.

    Args:
        path: A file, a directory of Hugging Face, Orbax or graftax, or a URL of a checkpoint of graftax.

    Raises:
        NotACheckpoint: there is nothing at the path, or its format is unknown.
        ArgumentError: its name does not tell the format.
        CorruptCheckpoint, UnsafeCheckpoint: it is damaged, or must not be read.
    """
    where = os.fspath(path)
    if not isinstance(where, str):
        raise ArgumentError(f"path={path!r:.100}", "a path is text", "path.decode()")
    if "://" in where:
        return read_checkpoint(where)
    if os.path.isdir(where):
        return _opened_folder(where)
    for suffix, reader in READERS.items():
        if where.endswith(suffix):
            return reader(where)
    if not os.path.lexists(where):
        raise NotACheckpoint(f"nothing at {where}", "there is no such file or directory", "check the path")
    raise ArgumentError(
        f"{where}",
        f"its name does not say what it is; known are {', '.join(READERS)}",
        "give the file its usual ending",
    )


def _opened_folder(folder: str) -> ForeignFile:
    if os.path.exists(os.path.join(folder, GRAPH)):
        return read_checkpoint(folder)
    for name in _IN_FOLDERS:
        inside = os.path.join(folder, name)
        if os.path.exists(inside):
            return opened(inside)
    if is_orbax(folder):
        return read_orbax(folder)
    return read_checkpoint(folder)  # raises an error that says what is there
