"""Creation, conversion and indexing, written once over the NumPy namespace of any backend."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graftax.backend.protocol import Arrays
from graftax.errors import ArgumentError, ShapeError
from graftax.op_checks import axis_in_range

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""By op: ``function(arrays, *arguments)``; an underscore at the end of the Python name is dropped."""


def row(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function under its name."""
    FUNCTIONS[function.__name__.rstrip("_")] = function
    return function


@row
def asarray(a: Arrays, object: Any, dtype: Any) -> Any:
    return a.asarray(object, dtype)


FUNCTIONS["array"] = asarray


@row
def zeros(a: Arrays, shape: Any, dtype: Any) -> Any:
    return a.numpy.zeros(shape, dtype or "float32")


@row
def ones(a: Arrays, shape: Any, dtype: Any) -> Any:
    return a.numpy.ones(shape, dtype or "float32")


@row
def full(a: Arrays, shape: Any, fill_value: Any, dtype: Any) -> Any:
    return a.numpy.full(shape, fill_value, dtype or fill_value.dtype)


@row
def eye(a: Arrays, rows: int, columns: int | None, k: int, dtype: Any) -> Any:
    return a.numpy.eye(rows, columns, k, dtype=dtype)


@row
def identity(a: Arrays, rows: int, dtype: Any) -> Any:
    return a.numpy.eye(rows, dtype=dtype)


@row
def tri(a: Arrays, rows: int, columns: int | None, k: int, dtype: Any) -> Any:
    return a.numpy.tri(rows, columns, k, dtype=dtype)


@row
def arange(a: Arrays, start: float, stop: float | None, step: float | None, dtype: Any) -> Any:
    if stop is None:
        start, stop = 0, start
    kind = np.result_type(*(type(n) if isinstance(n, (int, float)) else n for n in (start, stop, step or 1)))
    return a.numpy.arange(start, stop, step or 1, dtype=dtype or a.canonical_dtype(kind))


@row
def linspace(a: Arrays, start: float, stop: float, num: int, endpoint: bool, dtype: Any) -> Any:
    return a.numpy.linspace(start, stop, num, endpoint=endpoint, dtype=dtype)


@row
def zeros_like(a: Arrays, x: Any, dtype: Any) -> Any:
    return a.numpy.zeros_like(x, dtype=dtype or x.dtype)


@row
def ones_like(a: Arrays, x: Any, dtype: Any) -> Any:
    return a.numpy.ones_like(x, dtype=dtype or x.dtype)


@row
def full_like(a: Arrays, x: Any, fill_value: Any, dtype: Any) -> Any:
    return a.numpy.full_like(x, fill_value, dtype=dtype or x.dtype)


@row
def cast(a: Arrays, x: Any, dtype: Any) -> Any:
    return a.asarray(x, dtype)


@row
def stop_gradient(a: Arrays, x: Any) -> Any:
    return a.stop_gradient(x)


@row
def reshape(a: Arrays, x: Any, shape: Any) -> Any:
    return x.reshape(shape)


@row
def take(a: Arrays, x: Any, indices: Any, axis: int | None) -> Any:
    return a.numpy.take(x, indices, axis)


@row
def take_along_axis(a: Arrays, x: Any, indices: Any, axis: int) -> Any:
    return a.numpy.take_along_axis(x, indices, axis)


@row
def gather_nd(a: Arrays, x: Any, indices: Any) -> Any:
    return x[tuple(indices[..., i] for i in range(indices.shape[-1]))]


@row
def one_hot(a: Arrays, indices: Any, num_classes: int, axis: int, dtype: Any) -> Any:
    axis = axis_in_range("one_hot", axis, indices.ndim + 1)
    classes = a.numpy.arange(num_classes, dtype=indices.dtype).reshape((-1, *[1] * (indices.ndim - axis)))
    return a.asarray(a.numpy.expand_dims(indices, axis) == classes, dtype)


@row
def scatter_add(a: Arrays, x: Any, indices: Any, updates: Any) -> Any:
    return a.scatter_add(x, indices, updates)


@row
def segment_sum(a: Arrays, x: Any, segment_ids: Any, num_segments: int) -> Any:
    return a.scatter_add(a.numpy.zeros((num_segments, *x.shape[1:]), x.dtype), segment_ids, x)


@row
def slice_(a: Arrays, x: Any, begin: Any, shape: Any) -> Any:
    return a.slice(x, begin, (shape,) if isinstance(shape, int) else tuple(shape))


@row
def slice_update(a: Arrays, x: Any, begin: Any, updates: Any) -> Any:
    return a.slice_update(x, begin, updates if a.is_array(updates) else a.asarray(updates, x.dtype))


@row
def split(a: Arrays, x: Any, sections: Any, axis: int) -> Any:
    size = x.shape[axis_in_range("split", axis, x.ndim)]
    if isinstance(sections, int) and (sections <= 0 or size % sections):
        raise ShapeError(
            f"split: axis {axis} of x {list(x.shape)} into {sections} parts",
            f"{size} is no multiple of {sections}",
            "give the indices to cut at, such as sections=[2, 5]",
        )
    return list(a.numpy.split(x, sections if isinstance(sections, int) else list(sections), axis))


@row
def unstack(a: Arrays, x: Any, axis: int) -> Any:
    axis = axis_in_range("unstack", axis, x.ndim)
    lead = (slice(None),) * axis
    return tuple(a.numpy.asarray(x[(*lead, i)]) for i in range(x.shape[axis]))


@row
def pad(a: Arrays, x: Any, pad_width: Any, mode: str, constant_values: float) -> Any:
    known = ("constant", "edge", "reflect", "symmetric", "wrap")
    if mode not in known:
        raise ArgumentError(f"pad: mode = {mode!r}", "there is no such mode", f"one of {', '.join(known)}")
    options = {"constant_values": constant_values} if mode == "constant" else {}
    if constant_values and x.dtype.kind in "iu":
        options = {"constant_values": x.dtype.type(constant_values)}
    return a.numpy.pad(x, pad_width, mode=mode, **options)


@row
def sort(a: Arrays, x: Any, axis: int, descending: bool) -> Any:
    done = a.numpy.sort(x, axis=axis_in_range("sort", axis, x.ndim))
    return a.numpy.flip(done, axis) if descending else done


@row
def argsort(a: Arrays, x: Any, axis: int, descending: bool) -> Any:
    axis = axis_in_range("argsort", axis, x.ndim)
    if not descending:
        return a.numpy.argsort(x, axis=axis, stable=True)
    backwards = a.numpy.argsort(a.numpy.flip(x, axis), axis=axis, stable=True)  # reversed twice: ties stay in order
    return x.shape[axis] - 1 - a.numpy.flip(backwards, axis)


@row
def top_k(a: Arrays, x: Any, k: int) -> Any:
    return a.top_k(x, k)


@row
def searchsorted(a: Arrays, x: Any, values: Any, side: str) -> Any:
    return a.numpy.searchsorted(x, values, side=side)


@row
def nonzero(a: Arrays, x: Any) -> Any:
    return tuple(a.numpy.nonzero(x))


@row
def unique(a: Arrays, x: Any) -> Any:
    return a.numpy.unique(x)


@row
def isin(a: Arrays, x: Any, values: Any) -> Any:
    return a.numpy.isin(x, values)


@row
def bincount(a: Arrays, x: Any, length: int | None) -> Any:
    if length is None:
        return a.numpy.bincount(x)
    flat = x.reshape(-1)
    return a.scatter_add(a.numpy.zeros((length,), "int32"), flat, a.numpy.ones(flat.shape, "int32"))


@row
def shape(a: Arrays, x: Any) -> tuple[int, ...]:
    return tuple(x.shape)


@row
def ndim(a: Arrays, x: Any) -> int:
    return len(x.shape)


@row
def size(a: Arrays, x: Any) -> int:
    return math.prod(x.shape)


@row
def to_numpy(a: Arrays, x: Any) -> Any:
    return a.to_numpy(x)
