"""Roots with a slope at 0, where gradients through an update (meta-gradients) would be nan."""

from __future__ import annotations

from graftax import ops
from graftax.core.typedefs import Array

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
