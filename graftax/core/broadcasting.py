"""The shape that several broadcast to, and why two of them do not, in words."""

from __future__ import annotations

from collections.abc import Sequence

from graftax.core.free_sizes import equality_constraint, is_free
from graftax.core.typedefs import Shape

INSTEAD = "reshape one, or insert an axis of size 1 with ops.expand_dims"


def broadcast_shape(*shapes: Shape) -> Shape:
    """Return the shape to which shapes that fit broadcast, as NumPy does; their sizes may be free.

    Example:
        >>> broadcast_shape((5, 1), (2, 1, 3))
        (2, 5, 3)
    """
    ndim = max(map(len, shapes), default=0)
    columns = zip(*((1,) * (ndim - len(shape)) + tuple(shape) for shape in shapes), strict=True)
    return tuple(next((size for size in sizes if is_free(size) or size != 1), 1) for sizes in columns)


def mismatch(left: Sequence[object], right: Sequence[object]) -> str | None:
    """Return why two shapes do not broadcast to one, or None where they do.

    Example:
        >>> mismatch([2, 3], [2, 1]) is None
        True
        >>> mismatch([2, 3], [4])
        'axis -1 has size 3 and 4: sizes must be equal, or one of them 1'
    """
    back = _first_mismatch(left, right)
    if back is None:
        return None
    return f"axis -{back} has size {left[-back]} and {right[-back]}: sizes must be equal, or one of them 1"


def suggestion(left: Sequence[object], right: Sequence[object]) -> str:
    """Return what to write in place of two shapes that do not broadcast."""
    back = _first_mismatch(left, right)
    return (equality_constraint(left[-back], right[-back]) if back is not None else None) or INSTEAD


def _first_mismatch(left: Sequence[object], right: Sequence[object]) -> int | None:
    """Return the first axis from the end that keeps two shapes from broadcasting, counted from 1."""
    for back in range(1, min(len(left), len(right)) + 1):
        one, other = left[-back], right[-back]
        if one != other and 1 not in (one, other):
            return back
    return None
