"""Functions over axes, written once over the NumPy namespace of any backend; narrow dtypes are summed in wide ones."""

from __future__ import annotations

import math
from typing import Any

from graftax.backend.host import limits
from graftax.backend.protocol import Arrays
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array
from graftax.ops.checks import axis_in_range, register_check
from graftax.ops.functions import accumulate_wide, in_float32, require_real, row
from graftax.ops.slopes_in_range import quotient


def to_inexact(a: Arrays, x: Array) -> Any:
    """Return integers as floats."""
    return a.asarray(x, a.canonical_dtype("float64")) if x.dtype.kind in "iub" else x


@row
@accumulate_wide
def cumsum(a: Arrays, x: Array, axis: int | None) -> Any:
    return a.numpy.cumsum(x, axis)


@row
@accumulate_wide
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
    x, free = to_inexact(a, x), _count(x, axis) - ddof

    def value(x: Array) -> Any:
        scale = even_scale(a, x, axis)
        spread = a.numpy.var(x * scale, axis=axis, ddof=ddof if free > 0 else 0, keepdims=True)
        return root(a, spread) / scale * (1 if free > 0 else math.nan)

    def rule(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Any, Any]:
        (x,), (way,), found = primals, tangents, deviation(primals[0])
        distances = x - a.numpy.mean(x, axis=axis, keepdims=True)
        return found, _directional(a, distances, found, way, axis) / (free if free > 0 else math.nan)

    def deviation(x: Array) -> Any:
        return a.with_jvp(value, rule, x)

    return deviation(x) if keepdims else a.numpy.squeeze(deviation(x), axis)


def _directional(a: Arrays, x: Array, length: Array, way: Array, axis: int | tuple[int, ...] | None) -> Any:
    """Return how much numbers that move in a way move in the direction of x, whose length is 0 where x is."""
    unit = x * quotient(a, 1, a.numpy.where(a.numpy.equal(length, 0), 1, length))
    if unit.dtype.kind == "c":
        unit, way = a.numpy.conj(unit), a.asarray(way, unit.dtype)
    return a.numpy.sum(a.numpy.real(unit * way), axis=axis, keepdims=True)


def root(a: Arrays, squares: Array) -> Any:
    """Return the root of what is not negative, with a slope of 0 at 0, where that of a root is infinite."""
    flat = a.numpy.equal(squares, 0)
    return a.numpy.where(flat, 0, a.numpy.sqrt(a.numpy.where(flat, 1, squares)))


def even_scale(a: Arrays, x: Array, axis: int | tuple[int, ...] | None) -> Any:
    """Return powers of two that bring numbers to where squares neither overflow nor become 0; mostly 1.

    A power of two changes no digit. Axes are kept.
    """
    sizes = a.numpy.abs(x) if x.dtype.kind == "c" else x
    squares: Any = a.stop_gradient(a.numpy.sum(a.numpy.square(sizes), axis=axis, keepdims=True))
    bits = math.log2(limits(squares.dtype.name)[1])
    factor, least = 2.0 ** round(0.62 * bits), 2.0 ** round(-0.5 * bits)
    one = a.numpy.ones_like(squares)
    return a.numpy.where(squares == math.inf, one / factor, a.numpy.where(squares < least, one * factor, one))


def require_some(op: str, x: Array, axis: int | tuple[int, ...] | None) -> None:
    """Raise if an axis that a function looks along is empty."""
    if not _count(x, axis):
        raise ShapeError(f"{op}: x {list(x.shape)}, axis = {axis}", "there are no values", "at least one value")


def _count(x: Array, axis: int | tuple[int, ...] | None) -> int:
    """Count the values that make one result; fewer than ddof leave nothing to divide by."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return math.prod(x.shape[i] for i in axes if -x.ndim <= i < x.ndim)


@row
@require_real
@in_float32
def median(a: Arrays, x: Array, axis: int | tuple[int, ...] | None, keepdims: bool) -> Any:
    require_some("median", x, axis)
    return a.numpy.median(x, axis=axis, keepdims=keepdims)


@register_check("quantile", "nanquantile")
def _check_quantile(
    arrays: Arrays, x: Array, q: float | tuple[float, ...], axis: int | tuple[int, ...] | None, keepdims: bool
) -> None:
    for one in q if isinstance(q, tuple) else (q,):
        if not 0 <= one <= 1:
            raise ArgumentError(f"quantile: q = {q}", "a quantile is in [0, 1]", "q=0.9 for 90 percent")


@register_check("percentile", "nanpercentile")
def _check_percentile(
    arrays: Arrays, x: Array, q: float | tuple[float, ...], axis: int | tuple[int, ...] | None, keepdims: bool
) -> None:
    for one in q if isinstance(q, tuple) else (q,):
        if not 0 <= one <= 100:
            raise ArgumentError(f"percentile: q = {q}", "a percentile is in [0, 100]", "q=90")


@row
@require_real
@in_float32
def quantile(
    a: Arrays, x: Array, q: float | tuple[float, ...], axis: int | tuple[int, ...] | None, keepdims: bool
) -> Any:
    require_some("quantile", x, axis)
    x = to_inexact(a, x)
    return a.numpy.quantile(x, a.asarray(q, x.dtype), axis=axis, keepdims=keepdims)


def _shift_by_max(a: Arrays, x: Array, axis: int | tuple[int, ...] | None) -> tuple[Any, Any, Any]:
    """Return ``x - m``, ``m``, the sum of ``exp(x - m)`` or 1 where it is 0; m is the maximum, 0 where all are -inf."""
    highest: Any = a.stop_gradient(a.numpy.max(x, axis=axis, keepdims=True, initial=-math.inf))
    highest = a.numpy.where(highest == -math.inf, 0, highest)
    moved = x - highest
    total = a.numpy.sum(a.numpy.exp(moved), axis=axis, keepdims=True)
    return moved, highest, a.numpy.where(total == 0, 1, total)


@row
@require_real
@in_float32
def softmax(a: Arrays, x: Array, axis: int | tuple[int, ...] | None) -> Any:
    moved, _, total = _shift_by_max(a, to_inexact(a, x), axis)
    return a.numpy.exp(moved) / total


@row
@require_real
@in_float32
def log_softmax(a: Arrays, x: Array, axis: int | tuple[int, ...] | None) -> Any:
    moved, _, total = _shift_by_max(a, to_inexact(a, x), axis)
    return moved - a.numpy.log(total)


@row
@require_real
@in_float32
def logsumexp(a: Arrays, x: Any, axis: int | tuple[int, ...] | None, keepdims: bool) -> Any:
    x = to_inexact(a, x)
    infinite = a.numpy.any(x == math.inf, axis=axis, keepdims=True)
    _, highest, total = _shift_by_max(a, a.numpy.where(infinite & ~a.numpy.isnan(x), 0, x), axis)
    nothing = a.numpy.all(x == -math.inf, axis=axis, keepdims=True)
    result = a.numpy.where(nothing, -math.inf, a.numpy.log(total) + highest)
    result = a.numpy.where(infinite & ~a.numpy.isnan(result), math.inf, result)
    return result if keepdims else a.numpy.squeeze(result, axis)


@row
@in_float32
def norm(a: Arrays, x: Any, ord: float, axis: int | tuple[int, ...] | None, keepdims: bool) -> Any:
    x = to_inexact(a, x)
    x = a.numpy.abs(x) if ord != 2 or x.dtype.kind == "c" else x
    if ord == math.inf:
        return a.numpy.max(x, axis=axis, keepdims=keepdims, initial=0)
    if not ord > 0:
        raise ArgumentError(f"norm: ord = {ord!r}", "the order of a norm is a number above 0, or inf", "ord=2")
    if ord == 1:
        return a.numpy.sum(x, axis=axis, keepdims=keepdims)
    if ord == 2:
        found = _length(a, x, axis)
    else:
        most = a.stop_gradient(a.numpy.max(x, axis=axis, keepdims=True, initial=0))
        most = a.numpy.where((most > 0) & (most < math.inf), most, 1)
        zero = x == 0  # whose power has no gradient
        share = a.numpy.where(zero, 0, a.numpy.power(a.numpy.where(zero, 1, x / most), ord))
        total = a.numpy.sum(share, axis=axis, keepdims=True)
        none = total == 0  # the root has no gradient there: take it elsewhere, and 0 here
        found = a.numpy.where(none, 0, a.numpy.power(a.numpy.where(none, 1, total), 1 / ord)) * most
    return found if keepdims else a.numpy.squeeze(found, axis)


def _length(a: Arrays, x: Array, axis: int | tuple[int, ...] | None) -> Any:
    """Return the root of the sum of the squares of real numbers; its slope at 0 is 0."""

    def value(x: Array) -> Any:
        scale = even_scale(a, x, axis)
        return root(a, a.numpy.sum(a.numpy.square(x * scale), axis=axis, keepdims=True)) / scale

    def rule(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Any, Any]:
        found = _length(a, primals[0], axis)
        return found, _directional(a, primals[0], found, tangents[0], axis)

    return a.with_jvp(value, rule, x)


@row
@in_float32
def moments(a: Arrays, x: Array, axes: int | tuple[int, ...], keepdims: bool) -> Any:
    x = to_inexact(a, x)
    mean = a.numpy.mean(x, axis=axes, keepdims=True)
    variance = a.numpy.mean(a.numpy.square(a.numpy.abs(x - mean)), axis=axes, keepdims=keepdims)
    return mean if keepdims else a.numpy.squeeze(mean, axes), variance


@row
@in_float32
def standardize(a: Arrays, x: Array, axis: int | tuple[int, ...] | None, epsilon: float) -> Any:
    x = to_inexact(a, x)
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis
    return a.standardize(x, tuple(axis_in_range("standardize", one, x.ndim) for one in axes), epsilon)
