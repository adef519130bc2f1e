"""Statistics and sums along axes, written once over the NumPy namespace of any backend."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.backend.protocol import Arrays
from graftax.core.errors import ArgumentError, GraftaxError, NumericsError, ShapeError
from graftax.core.typedefs import Array
from graftax.ops.checks import at_hand, axis_in_range, register_check
from graftax.ops.functions import in_float32, require_real, row
from graftax.ops.reductions import even_scale, quantile, require_some, to_inexact
from graftax.ops.slopes_in_range import quotient

Axes = int | tuple[int, ...] | None


@row
@in_float32
def average(a: Arrays, x: Array, axis: Axes, weights: Array | None, keepdims: bool) -> Any:
    x = to_inexact(a, x)
    if weights is None:
        return a.numpy.mean(x, axis=axis, keepdims=keepdims)
    weights = a.asarray(to_inexact(a, weights), x.dtype)
    if weights.shape != x.shape:
        axes = (axis,) if isinstance(axis, int) else axis
        if axes is None or weights.shape != tuple(x.shape[one] for one in axes):
            raise ShapeError(
                f"average: x {list(x.shape)}, weights {list(weights.shape)}, axis = {axis}",
                "there is one weight for each value, or one for each place on the axis",
                f"weights of shape {list(x.shape)}",
            )
        order = sorted(range(len(axes)), key=lambda i: axes[i] % x.ndim)
        shape = [1] * x.ndim
        for one in axes:
            shape[one] = x.shape[one]
        weights = a.numpy.transpose(weights, order).reshape(shape)
    weights = a.numpy.broadcast_to(weights, x.shape)
    total = a.numpy.sum(weights, axis=axis, keepdims=keepdims)
    return quotient(a, a.numpy.sum(x * weights, axis=axis, keepdims=keepdims), total)


@row
def percentile(a: Arrays, x: Array, q: float | tuple[float, ...], axis: Axes, keepdims: bool) -> Any:
    return quantile(a, x, tuple(one / 100 for one in q) if isinstance(q, tuple) else q / 100, axis, keepdims)


@row
def ptp(a: Arrays, x: Array, axis: Axes, keepdims: bool) -> Any:
    require_some("ptp", x, axis)
    most, least = (f(x, axis=axis, keepdims=keepdims) for f in (a.numpy.max, a.numpy.min))
    return most ^ least if x.dtype.kind == "b" else most - least


@row
@in_float32
def cov(a: Arrays, x: Array, ddof: int) -> Any:
    x = to_inexact(a, x)
    if x.ndim != 2 or x.shape[1] <= ddof:
        raise ShapeError(
            f"cov: x {list(x.shape)}, ddof = {ddof}",
            "it is a matrix of (variables, observations), with more observations than ddof",
            "ops.transpose(x) if the columns are variables, x[None] for one variable",
        )
    centred = x - a.numpy.mean(x, axis=1, keepdims=True)
    return a.numpy.matmul(centred, a.numpy.conj(centred.T)) / (x.shape[1] - ddof)


@row
@in_float32
def corrcoef(a: Arrays, x: Array) -> Any:
    if x.ndim != 2 or x.shape[1] < 2:
        raise ShapeError(
            f"corrcoef: x {list(x.shape)}",
            "it is a matrix of (variables, observations), with two observations at least",
            "ops.transpose(x) if the columns are variables",
        )
    x = to_inexact(a, x)
    found = cov(a, x * even_scale(a, x, 1), 1)
    spread = a.numpy.sqrt(a.numpy.real(a.numpy.diagonal(found)))
    return found / spread[:, None] / spread[None, :]


@row
def diff(a: Arrays, x: Any, n: int, axis: int) -> Any:
    axis = axis_in_range("diff", axis, x.ndim)
    lead = (slice(None),) * axis
    for _ in range(n):
        before, after = x[(*lead, slice(None, -1))], x[(*lead, slice(1, None))]
        x = before ^ after if x.dtype.kind == "b" else after - before
    return x


@row
@in_float32
def trapezoid(a: Arrays, y: Array, x: Array | None, dx: float, axis: int) -> Any:
    y, axis = to_inexact(a, y), axis_in_range("trapezoid", axis, y.ndim)
    lead = (slice(None),) * axis
    middle = (y[(*lead, slice(1, None))] + y[(*lead, slice(None, -1))]) / 2
    if x is None:
        return a.numpy.sum(middle * dx, axis=axis)
    if dx != 1.0:
        raise ArgumentError(f"trapezoid: x and dx = {dx}", "the places x have their distances", "one of the two")
    x = a.asarray(to_inexact(a, x), y.dtype)
    if x.shape not in (y.shape, (y.shape[axis],)):
        raise ShapeError(
            f"trapezoid: y {list(y.shape)}, x {list(x.shape)}, axis = {axis}",
            "there is one place for each value, or one for each place on the axis",
            f"x of shape {[y.shape[axis]]}",
        )
    if x.ndim == 1:
        x = x.reshape([-1 if i == axis else 1 for i in range(y.ndim)])
    width = x[(*lead, slice(1, None))] - x[(*lead, slice(None, -1))]
    return a.numpy.sum(middle * width, axis=axis)


@register_check("histogram")
def _histogram(arrays: Arrays, x: Array, bins: int, range: object) -> None:
    if range is None and x.dtype.kind not in "iubc" and x.size:
        looked = at_hand(arrays, _no_range, lambda values: ~arrays.numpy.isfinite(values), x)
        infinite = looked and not np.isfinite(arrays.to_numpy(x)).all()
        if infinite:
            raise _no_range(x)


def _no_range(x: Any) -> GraftaxError:
    return NumericsError(
        f"histogram: x {list(x.shape)} with values that are nan or infinite",
        "no range of edges holds them",
        "range=(low, high), which leaves them out",
    )


@row
@require_real
def histogram(a: Arrays, x: Array, bins: int, range: object) -> Any:
    x = to_inexact(a, x).reshape(-1)
    dtype = x.dtype
    x = a.asarray(x, "float32") if x.dtype.itemsize < 4 else x
    if range is not None and (not isinstance(range, tuple) or len(range) != 2 or not range[0] < range[1]):
        raise ArgumentError(
            f"histogram: range = {range!r}", "it is the least and the largest number, in this order", "range=(0.0, 1.0)"
        )
    if range is None:
        require_some("histogram", x, None)
        low, high = a.numpy.min(x), a.numpy.max(x)
        low, high = a.numpy.where(low == high, low - 0.5, low), a.numpy.where(low == high, high + 0.5, high)
    else:
        low, high = a.asarray(range[0], x.dtype), a.asarray(range[1], x.dtype)
    edges = low + (high - low) * a.numpy.linspace(0, 1, bins + 1, dtype=x.dtype)
    edges = a.set_at(edges, bins, high)
    place = a.numpy.clip(a.numpy.searchsorted(edges, x, side="right") - 1, 0, bins - 1)
    inside = (x >= low) & (x <= high)
    return a.scatter_add(a.numpy.zeros((bins,), "int32"), place, a.asarray(inside, "int32")), a.asarray(edges, dtype)


@register_check("digitize")
def _digitize(arrays: Arrays, x: Array, bins: Array) -> None:
    if not arrays.is_concrete(bins) or bins.ndim != 1:
        return
    edges = arrays.to_numpy(bins)
    if not (edges[1:] >= edges[:-1]).all():
        raise ArgumentError(
            "digitize: bins that do not ascend", "each edge is at least the one before", "ops.sort(bins)"
        )


@row
def digitize(a: Arrays, x: Array, bins: Array) -> Any:
    if bins.ndim != 1:
        raise ShapeError(f"digitize: bins {list(bins.shape)}", "the edges are a vector, ascending", "ops.ravel(bins)")
    return a.numpy.searchsorted(bins, x, side="right")
