"""Functions over axes, written once over the NumPy namespace of any backend; narrow dtypes are summed in wide ones."""

from __future__ import annotations

import math
from typing import Any

from graftax.backend.protocol import Arrays
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array
from graftax.ops.checks import axis_in_range
from graftax.ops.structure import FUNCTIONS, accumulating, in_float32, real, row

__all__ = ["FUNCTIONS", "accumulating", "in_float32", "inexact"]


def inexact(a: Arrays, x: Array) -> Any:
    """Return integers as floats."""
    return a.asarray(x, a.canonical_dtype("float64")) if x.dtype.kind in "iub" else x


@row
@accumulating
def cumsum(a: Arrays, x: Array, axis: int | None) -> Any:
    return a.numpy.cumsum(x, axis)


@row
@accumulating
def cumprod(a: Arrays, x: Array, axis: int | None) -> Any:
    return a.numpy.cumprod(x, axis)


@row
@in_float32
def var(a: Arrays, x: Array, axis: int | tuple[int, ...] | None, ddof: int, keepdims: bool) -> Any:
    found = a.numpy.var(x, axis=axis, ddof=ddof if ddof < _count(x, axis) else 0, keepdims=keepdims)
    return found if ddof < _count(x, axis) else found * math.nan


@row
@in_float32
def std(a: Arrays, x: Array, axis: int | tuple[int, ...] | None, ddof: int, keepdims: bool) -> Any:
    spread = a.numpy.var(x, axis=axis, ddof=ddof if ddof < _count(x, axis) else 0, keepdims=keepdims)
    found = root(a, spread)
    return found if ddof < _count(x, axis) else found * math.nan


def root(a: Arrays, squares: Array) -> Any:
    """Return the root of what is not negative, with a slope of 0 at 0, where that of a root is infinite."""
    flat = a.numpy.equal(squares, 0)
    return a.numpy.where(flat, 0, a.numpy.sqrt(a.numpy.where(flat, 1, squares)))


def require_some(op: str, x: Array, axis: int | tuple[int, ...] | None) -> None:
    """Raise if an axis that a function looks along is empty."""
    if not _count(x, axis):
        raise ShapeError(f"{op}: x {list(x.shape)}, axis = {axis}", "there are no values", "at least one value")


def _count(x: Array, axis: int | tuple[int, ...] | None) -> int:
    """Count the values that make one result; fewer than ddof leave nothing to divide by."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return math.prod(x.shape[i] for i in axes if -x.ndim <= i < x.ndim)


@row
@real
@in_float32
def median(a: Arrays, x: Array, axis: int | tuple[int, ...] | None, keepdims: bool) -> Any:
    require_some("median", x, axis)
    return a.numpy.median(x, axis=axis, keepdims=keepdims)


@row
@real
@in_float32
def quantile(
    a: Arrays, x: Array, q: float | tuple[float, ...], axis: int | tuple[int, ...] | None, keepdims: bool
) -> Any:
    require_some("quantile", x, axis)
    x = inexact(a, x)
    return a.numpy.quantile(x, a.asarray(q, x.dtype), axis=axis, keepdims=keepdims)


def _shifted(a: Arrays, x: Array, axis: int | tuple[int, ...] | None) -> tuple[Any, Any, Any]:
    """Return ``x - m``, ``m``, the sum of ``exp(x - m)`` or 1 where it is 0; m is the maximum, 0 where all are -inf."""
    highest: Any = a.stop_gradient(a.numpy.max(x, axis=axis, keepdims=True, initial=-math.inf))
    highest = a.numpy.where(highest == -math.inf, 0, highest)
    moved = x - highest
    total = a.numpy.sum(a.numpy.exp(moved), axis=axis, keepdims=True)
    return moved, highest, a.numpy.where(total == 0, 1, total)


@row
@real
@in_float32
def softmax(a: Arrays, x: Array, axis: int | tuple[int, ...] | None) -> Any:
    moved, _, total = _shifted(a, inexact(a, x), axis)
    return a.numpy.exp(moved) / total


@row
@real
@in_float32
def log_softmax(a: Arrays, x: Array, axis: int | tuple[int, ...] | None) -> Any:
    moved, _, total = _shifted(a, inexact(a, x), axis)
    return moved - a.numpy.log(total)


@row
@real
@in_float32
def logsumexp(a: Arrays, x: Any, axis: int | tuple[int, ...] | None, keepdims: bool) -> Any:
    x = inexact(a, x)
    infinite = a.numpy.any(x == math.inf, axis=axis, keepdims=True)
    _, highest, total = _shifted(a, a.numpy.where(infinite & ~a.numpy.isnan(x), 0, x), axis)
    nothing = a.numpy.all(x == -math.inf, axis=axis, keepdims=True)
    result = a.numpy.where(nothing, -math.inf, a.numpy.log(total) + highest)
    result = a.numpy.where(infinite & ~a.numpy.isnan(result), math.inf, result)
    return result if keepdims else a.numpy.squeeze(result, axis)


@row
@in_float32
def norm(a: Arrays, x: Any, ord: float, axis: int | tuple[int, ...] | None, keepdims: bool) -> Any:
    x = a.numpy.abs(inexact(a, x))
    if ord == math.inf:
        return a.numpy.max(x, axis=axis, keepdims=keepdims, initial=0)
    if not ord > 0:
        raise ArgumentError(f"norm: ord = {ord!r}", "the order of a norm is a number above 0, or inf", "ord=2")
    if ord == 1:
        return a.numpy.sum(x, axis=axis, keepdims=keepdims)
    power = a.numpy.square(x) if ord == 2 else a.numpy.power(a.numpy.where(x == 0, 1, x), ord) * (x != 0)
    total = a.numpy.sum(power, axis=axis, keepdims=keepdims)
    zero = total == 0
    safe = a.numpy.where(zero, 1, total)  # the root has no gradient at 0: take it elsewhere, and 0 here
    return a.numpy.where(zero, 0, a.numpy.sqrt(safe) if ord == 2 else a.numpy.power(safe, 1 / ord))


@row
@in_float32
def moments(a: Arrays, x: Array, axes: int | tuple[int, ...], keepdims: bool) -> Any:
    x = inexact(a, x)
    mean = a.numpy.mean(x, axis=axes, keepdims=True)
    variance = a.numpy.mean(a.numpy.square(a.numpy.abs(x - mean)), axis=axes, keepdims=keepdims)
    return mean if keepdims else a.numpy.squeeze(mean, axes), variance


@row
@in_float32
def standardize(a: Arrays, x: Array, axis: int | tuple[int, ...] | None, epsilon: float) -> Any:
    x = inexact(a, x)
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis
    return a.standardize(x, tuple(axis_in_range("standardize", one, x.ndim) for one in axes), epsilon)
