"""Names of directories: none that promises a file of another format."""

from __future__ import annotations

import os

from graftax.core.errors import ArgumentError

_FILES = (".safetensors", ".npz", ".npy", ".h5", ".hdf5", ".keras", ".pt", ".pth", ".msgpack", ".onnx")
_WRITTEN = (".safetensors", ".npz")


def check_folder_name(path: str | os.PathLike[str]) -> None:
    """Raise if a checkpoint, which is a directory, would have the name of a file of another format.

    Raises:
        ArgumentError: it would; whoever finds it later could not read it as what it is called.
    """
    text = os.fspath(path)
    ending = os.path.splitext(text)[1] if isinstance(text, str) else ""
    if ending not in _FILES:
        return
    folder = text.removesuffix(ending).removesuffix(".weights")
    file = text if ending in _WRITTEN else f"{folder}.safetensors"
    raise ArgumentError(
        f"a checkpoint at {text!r}",
        f"a checkpoint is a directory, and a name with {ending} is that of a file of another format",
        f"{folder!r}; and for a file of arrays, in the shell: graftax ckpt convert {folder} --to {file}",
    )
