"""Normalisations over axes, written once over the arrays of any backend."""

from __future__ import annotations

from typing import Any

from graftax.backend.protocol import Arrays
from graftax.core.errors import ShapeError
from graftax.core.typedefs import Array
from graftax.ops.checks import axis_in_range
from graftax.ops.functions import in_float32, require_real, row
from graftax.ops.reductions import norm, standardize, to_inexact

Axes = int | tuple[int, ...] | None


@row
@in_float32
def normalize(a: Arrays, x: Array, axis: Axes, ord: float, epsilon: float) -> Any:
    x = to_inexact(a, x)
    return x / a.numpy.maximum(norm(a, x, ord, axis, True), epsilon)


def _check_axes(op: str, x: Array, axis: Axes) -> tuple[int, ...]:
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return tuple(sorted(axis_in_range(op, one, x.ndim) for one in axes))


def _spread(a: Arrays, op: str, name: str, x: Array, value: Any, axes: tuple[int, ...]) -> Any:
    """Reshape one number for each place on the axes, so that it broadcasts with x."""
    shape = tuple(x.shape[axis] for axis in axes)
    if tuple(value.shape) != shape:
        raise ShapeError(
            f"{op}: x {list(x.shape)}, {name} {list(value.shape)}",
            f"{name} has one number for each place on the axes {list(axes)}",
            f"{name} of shape {list(shape)}",
        )
    return a.asarray(value, x.dtype).reshape([n if i in axes else 1 for i, n in enumerate(x.shape)])


@row
@require_real
@in_float32
def layer_normalization(
    a: Arrays, x: Array, gamma: Array | None, beta: Array | None, axis: Axes, epsilon: float
) -> Any:
    x = to_inexact(a, x)
    axes = _check_axes("layer_normalization", x, axis)
    found = standardize(a, x, axes, epsilon)
    if gamma is not None:
        found = found * _spread(a, "layer_normalization", "gamma", x, gamma, axes)
    return found if beta is None else found + _spread(a, "layer_normalization", "beta", x, beta, axes)


@row
@require_real
@in_float32
def rms_normalization(a: Arrays, x: Array, scale: Array | None, axis: Axes, epsilon: float) -> Any:
    x = to_inexact(a, x)
    axes = _check_axes("rms_normalization", x, axis)
    found = x * a.rsqrt(a.numpy.mean(a.numpy.square(x), axis=axes, keepdims=True) + epsilon)
    return found if scale is None else found * _spread(a, "rms_normalization", "scale", x, scale, axes)


@row
@require_real
@in_float32
def batch_normalization(
    a: Arrays,
    x: Array,
    mean: Array,
    variance: Array,
    axis: int,
    offset: Array | None,
    scale: Array | None,
    epsilon: float,
) -> Any:
    x = to_inexact(a, x)
    op, axes = "batch_normalization", _check_axes("batch_normalization", x, axis)
    factor = a.rsqrt(_spread(a, op, "variance", x, variance, axes) + epsilon)
    if scale is not None:
        factor = factor * _spread(a, op, "scale", x, scale, axes)
    found = (x - _spread(a, op, "mean", x, mean, axes)) * factor
    return found if offset is None else found + _spread(a, op, "offset", x, offset, axes)
