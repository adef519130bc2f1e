"""``.safetensors``: a JSON header, and ranges of bytes that fill the rest of the file without holes or overlaps.

Source: the format as safetensors documents it.
"""

from __future__ import annotations

import json
from math import prod
from typing import Any

from graftax.checkpoint.arrays import HostArray, from_bytes
from graftax.checkpoint.dtypes import DTYPES
from graftax.checkpoint.foreign.foreign_array import ForeignArray, ForeignFile
from graftax.checkpoint.foreign.readers.regular_file import RegularFile
from graftax.core.errors import CorruptMetadata, LimitExceeded, TruncatedFile
from graftax.core.typedefs import Shape

_LIMIT = 100_000_000  # bytes of a header, the same limit as in the safetensors library
_NAMES = {record.stored: name for name, record in DTYPES.items() if record.layout == "plain"}


def read_safetensors(path: str) -> ForeignFile:
    """Return the arrays of a ``.safetensors`` file.

    Args:
        path: The file.

    Raises:
        NotACheckpoint: there is no file.
        CorruptCheckpoint, UnsafeCheckpoint: it is damaged, or not a safetensors file.
    """
    file = RegularFile(path)
    begin, entries = _header(file)
    metadata = entries.pop("__metadata__", {})
    if type(metadata) is not dict or not all(type(value) is str for value in metadata.values()):
        raise CorruptMetadata(f"__metadata__ of {path}", "it maps text to text")
    arrays: dict[str, ForeignArray] = {}
    ranges = []
    for name, entry in entries.items():
        dtype, shape, low, high = _entry(path, name, entry)
        ranges.append((low, high, name))
        arrays[name] = ForeignArray(name, shape, dtype, _reader(file, dtype, shape, begin + low, high - low))
    end = 0
    for low, high, name in sorted(ranges):
        if low != end:
            raise CorruptMetadata(
                f"{name!r:.100} in {path} begins at byte {low:,} of the data, not at {end:,}",
                "arrays lie one after the other, without holes and overlaps",
            )
        end = high
    if begin + end != file.size:
        raise TruncatedFile(f"{path} has {file.size:,} bytes", f"its header says {begin + end:,}")
    return ForeignFile(path, arrays, "torch" if metadata.get("format") == "pt" else None, keeps_order=False)


def _reader(file: RegularFile, dtype: str, shape: Shape, offset: int, count: int) -> Any:
    def read() -> HostArray:
        return from_bytes(file.bytes(offset, count), dtype, shape)

    return read


def _header(file: RegularFile) -> tuple[int, dict[str, Any]]:
    if file.size < 8:
        raise TruncatedFile(f"{file.path} has {file.size} bytes", "a .safetensors file begins with 8 and a header")
    length = int.from_bytes(file.bytes(0, 8).tobytes(), "little")
    if length > _LIMIT:
        raise LimitExceeded(
            f"a header of {length:,} bytes in {file.path}",
            f"at most {_LIMIT:,} are read; or this is no .safetensors file",
        )
    if 8 + length > file.size:
        raise TruncatedFile(f"{file.path} has {file.size:,} bytes", f"its header alone has {length:,}")
    try:
        found = json.loads(file.bytes(8, length).tobytes().decode(), object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise CorruptMetadata(f"the header of {file.path}", f"it is no JSON: {error}") from None
    if type(found) is not dict:
        raise CorruptMetadata(f"the header of {file.path}", "it is a JSON object of names and arrays")
    return 8 + length, found


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands there twice")
    return found


def _entry(path: str, name: str, entry: object) -> tuple[str, Shape, int, int]:
    if type(entry) is not dict or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise CorruptMetadata(f"{name!r:.100} in {path}", "an array has dtype, shape and data_offsets")
    shape, offsets = entry["shape"], entry["data_offsets"]
    for numbers, count in ((shape, None), (offsets, 2)):
        is_list = type(numbers) is list and all(type(n) is int and 0 <= n < 1 << 63 for n in numbers)
        if not is_list or (count is not None and len(numbers) != count) or len(numbers) > 32:
            raise CorruptMetadata(f"{name!r:.100} in {path}: {numbers!r:.100}", "these are lists of a few sizes")
    dtype = _NAMES.get(entry["dtype"]) if type(entry["dtype"]) is str else None
    if dtype is None:
        raise CorruptMetadata(
            f"{name!r:.100} in {path} has dtype {entry['dtype']!r:.100}", "there is no such dtype here"
        )
    low, high = offsets
    if high - low != prod(shape) * DTYPES[dtype].bits // 8:
        raise CorruptMetadata(
            f"{name!r:.100} in {path}: {high - low:,} bytes", f"{dtype} of shape {tuple(shape)} takes others"
        )
    return dtype, tuple(shape), low, high
