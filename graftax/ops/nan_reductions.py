"""Functions over axes that leave nan out, written once over the NumPy namespace of any backend."""

from __future__ import annotations

import math
from typing import Any

from graftax.backend.protocol import Arrays
from graftax.core.typedefs import Array
from graftax.ops.functions import in_float32, require_real, row
from graftax.ops.reductions import cumprod, cumsum, even_scale, median, quantile, require_some, root, to_inexact

Axes = int | tuple[int, ...] | None


def _replace_nan(a: Arrays, x: Array, filler: float) -> Any:
    return x if x.dtype.kind in "iub" else a.numpy.where(a.numpy.isnan(x), filler, x)


def _count(a: Arrays, x: Array, axis: Axes) -> Any:
    """Count the values that are no nan, in the dtype of their sum."""
    real_dtype = a.numpy.abs(x).dtype
    return a.numpy.sum(a.asarray(~a.numpy.isnan(x), real_dtype), axis=axis, keepdims=True)


@row
def nansum(a: Arrays, x: Array, axis: Axes, keepdims: bool) -> Any:
    return a.numpy.sum(_replace_nan(a, x, 0), axis=axis, keepdims=keepdims)


@row
def nanprod(a: Arrays, x: Array, axis: Axes, keepdims: bool) -> Any:
    return a.numpy.prod(_replace_nan(a, x, 1), axis=axis, keepdims=keepdims)


@row
@in_float32
def nanmean(a: Arrays, x: Array, axis: Axes, keepdims: bool) -> Any:
    x = to_inexact(a, x)
    mean = a.numpy.sum(_replace_nan(a, x, 0), axis=axis, keepdims=True) / _count(a, x, axis)
    return mean if keepdims else a.numpy.squeeze(mean, axis)


@row
@in_float32
def nanvar(a: Arrays, x: Array, axis: Axes, ddof: int, keepdims: bool) -> Any:
    x = to_inexact(a, x)
    count = _count(a, x, axis)
    mean = a.numpy.sum(_replace_nan(a, x, 0), axis=axis, keepdims=True) / a.numpy.where(count == 0, 1, count)
    distance = a.numpy.where(a.numpy.isnan(x), 0, a.numpy.where(a.numpy.isnan(x), 0, x) - mean)
    total = a.numpy.sum(a.numpy.square(a.numpy.abs(distance)), axis=axis, keepdims=True)
    enough = count > ddof
    found = a.numpy.where(enough, total / a.numpy.where(enough, count - ddof, 1), math.nan)
    return found if keepdims else a.numpy.squeeze(found, axis)


@row
@in_float32
def nanstd(a: Arrays, x: Array, axis: Axes, ddof: int, keepdims: bool) -> Any:
    x = to_inexact(a, x)
    scale = even_scale(a, _replace_nan(a, x, 0), axis)
    found = root(a, nanvar(a, x * scale, axis, ddof, True)) / scale
    return found if keepdims else a.numpy.squeeze(found, axis)


@row
def nanmax(a: Arrays, x: Array, axis: Axes, keepdims: bool) -> Any:
    found = a.numpy.max(_replace_nan(a, x, -math.inf), axis=axis, keepdims=keepdims)
    return found if x.dtype.kind in "iub" else _unless_all_nan(a, x, axis, keepdims, found, math.nan)


@row
def nanmin(a: Arrays, x: Array, axis: Axes, keepdims: bool) -> Any:
    found = a.numpy.min(_replace_nan(a, x, math.inf), axis=axis, keepdims=keepdims)
    return found if x.dtype.kind in "iub" else _unless_all_nan(a, x, axis, keepdims, found, math.nan)


@row
def nanargmax(a: Arrays, x: Array, axis: int | None, keepdims: bool) -> Any:
    found = a.numpy.argmax(_replace_nan(a, x, -math.inf), axis=axis, keepdims=keepdims)
    return found if x.dtype.kind in "iub" else _unless_all_nan(a, x, axis, keepdims, found, -1)


@row
def nanargmin(a: Arrays, x: Array, axis: int | None, keepdims: bool) -> Any:
    found = a.numpy.argmin(_replace_nan(a, x, math.inf), axis=axis, keepdims=keepdims)
    return found if x.dtype.kind in "iub" else _unless_all_nan(a, x, axis, keepdims, found, -1)


def _unless_all_nan(a: Arrays, x: Array, axis: Axes, keepdims: bool, result: object, other: float) -> Any:
    return a.numpy.where(a.numpy.all(a.numpy.isnan(x), axis=axis, keepdims=keepdims), other, result)


@row
@require_real
@in_float32
def nanmedian(a: Arrays, x: Array, axis: Axes, keepdims: bool) -> Any:
    if x.dtype.kind in "iub":
        return median(a, x, axis, keepdims)
    require_some("nanmedian", x, axis)
    return a.numpy.nanmedian(x, axis=axis, keepdims=keepdims)


@row
@require_real
@in_float32
def nanquantile(a: Arrays, x: Array, q: float | tuple[float, ...], axis: Axes, keepdims: bool) -> Any:
    if x.dtype.kind in "iub":
        return quantile(a, x, q, axis, keepdims)
    require_some("nanquantile", x, axis)
    return a.numpy.nanquantile(x, a.asarray(q, x.dtype), axis=axis, keepdims=keepdims)


@row
def nanpercentile(a: Arrays, x: Array, q: float | tuple[float, ...], axis: Axes, keepdims: bool) -> Any:
    return nanquantile(a, x, tuple(one / 100 for one in q) if isinstance(q, tuple) else q / 100, axis, keepdims)


@row
def nancumsum(a: Arrays, x: Array, axis: int | None) -> Any:
    return cumsum(a, _replace_nan(a, x, 0), axis)


@row
def nancumprod(a: Arrays, x: Array, axis: int | None) -> Any:
    return cumprod(a, _replace_nan(a, x, 1), axis)
