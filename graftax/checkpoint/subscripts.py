"""Indices of arrays: the box that an index selects from, and the index within that box."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from graftax.core.errors import IndexRangeError
from graftax.core.typedefs import Shape


def bounds(index: object, shape: Shape) -> list[range]:
    """Return the smallest box that contains all elements of an index; the whole array for advanced indices.

    Raises:
        IndexRangeError: a number is out of range, or there are more indices than axes.
    """
    parts = _parts(index, shape)
    if parts is None:
        return [range(size) for size in shape]
    return [_span(part, size) for part, size in zip(parts, shape, strict=True)]


def index_within(index: object, shape: Shape, low: int, rows: int) -> Any:
    """Return the index that selects the same elements from the rows starting at ``low``.

    Args:
        index: The index of the whole array.
        shape: The shape of the whole array.
        low: The number of the first row.
        rows: The number of rows.
    """
    parts = _parts(index, shape)
    if not parts:
        return index
    first, *rest = parts
    if isinstance(first, int):
        return (first % shape[0] - low, *rest)
    start, stop, step = first.indices(shape[0])
    if not range(start, stop, step):
        return (slice(0, 0), *rest)
    start, stop = start - low, stop - low
    return (slice(start, None if stop < 0 or (step > 0 and stop > rows) else stop, step), *rest)


def intersects(start: Shape, extent: Shape, box: list[range]) -> bool:
    """Return True if a chunk intersects a box."""
    return all(s < axis.stop and s + e > axis.start for s, e, axis in zip(start, extent, box, strict=True))


def _parts(index: Any, shape: Shape) -> list[int | slice] | None:
    """Return an integer or a slice for each axis; None for advanced indices."""
    given = list(index) if isinstance(index, tuple) else [index]
    given = [int(part) if isinstance(part, Integral) and not isinstance(part, bool) else part for part in given]
    if not all(type(part) is int or isinstance(part, slice) or part is Ellipsis for part in given):
        return None
    if given.count(Ellipsis) > 1 or len(given) - given.count(Ellipsis) > len(shape):
        raise IndexRangeError(
            f"[{', '.join(map(str, given))}] of an array of shape {shape}", "an index for each axis, at most", "[...]"
        )
    place = given.index(Ellipsis) if Ellipsis in given else len(given)
    missing = len(shape) - len(given) + (Ellipsis in given)
    return [*given[:place], *[slice(None)] * missing, *given[place + 1 :]]


def _span(part: int | slice, size: int) -> range:
    if isinstance(part, int):
        if not -size <= part < size:
            raise IndexRangeError(
                f"the index {part} of an axis of {size}", "it is out of range", f"{-size} to {size - 1}"
            )
        return range(part % size, part % size + 1)
    chosen = range(*part.indices(size))
    return range(min(chosen), max(chosen) + 1) if chosen else range(0)
