"""Arrays outside of the file: in the weights of an artefact beside it, or in a file of their own, of safetensors."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graftax.export.to_onnx import messages
from graftax.export.to_onnx.messages import Numbers

SHARED = "weights.safetensors"
"""The weights of an artefact."""
_WORTH_IT = 1024
"""Bytes from which on an array lies outside."""
_KINDS = {
    "float32": "F32", "float16": "F16", "float64": "F64", "bool": "BOOL",
    **{f"int{bits}": f"I{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"U{bits}" for bits in (8, 16, 32, 64)},
}  # fmt: skip


class Place(NamedTuple):
    """Where an array lies."""

    file: str
    offset: int


def place(arrays: Sequence[tuple[str, Numbers]], folder: Path, own: str) -> tuple[list[bytes], bytes, list[str]]:
    """Return messages of the arrays, the file of those that no artefact has, and the files that are referred to.

    Args:
        arrays: The arrays with their names.
        folder: Where the model will be; the weights of an artefact there are shared.
        own: The name of the file of its own.
    """
    there = _Shared(folder / SHARED)
    said: list[bytes | None] = []
    left: list[tuple[str, Numbers]] = []
    files: list[str] = []
    for name, array in arrays:
        if array.nbytes < _WORTH_IT:
            said.append(messages.tensor(name, array))
        elif (offset := there.offset(array)) is not None:
            said.append(messages.tensor_elsewhere(name, array, SHARED, offset))
            files = [SHARED]
        else:
            said.append(None)
            left.append((name, array))
    data, offsets = _file(left)
    rest = iter(
        messages.tensor_elsewhere(name, array, own, at) for (name, array), at in zip(left, offsets, strict=True)
    )
    return [next(rest) if one is None else one for one in said], data if left else b"", files


def _file(arrays: Sequence[tuple[str, Numbers]]) -> tuple[bytes, list[int]]:
    """Return a file of arrays, and where each begins in it."""
    entries: dict[str, Any] = {}
    at = 0
    for name, array in arrays:
        ends = at + array.nbytes
        entries[name] = {"dtype": _KINDS[array.dtype.name], "shape": list(array.shape), "data_offsets": [at, ends]}
        at = ends
    header = json.dumps(entries).encode()
    header += b" " * (-(8 + len(header)) % 64)
    begin = 8 + len(header)
    content = b"".join(np.ascontiguousarray(array).tobytes() for _, array in arrays)
    return struct.pack("<Q", len(header)) + header + content, [
        begin + one["data_offsets"][0] for one in entries.values()
    ]


class _Shared:
    """The weights of an artefact, if there are any, found by what they are."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: list[tuple[int, int]] = []
        if not path.is_file():
            return
        with path.open("rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            if size > os.path.getsize(path):
                return
            entries = json.loads(file.read(size))
        for name, entry in entries.items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                self._entries.append((8 + size + begin, end - begin))

    def offset(self, array: Numbers) -> int | None:
        """Return where in the file these numbers begin."""
        wanted = None
        for offset, size in self._entries:
            if size == array.nbytes:
                wanted = wanted or np.ascontiguousarray(array).tobytes()
                with self._path.open("rb") as file:
                    file.seek(offset)
                    if file.read(size) == wanted:
                        return offset
        return None
