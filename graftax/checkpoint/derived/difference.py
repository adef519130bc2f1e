"""The differences between two checkpoints, or files of arrays: their paths, and the values at these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from graftax.checkpoint import values
from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.checksums import DEFAULT
from graftax.checkpoint.foreign.foreign_array import ForeignFile
from graftax.checkpoint.index import Kind
from graftax.checkpoint.loading import load
from graftax.checkpoint.other_paths import other_node_paths
from graftax.checkpoint.paths import node_paths
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.state import renumber_arrays
from graftax.checkpoint.subset import RANDOM_SPOT, Spot, Subset
from graftax.checkpoint.uncollected import uncollected
from graftax.core.dtypes import is_complex
from graftax.core.typedefs import Shape

_PIECE = 1 << 22
"""The number of elements that are compared at a time."""


class Held(NamedTuple):
    """The content of a path: an array, or a Python value with the arrays inside of it.

    ``sums`` are the checksums of an array, block by block. Arrays with equal checksums are not read. None if the file
    stores no checksums. ``others`` are further paths of what is held several times.
    """

    role: str
    dtype: str
    shape: Shape
    read: Callable[[], Any]
    sums: object = None
    inside: tuple[Held, ...] = ()
    others: tuple[str, ...] = ()


class Change(NamedTuple):
    """A path with different content on both sides; ``largest`` is the greatest absolute difference of numbers."""

    path: str
    first: str
    second: str
    largest: float | None


class Difference(NamedTuple):
    """The paths that are changed, only in the first, and only in the second; and the number of equal ones."""

    changed: tuple[Change, ...]
    removed: tuple[str, ...]
    added: tuple[str, ...]
    same: int


@uncollected()
def read_checkpoint(reader: Reader) -> dict[str, Held]:
    """Return the content of a checkpoint, by path. Arrays are read and checked at their first access.

    Raises:
        CorruptCheckpoint: a data file is missing, or has another size.
    """
    reader.check_files()
    index = reader.index
    found = {}
    paths = node_paths(index)
    others = other_node_paths(index, paths)
    for node, path in paths.items():
        record, tensor = index.nodes[node], index.nodes[node].tensor
        if tensor is not None:
            role = record.payload[2] if record.kind is Kind.VARIABLE else ""
            found[path] = _array(reader, tensor, role)
        elif record.kind is Kind.VALUE or (record.kind is Kind.BYTES):
            arrays = list(dict.fromkeys(array.number for array in values.arrays_in(record.payload)))
            value = renumber_arrays(record.payload, {number: i for i, number in enumerate(arrays)})
            inside = tuple([_array(reader, number, "") for number in arrays])
            found[path] = Held("", "", (), partial(_identity, value), inside=inside)
        if path in found and node in others:
            found[path] = found[path]._replace(others=others[node])
    return found


def _array(reader: Reader, number: int, role: str) -> Held:
    index = reader.index
    record = index.tensors[number]
    sums = None
    if index.sum == DEFAULT:  # checksums of 64 bits: equal ones by accident are not to be expected
        sums = index.block, [(chunk.start, chunk.extent, chunk.sums) for chunk in record.chunks]
    return Held(role, record.dtype, record.shape, partial(_read, reader, number), sums)


def _read(reader: Reader, number: int) -> HostArray:
    return load(reader, [number])[number]


def read_array_file(file: ForeignFile) -> dict[str, Held]:
    """Return the content of a file of arrays, by name."""
    return {name: Held("weight", a.dtype, a.shape, a.read) for name, a in file.arrays.items()}


def difference(first: Mapping[str, Held], second: Mapping[str, Held], subset: Subset) -> Difference:
    """Compare the selected content of two checkpoints or files.

    Args:
        first: The content of the first.
        second: The content of the second.
        subset: The paths to compare.

    Raises:
        SelectorError: a selector matches nothing.
    """
    spots: dict[str, Spot] = {}
    for path, held in [*first.items(), *second.items()]:
        known = spots.get(path, Spot(path, held.role))
        spots[path] = known._replace(others=(*known.others, *held.others))
    subset.check([*spots.values(), RANDOM_SPOT])
    chosen = [path for path, spot in spots.items() if spot in subset]
    changed = []
    same = 0
    for path in chosen:
        if path in first and path in second:
            change = _change(path, first[path], second[path])
            same += change is None
            changed += [] if change is None else [change]
    removed = tuple(path for path in chosen if path not in second)
    return Difference(tuple(changed), removed, tuple(path for path in chosen if path not in first), same)


def _change(path: str, first: Held, second: Held) -> Change | None:
    if _is_equal(first, second):
        return None
    largest = None
    if first.dtype and (first.dtype, first.shape) == (second.dtype, second.shape):
        one, other = first.read(), second.read()
        if _same_bytes(one, other):
            return None
        largest = _largest(one, other)
    return Change(path, _text_of(first), _text_of(second), largest)


def _is_equal(first: Held, second: Held) -> bool:
    """Return True for equal values, and for arrays with equal checksums."""
    if (first.dtype, first.shape) != (second.dtype, second.shape):
        return False
    if first.dtype:
        return first.sums is not None and first.sums == second.sums
    if repr(first.read()) != repr(second.read()) or len(first.inside) != len(second.inside):
        return False
    pairs = zip(first.inside, second.inside, strict=True)
    return all(_change("", one, other) is None for one, other in pairs)


def _same_bytes(one: HostArray, other: HostArray) -> bool:
    one, other = one.reshape(-1).view(np.uint8), other.reshape(-1).view(np.uint8)
    return all(np.array_equal(one[i : i + _PIECE], other[i : i + _PIECE]) for i in range(0, len(one), _PIECE))


def _largest(one: HostArray, other: HostArray) -> float:
    wide = "complex128" if is_complex(one.dtype) else "float64"
    one, other = one.reshape(-1), other.reshape(-1)
    largest = 0.0
    with np.errstate(invalid="ignore"):
        for i in range(0, len(one), _PIECE):  # in pieces, since a float64 copy of the whole may not fit into memory
            gap = np.abs(one[i : i + _PIECE].astype(wide) - other[i : i + _PIECE].astype(wide))
            largest = float(np.maximum(largest, gap.max()))
    return largest


def _text_of(value: Held) -> str:
    return f"{value.dtype} {value.shape}" if value.dtype else f"{value.read()!r:.60}"


def _identity(value: object) -> object:
    return value
