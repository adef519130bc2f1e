"""What differs between two checkpoints, or files of arrays: which paths are there, and what they hold."""

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
from graftax.checkpoint.paths import node_paths
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.state import renumbered
from graftax.checkpoint.subset import Spot, Subset
from graftax.checkpoint.uncollected import uncollected
from graftax.core.dtypes import is_complex
from graftax.core.typedefs import Shape

_PIECE = 1 << 22
"""How many elements are compared at a time."""


class Held(NamedTuple):
    """What is at a path: an array, or a value of Python with the arrays inside of it.

    ``sums`` are the checksums of an array, block by block: where two have the same, the bytes are not read. They are
    None where none are stored.
    """

    role: str
    dtype: str
    shape: Shape
    read: Callable[[], Any]
    sums: object = None
    inside: tuple[Held, ...] = ()


class Change(NamedTuple):
    """Something that both have and that differs; ``largest`` is the greatest absolute difference of numbers."""

    path: str
    first: str
    second: str
    largest: float | None


class Difference(NamedTuple):
    """What differs: paths with other values, only in the first, only in the second; and how many are the same."""

    changed: tuple[Change, ...]
    removed: tuple[str, ...]
    added: tuple[str, ...]
    same: int


@uncollected()
def held_by_checkpoint(reader: Reader) -> dict[str, Held]:
    """Return what a checkpoint holds, by path; arrays are read, and checked, when they are asked for.

    Raises:
        CorruptCheckpoint: a data file is missing, or has another size.
    """
    reader.check_files()
    index = reader.index
    found = {}
    for node, path in node_paths(index).items():
        record, tensor = index.nodes[node], index.nodes[node].tensor
        if tensor is not None:
            role = record.payload[2] if record.kind is Kind.VARIABLE else ""
            found[path] = _array(reader, tensor, role)
        elif record.kind is Kind.VALUE or (record.kind is Kind.BYTES):
            arrays = list(dict.fromkeys(array.number for array in values.arrays_in(record.payload)))
            value = renumbered(record.payload, {number: i for i, number in enumerate(arrays)})
            inside = tuple([_array(reader, number, "") for number in arrays])
            found[path] = Held("", "", (), partial(_same, value), inside=inside)
    return found


def _array(reader: Reader, number: int, role: str) -> Held:
    index = reader.index
    record = index.tensors[number]
    sums = None
    if index.sum == DEFAULT:  # of 64 bits: nothing else has the same by accident
        sums = index.block, [(chunk.start, chunk.extent, chunk.sums) for chunk in record.chunks]
    return Held(role, record.dtype, record.shape, partial(_read, reader, number), sums)


def _read(reader: Reader, number: int) -> HostArray:
    return load(reader, [number])[number]


def held_by_file(file: ForeignFile) -> dict[str, Held]:
    """Return what a file of arrays holds, by name."""
    return {name: Held("weight", a.dtype, a.shape, a.read) for name, a in file.arrays.items()}


def difference(first: Mapping[str, Held], second: Mapping[str, Held], subset: Subset) -> Difference:
    """Compare what two hold, as far as it is chosen.

    Args:
        first: One of them.
        second: The other one.
        subset: Which paths.

    Raises:
        SelectorError: a selector matches nothing.
    """
    spots = {path: Spot(path, held.role) for path, held in [*first.items(), *second.items()]}
    subset.check(spots.values())
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
    if _alike(first, second):
        return None
    largest = None
    if first.dtype and (first.dtype, first.shape) == (second.dtype, second.shape):
        one, other = first.read(), second.read()
        if _same_bytes(one, other):
            return None
        largest = _largest(one, other)
    return Change(path, _told(first), _told(second), largest)


def _alike(first: Held, second: Held) -> bool:
    """Return True for values that are equal, and for arrays whose checksums are."""
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
        for i in range(0, len(one), _PIECE):  # a piece at a time, since a wide copy of all may not fit
            gap = np.abs(one[i : i + _PIECE].astype(wide) - other[i : i + _PIECE].astype(wide))
            largest = float(np.maximum(largest, gap.max()))
    return largest


def _told(held: Held) -> str:
    return f"{held.dtype} {held.shape}" if held.dtype else f"{held.read()!r:.60}"


def _same(value: object) -> object:
    return value
