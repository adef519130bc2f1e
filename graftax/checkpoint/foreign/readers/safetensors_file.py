"""``.safetensors``: a JSON header, and ranges of bytes that fill the rest of the file without holes or overlaps.

Source: the format as safetensors documents it.
"""

from __future__ import annotations

import json
from math import prod
from typing import Any

from graftax.checkpoint.arrays import HostArray, from_bytes
from graftax.checkpoint.dtypes import DTYPES, is_possible, read_stored_shape
from graftax.checkpoint.foreign.foreign_array import ForeignArray, ForeignFile
from graftax.checkpoint.foreign.readers.regular_file import RegularFile
from graftax.checkpoint.foreign.readers.wrong_content import AGAIN, is_something_else, unreadable_error
from graftax.checkpoint.header_facts import (
    DTYPES_KEY,
    HEAD_KEY,
    KEY,
    NO_HEAD,
    NONE,
    dtypes_from_text,
    facts_from_text,
    head_from_text,
)
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
        raise CorruptMetadata(
            f"__metadata__ in the header of {path}",
            "it is a dict of text and text",
            "save_file(tensors, path, metadata={name: str(value)})",
        )
    is_own = "graftax" in metadata
    told = dtypes_from_text(metadata[DTYPES_KEY], path) if is_own and DTYPES_KEY in metadata else {}
    for name in told.keys() - entries.keys():
        raise CorruptMetadata(
            f"{name!r:.100} in {DTYPES_KEY} of {path}", "there is no such array: the file was damaged or forged", AGAIN
        )
    arrays: dict[str, ForeignArray] = {}
    ranges = []
    for name, entry in entries.items():
        dtype, shape, low, high = _entry(path, name, entry)
        if name in told:
            dtype, shape = _told_dtype(path, name, told[name], (dtype, shape))
        ranges.append((low, high, name))
        arrays[name] = ForeignArray(name, shape, dtype, _reader(file, dtype, shape, begin + low, high - low))
    end = 0
    for low, high, name in sorted(ranges):
        if low != end:
            raise CorruptMetadata(
                f"{name!r:.100} in {path} begins at byte {low:,} of the data, not at {end:,}",
                "arrays lie one after the other, without holes and overlaps: the file was damaged or forged",
                AGAIN,
            )
        end = high
    if begin + end != file.size:
        raise _of_other_size(path, file.size, begin + end)
    if is_own:
        facts = facts_from_text(metadata[KEY], path) if KEY in metadata else NONE
        head = head_from_text(metadata[HEAD_KEY], path) if HEAD_KEY in metadata else NO_HEAD
        return ForeignFile(path, arrays, "graftax", keeps_order=False, facts=facts, head=head)
    return ForeignFile(path, arrays, "torch" if metadata.get("format") == "pt" else None, keeps_order=False)


def _told_dtype(path: str, name: str, told: tuple[str, Shape], stored: tuple[str, Shape]) -> tuple[str, Shape]:
    """Return the dtype and shape that the header says, if the array is stored as one of these is."""
    if (_NAMES.get(DTYPES[told[0]].stored), read_stored_shape(*told)) != stored:
        raise CorruptMetadata(
            f"{name!r:.100} in {path} is {stored[0]} of shape {stored[1]}",
            f"its header says that these are {told[0]} of shape {told[1]}: the file was damaged or forged",
            AGAIN,
        )
    return told


def _reader(file: RegularFile, dtype: str, shape: Shape, offset: int, count: int) -> Any:
    def read() -> HostArray:
        return from_bytes(file.bytes(offset, count), dtype, shape)

    return read


def _header(file: RegularFile) -> tuple[int, dict[str, Any]]:
    if file.size < 8:
        if file.size == 0:
            raise unreadable_error(file.path, "a .safetensors file", "")
        raise TruncatedFile(
            f"{file.path} has {file.size} bytes", "a .safetensors file begins with 8 bytes and a header", AGAIN
        )
    length = int.from_bytes(file.bytes(0, 8).tobytes(), "little")
    if length > _LIMIT:
        if is_something_else(file.path):
            raise unreadable_error(file.path, "a .safetensors file", "")
        raise LimitExceeded(
            f"{file.path} says that its header has {length:,} bytes",
            f"at most {_LIMIT:,} are read; most probably this is not a .safetensors file",
            AGAIN,
        )
    if 8 + length > file.size:
        raise _of_other_size(file.path, file.size, 8 + length)
    try:
        found = json.loads(file.bytes(8, length).tobytes().decode(), object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise CorruptMetadata(f"the header of {file.path} is damaged", f"it is not JSON: {error}", AGAIN) from None
    if type(found) is not dict:
        raise CorruptMetadata(
            f"the header of {file.path} is a {type(found).__name__}", "it is a JSON object of names and arrays", AGAIN
        )
    return 8 + length, found


def _of_other_size(path: str, size: int, expected: int) -> TruncatedFile:
    how = "it was cut while it was copied, downloaded or written" if size < expected else "something was added to it"
    return TruncatedFile(
        f"{path} has {size:,} bytes, and its header says {'at least ' if size < expected else ''}{expected:,}",
        how,
        AGAIN,
    )


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _entry(path: str, name: str, entry: object) -> tuple[str, Shape, int, int]:
    if type(entry) is not dict or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise CorruptMetadata(
            f"{name!r:.100} in {path}",
            "an array has dtype, shape and data_offsets: the file was damaged or forged",
            AGAIN,
        )
    shape, offsets = entry["shape"], entry["data_offsets"]
    for numbers, count in ((shape, None), (offsets, 2)):
        is_list = type(numbers) is list and all(type(n) is int and 0 <= n < 1 << 63 for n in numbers)
        is_list = is_list and (numbers is offsets or is_possible(numbers))
        if not is_list or (count is not None and len(numbers) != count) or len(numbers) > 32:
            raise CorruptMetadata(
                f"{name!r:.100} in {path}: {numbers!r:.100}",
                "these are lists of a few sizes: the file was damaged or forged",
                AGAIN,
            )
    dtype = _NAMES.get(entry["dtype"]) if type(entry["dtype"]) is str else None
    if dtype is None:
        raise CorruptMetadata(
            f"{name!r:.100} in {path} has dtype {entry['dtype']!r:.100}",
            f"the dtypes that are read are {', '.join(_NAMES)}",
            "save_file of the tensors in one of these dtypes: tensor.to(torch.float32)",
        )
    low, high = offsets
    if high - low != prod(shape) * DTYPES[dtype].bits // 8:
        raise CorruptMetadata(
            f"{name!r:.100} in {path} has {high - low:,} bytes",
            f"{dtype} of shape {tuple(shape)} needs another number of bytes: the file was damaged or forged",
            AGAIN,
        )
    return dtype, tuple(shape), low, high
