"""The Threefry-2x32 random function, vectorised.

J. K. Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011. Twenty rounds; counters are the positions
in the result, as in JAX's partitionable form, so that every element can be computed on its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graftax.core.typedefs import Shape

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(key: Any, high: Any, low: Any) -> tuple[Any, Any]:
    """Return two words of random bits for two words of counter."""
    first, second = (np.uint32(word) for word in key)
    keys = (first, second, first ^ second ^ np.uint32(0x1BD11BDA))
    with np.errstate(over="ignore"):
        x, y = high + keys[0], low + keys[1]
        for group in range(5):
            for distance in _ROTATIONS[group % 2]:
                x = x + y
                y = x ^ (y << np.uint32(distance) | y >> np.uint32(32 - distance))
            x = x + keys[(group + 1) % 3]
            y = y + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


def words(key: object, shape: Shape, start: int = 0) -> tuple[Any, Any]:
    """Return two words of random bits for each element of a shape, the first of which is the ``start``-th of all."""
    counters = np.arange(start, start + math.prod(shape), dtype=np.uint64)
    high, low = (counters >> np.uint64(32)).astype(np.uint32), counters.astype(np.uint32)
    x, y = threefry(key, high, low)
    return x.reshape(shape), y.reshape(shape)


def bits(key: object, shape: Shape, start: int = 0) -> Any:
    """Return one word of random bits for each element of a shape, the first of which is the ``start``-th of all."""
    x, y = words(key, shape, start)
    return x ^ y
