"""The check that the chunks of an array tile it, so that each element is in exactly one chunk."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import product
from math import prod

from graftax.checkpoint.damaged import FORGED, corrupt_error
from graftax.core.errors import LimitExceeded
from graftax.core.typedefs import Shape

Box = tuple[Shape, Shape]
"""A box in an array: its start and its extent along each axis."""

_MAX_CELLS = 1 << 20


def check_tiling(name: str, shape: Shape, boxes: Sequence[Box]) -> None:
    """Raise unless the boxes tile the shape.

    The edges of all boxes make a grid, and each of its cells must be covered exactly once. For arrays that are sharded
    over a mesh, the grid has as many cells as there are chunks.

    Raises:
        CorruptMetadata: an element is in no box, or in two.
        LimitExceeded: the grid has too many cells to check.
    """
    if len(boxes) == 1 and boxes[0][1] == shape and not any(boxes[0][0]):
        return
    for start, extent in boxes:
        if any(s + e > size for s, e, size in zip(start, extent, shape, strict=True)):
            raise corrupt_error(f"a chunk of {name!r:.200}", f"it lies outside of the array of shape {shape}")
    if sum(prod(extent) for _, extent in boxes) != prod(shape):
        raise corrupt_error(
            f"the chunks of {name!r:.200}", f"together they have another size than the array of shape {shape}"
        )
    full = [(start, extent) for start, extent in boxes if prod(extent)]
    if not boxes or len(full) != len(boxes) > 1:
        raise corrupt_error(f"array {name!r:.200}", "it has no chunks, or empty ones")
    cuts = [sorted({c for s, e in full for c in (s[axis], s[axis] + e[axis])}) for axis in range(len(shape))]
    if prod(len(axis) for axis in cuts) > _MAX_CELLS:
        raise LimitExceeded(
            f"array {name!r:.200} in {len(boxes)} chunks with many different edges",
            "the check that they fill the array would take too long, and no save writes such chunks",
            FORGED,
        )
    seen: set[tuple[int, ...]] = set()
    for start, extent in full:
        spans = [
            range(bisect_left(axis, s), bisect_left(axis, s + e))
            for axis, s, e in zip(cuts, start, extent, strict=True)
        ]
        for cell in product(*spans):
            if cell in seen:
                raise corrupt_error(f"two chunks of {name!r:.200}", "they overlap")
            seen.add(cell)
