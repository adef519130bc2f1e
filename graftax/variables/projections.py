"""Projections onto sets: the nearest point, in Euclidean distance, that is inside. The whole weight is one vector."""

from __future__ import annotations

import math

import numpy as np

from graftax import ops
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.hyperparameters import is_number
from graftax.core.typedefs import Array
from graftax.variables.base_constraint import BaseConstraint, cast_back, limit, widen


class Box(BaseConstraint):
    """Every element lies between two bounds.

    Args:
        lower: The lower bound. Defaults to 0.0.
        upper: The upper bound. Defaults to 1.0.

    Raises:
        ArgumentError: the lower bound is above the upper one.

    Example:
        >>> Box(-1.0, 2.0)(np.float32([-3, 0, 3])).tolist()
        [-1.0, 0.0, 2.0]
    """

    def __init__(self, lower: float = 0.0, upper: float = 1.0) -> None:
        if not is_number(lower) or not is_number(upper) or not lower <= upper:
            raise ArgumentError(f"Box({lower!r}, {upper!r})", "two numbers, the lower bound first", "Box(0.0, 1.0)")
        self.lower, self.upper = float(lower), float(upper)

    def __call__(self, value: Array) -> Array:
        return ops.clip(value, self.lower, self.upper)


class LinfBall(BaseConstraint):
    """No element is larger than a radius, in magnitude.

    Args:
        radius: The radius. Defaults to 1.0.

    Raises:
        ArgumentError: the radius is not a number from 0 up.

    Example:
        >>> LinfBall(1.0)(np.float32([-3, 0.5])).tolist()
        [-1.0, 0.5]
    """

    def __init__(self, radius: float = 1.0) -> None:
        self.radius = limit("radius", radius)

    def __call__(self, value: Array) -> Array:
        return ops.clip(value, -self.radius, self.radius)


class L2Ball(BaseConstraint):
    """The Euclidean norm of the weight is at most a radius.

    Args:
        radius: The radius. Defaults to 1.0.

    Raises:
        ArgumentError: the radius is not a number from 0 up.

    Example:
        >>> [round(w, 4) for w in L2Ball(1.0)(np.float32([3, 4])).tolist()]
        [0.6, 0.8]
    """

    def __init__(self, radius: float = 1.0) -> None:
        self.radius = limit("radius", radius)

    def __call__(self, value: Array) -> Array:
        weight = widen(value)
        norm = ops.norm(weight)
        outside = norm > self.radius
        return cast_back(
            ops.where(outside, weight * ops.divide(self.radius, ops.where(outside, norm, 1.0)), weight), value
        )


class Simplex(BaseConstraint):
    """No element is negative, and all add up to a total.

    Args:
        total: The sum. Defaults to 1.0.

    Raises:
        ArgumentError: the sum is not a number above 0.
        ShapeError: at the call: the weight has no elements.

    Example:
        >>> Simplex()(np.float32([1.0, 0.5, -1.0])).tolist()
        [0.75, 0.25, 0.0]

    Source: Duchi et al. 2008, Efficient projections onto the l1-ball for learning in high dimensions, ICML.
    """

    def __init__(self, total: float = 1.0) -> None:
        if not 0 < limit("total", total) < np.inf:
            raise ArgumentError(f"total={total!r}", "the sum is a finite number above 0", "Simplex(1.0)")
        self.total = float(total)

    def __call__(self, value: Array) -> Array:
        if not math.prod(value.shape):
            raise ShapeError(
                f"Simplex for a weight of shape {tuple(value.shape)}",
                f"no elements cannot add up to {self.total}",
                "a weight with elements, or none of this constraint",
            )
        flat = ops.reshape(widen(value), (-1,))
        flat = flat - ops.stop_gradient(ops.max(flat))  # which changes nothing, but beside 1e30 the total is lost
        falling = ops.flip(ops.sort(flat))
        excess = ops.cumsum(falling) - self.total
        counts = ops.cast(ops.arange(1, flat.size + 1), str(flat.dtype))
        kept = ops.sum(ops.cast(falling * counts > excess, "int32"))  # the k largest elements stay above 0
        level = ops.take(excess, kept - 1) / ops.cast(kept, str(flat.dtype))
        return cast_back(ops.reshape(ops.maximum(flat - level, 0), value.shape), value)


class L1Ball(BaseConstraint):
    """The sum of magnitudes is at most a radius.

    Args:
        radius: The radius. Defaults to 1.0.

    Raises:
        ArgumentError: the radius is not a number above 0.

    Example:
        >>> L1Ball(1.0)(np.float32([1.0, -0.5, 0.1])).tolist()
        [0.75, -0.25, 0.0]

    Source: Duchi et al. 2008, Efficient projections onto the l1-ball for learning in high dimensions, ICML.
    """

    def __init__(self, radius: float = 1.0) -> None:
        if not 0 < limit("radius", radius) < np.inf:
            raise ArgumentError(f"radius={radius!r}", "the radius is a finite number above 0", "L1Ball(1.0)")
        self.radius = float(radius)

    def __call__(self, value: Array) -> Array:
        if not math.prod(value.shape):
            return value
        weight = widen(value)
        size = ops.abs(weight)
        return cast_back(
            ops.where(ops.sum(size) > self.radius, ops.sign(weight) * Simplex(self.radius)(size), weight), value
        )


class Radial(BaseConstraint):
    """A square convolution kernel has one value on each square ring around its middle: their mean.

    Shape:
        ``(n, n, in, out) -> (n, n, in, out)``

    Raises:
        ShapeError: at the call: the kernel is no square window with two more axes.

    Example:
        >>> kernel = np.arange(9, dtype="float32").reshape(3, 3, 1, 1)
        >>> Radial()(kernel)[..., 0, 0].tolist()
        [[4.0, 4.0, 4.0], [4.0, 4.0, 4.0], [4.0, 4.0, 4.0]]
    """

    def __call__(self, value: Array) -> Array:
        if value.ndim != 4 or value.shape[0] != value.shape[1]:
            raise ShapeError(
                f"Radial for a weight of shape {tuple(value.shape)}",
                "rings need a square window: (n, n, in, out)",
                "another constraint, or the kernel of a Conv2D with a square window",
            )
        n = value.shape[0]
        distance = np.abs(2 * np.arange(n) - (n - 1))
        ring = np.maximum(distance[:, None], distance[None, :])
        out = weight = widen(value)
        for size in sorted(set(ring.flat)):
            inside = ops.asarray((ring == size)[:, :, None, None])
            mean = ops.sum(ops.where(inside, weight, 0), axis=(0, 1), keepdims=True) / float((ring == size).sum())
            out = ops.where(inside, mean, out)
        return cast_back(out, value)
