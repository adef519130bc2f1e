"""What rules compute: averages to rounding, and roots with a slope at 0, where meta-gradients would be nan."""

from __future__ import annotations

import math
from typing import Any

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.engine.numbers import is_plain

_LEAST = 1e-37  # below what an epsilon leaves of a root, above what float32 tells from 0


def root(square: Array) -> Array:
    """Return the root, with a slope of 0 at 0."""
    zero = ops.equal(square, 0)
    return ops.where(zero, square, ops.sqrt(ops.where(zero, ops.ones_like(square), square)))


def divisor(square: Array) -> Array:
    """Return the root of averaged squares to divide by, beside an epsilon: in two operations, and a little above 0.

    Example:
        >>> import numpy as np
        >>> divisor(np.float32([4.0, 0.0])).tolist()[0], float(divisor(np.float32(0.0))) < 1e-18
        (2.0, True)
    """
    return ops.sqrt(ops.maximum(square, _LEAST))


def norm(x: Array) -> Array:
    """Return the root of the sum of squares of all elements, with a slope of 0 where all are 0."""
    return root(ops.sum(x * x))


def moving_average(beta: Any, before: Array, value: Array) -> Array:
    """Return ``beta * before + (1 - beta) * value``, to rounding for a beta near 0 and for one near 1.

    As it stands, float32 rounds a beta near 1 and ``1 - beta`` such that their sum is not 1, which it is in ``before +
    (1 - beta) * (value - before)``. But for a small beta that takes nearly all of ``before`` away again, and leaves its
    rounding: after a large gradient, the square of a small one would be lost in it.

    Args:
        beta: How much is kept, in [0, 1].
        before: The average so far.
        value: What is averaged now.
    """
    is_long = is_plain(beta) and beta >= 0.5
    average: Array = before + (1 - beta) * (value - before) if is_long else beta * before + (1 - beta) * value
    return average


def bias_correction(beta: Any, count: Array, falls: Array | float = 0.0) -> Array:
    """Return ``1 - beta**count * exp(-falls)``, by which an average is divided after so many updates.

    It is as exact for a beta near 1 as for any other: in float32, 0.9999 differs from what it stands for, and ``1 -
    0.9999**1`` has a thousand times that error.

    Args:
        beta: How much of the average is kept at each update, in [0, 1).
        count: The number of updates.
        falls: The logarithm of what less was kept. Defaults to 0.

    Example:
        >>> import numpy as np
        >>> round(float(bias_correction(0.9999, np.float32(1.0))), 9), round(float(1 - np.float32(0.9999)), 9)
        (0.0001, 0.000100017)
    """
    if is_plain(beta):
        return -ops.expm1(count * math.log(beta) - falls) if beta else ops.ones_like(count)
    near = -ops.expm1(count * ops.log(ops.maximum(beta, 0.5)) - falls)
    found: Array = ops.where(beta < 0.5, 1 - beta**count * ops.exp(-falls), near)  # a logarithm has no slope at 0
    return found


def log(beta: Any) -> Any:
    """Return the logarithm of a setting, of a plain number as Python has it."""
    return math.log(beta) if is_plain(beta) else ops.log(beta)
