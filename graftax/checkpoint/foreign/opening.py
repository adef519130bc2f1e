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
from graftax.checkpoint.foreign.readers.regular_file import missing_error
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


def open_weights(path: str | os.PathLike[str]) -> ForeignFile:
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
        raise ArgumentError(f"the path {path!r:.100}, of type bytes", "a path is text", "os.fsdecode(path)")
    if "://" in where:
        return read_checkpoint(where)
    if os.path.isdir(where):
        return _open_folder(where)
    for suffix, reader in READERS.items():
        if where.endswith(suffix):
            return reader(where)
    if not os.path.lexists(where):
        raise missing_error(where)
    raise ArgumentError(
        f"{where}",
        f"the format is chosen by the ending of the name, and this ending is none of {', '.join(READERS)}",
        _OTHER_ENDINGS.get(os.path.splitext(where)[1], "rename the file to the ending that its library gives it"),
    )


_OTHER_ENDINGS = {
    ".npy": 'np.savez("weights.npz", **{"fc.weight": weight, "fc.bias": bias}), with a name for each array',
    ".onnx": 'the checkpoint that the ONNX file was made from, or np.savez("weights.npz", ...) of its initializers',
    ".pkl": 'torch.save(model.state_dict(), "weights.pt") or np.savez("weights.npz", ...): a pickle could run code',
    ".gguf": "the .safetensors files that the GGUF file was made from",
    ".tflite": "the Keras model that it was made from",
    ".pb": 'model.save_weights("model.weights.h5") of the Keras model',
}


def _open_folder(folder: str) -> ForeignFile:
    if os.path.exists(os.path.join(folder, GRAPH)):
        return read_checkpoint(folder)
    for name in _IN_FOLDERS:
        inside = os.path.join(folder, name)
        if os.path.exists(inside):
            return open_weights(inside)
    if is_orbax(folder):
        return read_orbax(folder)
    there = sorted(os.listdir(folder))
    files = [name for name in there if any(name.endswith(suffix) for suffix in READERS)]
    if files:
        raise NotACheckpoint(
            f"{folder}, a directory with {', '.join(files[:5])}{', ...' if len(files) > 5 else ''}",
            f"of a directory, one of {', '.join(_IN_FOLDERS)} is read, or a checkpoint of graftax or Orbax",
            f"the path of the file itself: {os.path.join(folder, files[0])!r}",
        )
    return read_checkpoint(folder)  # raises an error that says what is there
