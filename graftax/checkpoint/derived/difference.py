"""What differs between two checkpoints, or files of arrays: which paths are there, and what they hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.derived.sheet import Sheet
from graftax.checkpoint.foreign.foreign_array import ForeignFile
from graftax.checkpoint.index import Kind
from graftax.checkpoint.subset import Spot, Subset
from graftax.core.dtypes import is_complex
from graftax.core.typedefs import Shape


class Held(NamedTuple):
    """What is at a path: an array, or a value of Python."""

    role: str
    dtype: str
    shape: Shape
    read: Callable[[], Any]


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


def held_by_sheet(sheet: Sheet) -> dict[str, Held]:
    """Return what a checkpoint holds, by path."""
    found = {}
    for node, path in sheet.paths().items():
        record, tensor = sheet.nodes[node], sheet.tensor_of(node)
        if tensor is not None:
            role = record.payload[2] if record.kind is Kind.VARIABLE else ""
            found[path] = Held(role, tensor.dtype, tensor.shape, tensor.array)
        elif record.kind is Kind.VALUE or (record.kind is Kind.BYTES):
            found[path] = Held("", "", (), partial(_same, record.payload))
    return found


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
    if (first.dtype, first.shape) != (second.dtype, second.shape) or not first.dtype:
        if not first.dtype and not second.dtype and repr(first.read()) == repr(second.read()):
            return None
        return Change(path, _told(first), _told(second), None)
    one, other = first.read(), second.read()
    if one.tobytes() == other.tobytes():
        return None
    return Change(path, _told(first), _told(second), _largest(one, other))


def _largest(one: HostArray, other: HostArray) -> float:
    wide = "complex128" if is_complex(one.dtype) else "float64"
    with np.errstate(invalid="ignore"):
        gap = np.abs(one.astype(wide) - other.astype(wide))
    return float(gap.max()) if gap.size else 0.0


def _told(held: Held) -> str:
    return f"{held.dtype} {held.shape}" if held.dtype else f"{held.read()!r:.60}"


def _same(value: object) -> object:
    return value
