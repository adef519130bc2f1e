"""The order in which rows come in a pass."""

from __future__ import annotations

from typing import Any

import numpy as np

_FEW = 1 << 20  # where most of their places fit into a cache, there is little to wait for
_MANY = 1 << 27  # more would leave too few bits to the random numbers
_AT_ONCE = 1 << 15


class RowOrder:
    """All rows once, in random order; a slice of it gives their numbers.

    Exchanging rows one by one waits for the memory at each of them. Sorting does not: of more than a million rows, each
    gets a random number of at least 37 bits, with its own number in the bits below, and all of these are sorted. Where
    two have the same number, as some 50 pairs of 10 million do, the first comes first.

    Args:
        seed: What the order follows from.
        rows: How many there are.

    Example:
        >>> sorted(RowOrder((0, 1), 5)[0:5].tolist())
        [0, 1, 2, 3, 4]
    """

    def __init__(self, seed: tuple[int, ...], rows: int) -> None:
        draw = np.random.default_rng(seed)
        self._numbers: np.ndarray[Any, Any] | None = None
        if not _FEW < rows <= _MANY:
            self._numbers = draw.permutation(rows)
            return
        bits = np.uint64((rows - 1).bit_length())
        self._below = (np.uint64(1) << bits) - np.uint64(1)
        self._keys = np.empty(rows, np.uint64)
        for start in range(0, rows, _AT_ONCE):  # of a size for which all of it stays in the cache
            some = self._keys[start : start + _AT_ONCE]
            np.left_shift(draw.bit_generator.random_raw(len(some)), bits, out=some)
            some |= np.arange(start, start + len(some), dtype=np.uint64)
        self._keys.sort()

    def __getitem__(self, some: slice) -> np.ndarray[Any, Any]:
        if self._numbers is not None:
            return self._numbers[some]
        return (self._keys[some] & self._below).view(np.int64)
