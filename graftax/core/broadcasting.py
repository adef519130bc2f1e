"""Why two shapes do not broadcast, in words."""

from __future__ import annotations

from collections.abc import Sequence

INSTEAD = "reshape one, or insert an axis of size 1 with ops.expand_dims"


def mismatch(left: Sequence[int], right: Sequence[int]) -> str | None:
    """Return why two shapes do not broadcast to one, or None where they do.

    Example:
        >>> mismatch([2, 3], [2, 1]) is None
        True
        >>> mismatch([2, 3], [4])
        'counted from the end, axis -1 has 3 against 4, and neither is 1'
    """
    for back in range(1, min(len(left), len(right)) + 1):
        one, other = left[-back], right[-back]
        if one != other and 1 not in (one, other):
            return f"counted from the end, axis -{back} has {one} against {other}, and neither is 1"
    return None
