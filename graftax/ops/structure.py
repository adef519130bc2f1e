"""Parts of arrays, and arrays in another order, written once over the NumPy namespace of any backend."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graftax.backend.host import limits
from graftax.backend.protocol import Arrays
from graftax.core.errors import ArgumentError, DTypeError, ShapeError
from graftax.core.free_sizes import any_free, is_free
from graftax.core.typedefs import Array
from graftax.core.wrapping import wraps
from graftax.ops.checks import axis_in_range, is_outside
from graftax.ops.numbers import check_filling
from graftax.ops.wide_sums import spread, sum_wide

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""By op: ``function(arrays, *arguments)``; an underscore at the end of the Python name is dropped."""


def row(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function under its name."""
    FUNCTIONS[function.__name__.rstrip("_")] = function
    return function


def require_real(function: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse complex numbers for a function of ``x`` that is not defined for them.

    Raises:
        DTypeError: they are complex.
    """

    @wraps(function)
    def call(a: Arrays, x: Array, *args: Any, **options: Any) -> Any:
        if x.dtype.kind == "c":
            name = function.__name__
            raise DTypeError(f"{name}: x {x.dtype.name}", "it takes real numbers", f"ops.{name}(ops.abs(x))")
        return function(a, x, *args, **options)

    return call


def in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compute half precision in float32 for a function of ``x``, and round at the end."""

    @wraps(function)
    def run(a: Arrays, x: Array, *args: Any, **options: Any) -> Any:
        dtype = x.dtype
        if dtype.itemsize >= 4 or dtype.kind in "iub":
            return function(a, x, *args, **options)
        found = function(a, a.asarray(x, "float32"), *args, **options)
        return tuple(a.asarray(one, dtype) for one in found) if isinstance(found, tuple) else a.asarray(found, dtype)

    return run


def accumulate_wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """Do the same for what adds up or multiplies; narrow integers and booleans give 32 bits, as those of sum do."""
    inner = in_float32(function)

    @wraps(function)
    def run(a: Arrays, x: Array, *args: Any, **options: Any) -> Any:
        return inner(a, _to_32_bits(a, x), *args, **options)

    return run


def _to_32_bits(a: Arrays, x: Array) -> Any:
    narrow = x.dtype.kind in "iub" and x.dtype.itemsize < 4
    return a.asarray(x, "uint32" if x.dtype.kind == "u" else "int32") if narrow else x


def positions(a: Arrays, indices: Array) -> Any:
    """Return indices wide enough for any axis: JAX compares them with its size in their own dtype."""
    return a.asarray(indices, "int32") if indices.dtype.itemsize < 4 else indices


def counted_from_0(a: Arrays, indices: Array, size: Any) -> Any:
    """Return wide indices with negative ones, which only compiled code can have, moved beyond the end of the axis.

    JAX counts negative indices from the end, whatever its mode for indices out of range is.

    Args:
        a: The arrays of the backend in charge.
        indices: Integers.
        size: The size of the axis; for index tuples a tuple of sizes.
    """
    wide = positions(a, indices)
    if wide.dtype.kind == "u" or a.is_concrete(wide):  # what is at hand has been checked
        return wide
    return a.numpy.where(wide < 0, _sizes_as_indices(a, size, wide.dtype), wide)


def _sizes_as_indices(a: Arrays, size: int | tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return sizes as indices of this dtype; the largest of them where a size is larger."""
    if any_free(size if isinstance(size, tuple) else (size,)):  # known to the program alone
        return (
            a.numpy.stack([a.asarray(one, dtype) for one in size])
            if isinstance(size, tuple)
            else a.asarray(size, dtype)
        )
    return np.minimum(size, np.iinfo(dtype).max).astype(dtype)


@row
def repeat(a: Arrays, x: Array, repeats: int | tuple[int, ...], axis: int | None) -> Any:
    if not is_free(repeats):
        return sum_wide(a, _repeat, (repeats, axis), x)
    x, at = (x.reshape(-1), 0) if axis is None else (x, axis_in_range("repeat", axis, x.ndim))
    shape = (*x.shape[:at], x.shape[at] * repeats, *x.shape[at + 1 :])
    rows = a.numpy.expand_dims(x, at + 1)
    return a.numpy.broadcast_to(rows, (*x.shape[: at + 1], repeats, *x.shape[at + 1 :])).reshape(shape)


@row
def broadcast_to(a: Arrays, x: Array, shape: tuple[int, ...]) -> Any:
    return a.numpy.broadcast_to(spread(a, x, shape), shape)


@row
def tile(a: Arrays, x: Array, reps: int | tuple[int, ...]) -> Any:
    return sum_wide(a, _tile, reps, x)


def _tile(a: Arrays, reps: int | tuple[int, ...], x: Array) -> Any:
    return a.numpy.tile(x, reps)


def _repeat(a: Arrays, options: tuple[int | tuple[int, ...], int | None], x: Array) -> Any:
    repeats, axis = options
    return a.numpy.repeat(x, repeats if isinstance(repeats, int) else np.array(repeats, "int32"), axis)


@row
def stop_gradient(a: Arrays, x: Array) -> Any:
    return a.stop_gradient(x)


@row
def reshape(a: Arrays, x: Array, shape: int | tuple[int, ...]) -> Any:
    return x.reshape(shape)


@row
def take(a: Arrays, x: Array, indices: Array, axis: int | None) -> Any:
    size = x.size if axis is None else x.shape[axis_in_range("take", axis, x.ndim)]
    return sum_wide(a, _take, axis, x, counted_from_0(a, indices, size))


def _take(a: Arrays, axis: int | None, x: Array, indices: Array) -> Any:
    return a.numpy.take(x, indices, axis)


@row
def take_along_axis(a: Arrays, x: Array, indices: Array, axis: int) -> Any:
    size = x.shape[axis_in_range("take_along_axis", axis, x.ndim)]
    return sum_wide(a, _take_along, axis, x, counted_from_0(a, indices, size))


def _take_along(a: Arrays, axis: int, x: Array, indices: Array) -> Any:
    return a.numpy.take_along_axis(x, indices, axis)


@row
def gather_nd(a: Arrays, x: Array, indices: Array) -> Any:
    depth = indices.shape[-1]
    sizes = tuple(x.shape[:depth])
    places = counted_from_0(a, indices, sizes)
    found = sum_wide(a, _gather, depth, x, places)
    if a.is_concrete(places):
        return found
    inside = a.numpy.all(
        ~is_outside(_sizes_as_indices(a, sizes, places.dtype), places), axis=-1
    )  # JAX takes the nearest element where take gives nan
    return a.numpy.where(inside.reshape((*inside.shape, *[1] * (x.ndim - depth))), found, _out_of_range_result(a, x))


def _gather(a: Arrays, depth: int, x: Any, places: Any) -> Any:
    return x[tuple(places[..., i] for i in range(depth))]


def _out_of_range_result(a: Arrays, x: Array) -> Any:
    """Return the result of `take` for indices out of range: nan, or for integers the lowest or highest number."""
    if x.dtype.kind not in "iub":
        return a.asarray(math.nan, x.dtype)
    low, high = limits(x.dtype.name)
    return a.asarray(low if x.dtype.kind == "i" else high, x.dtype)


@row
def one_hot(a: Arrays, indices: Array, num_classes: int, axis: int, dtype: str | None) -> Any:
    axis = axis_in_range("one_hot", axis, indices.ndim + 1)
    indices = positions(a, indices)
    classes = a.numpy.arange(num_classes, dtype=indices.dtype).reshape((-1, *[1] * (indices.ndim - axis)))
    return a.asarray(a.numpy.expand_dims(indices, axis) == classes, dtype)


@row
def scatter_add(a: Arrays, x: Array, indices: Array, updates: Array) -> Any:
    return _add(a, x, counted_from_0(a, indices, x.shape[0]), updates)


@in_float32
def _add(a: Arrays, x: Array, indices: Array, updates: Array) -> Any:
    return a.scatter_add(x, indices, a.asarray(updates, x.dtype))


@row
@accumulate_wide
def segment_sum(a: Arrays, x: Array, segment_ids: Array, num_segments: int) -> Any:
    places = counted_from_0(a, segment_ids, num_segments)
    return a.scatter_add(a.numpy.zeros((num_segments, *x.shape[1:]), x.dtype), places, x)


@row
def slice_(a: Arrays, x: Array, begin: Array, shape: int | tuple[int, ...]) -> Any:
    return a.slice(x, _clip_begin(a, begin), (shape,) if isinstance(shape, int) else tuple(shape))


@row
def slice_update(a: Arrays, x: Array, begin: Array, updates: Array) -> Any:
    return a.slice_update(x, _clip_begin(a, begin), updates if a.is_array(updates) else a.asarray(updates, x.dtype))


def _clip_begin(a: Arrays, begin: Array) -> Any:
    """Return the begin of a block, moved to 0 if it is negative; JAX moves one that is too large."""
    wide = positions(a, begin)
    return wide if wide.dtype.kind == "u" or a.is_concrete(wide) else a.numpy.maximum(wide, 0)


@row
def split(a: Arrays, x: Array, sections: int | tuple[int, ...], axis: int) -> Any:
    size = x.shape[axis_in_range("split", axis, x.ndim)]
    if isinstance(sections, int) and (sections <= 0 or size % sections):
        raise ShapeError(
            f"split: axis {axis} of x {list(x.shape)} into {sections} parts",
            f"{size} is no multiple of {sections}",
            "give the indices to cut at, such as sections=[2, 5]",
        )
    cuts = [] if isinstance(sections, int) else list(sections)
    if any(cut < 0 or cut > size for cut in cuts) or cuts != sorted(cuts):
        raise ArgumentError(
            f"split: sections = {cuts} along an axis of {size}",
            f"they are the places to cut at, in order, each in [0, {size}]",
            f"sections={[size // 2]}, or the number of parts",
        )
    return list(a.numpy.split(x, sections if isinstance(sections, int) else cuts, axis))


@row
def unstack(a: Arrays, x: Array, axis: int) -> Any:
    axis = axis_in_range("unstack", axis, x.ndim)
    lead = (slice(None),) * axis
    return tuple(a.numpy.asarray(x[(*lead, i)]) for i in range(x.shape[axis]))


@row
def pad(a: Arrays, x: Array, pad_width: object, mode: str, constant_values: float) -> Any:
    known = ("constant", "edge", "reflect", "symmetric", "wrap")
    if mode not in known:
        raise ArgumentError(f"pad: mode = {mode!r}", "there is no such mode", f"one of {', '.join(known)}")
    if not _are_borders(pad_width, x.ndim):
        raise ArgumentError(
            f"pad: pad_width = {pad_width} of x {list(x.shape)}",
            "it is one number, two (before and after), or two for each axis",
            f"pad_width={tuple([(1, 1)] * x.ndim)}",
        )
    if mode != "constant":
        if constant_values != 0:
            raise ArgumentError(
                f"pad: constant_values = {constant_values} with mode={mode!r}",
                "that mode takes its values from the array",
                'mode="constant", or no constant_values',
            )
        if mode == "wrap" and any_free(x.shape):
            return _wrap(a, x, np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)).tolist())
        return a.numpy.pad(x, pad_width, mode=mode)
    value = a.asarray(constant_values)
    check_filling(a, "pad", "constant_values", value, a.canonical_dtype(x.dtype))
    return a.numpy.pad(x, pad_width, constant_values=a.asarray(value, x.dtype))


def _wrap(a: Arrays, x: Array, borders: list[list[int]]) -> Any:
    """Return the array with its end before it and its beginning behind, each axis at least as long as these."""
    for axis, (before, after) in enumerate(borders):
        if before or after:
            size = x.shape[axis]
            all_before: tuple[Any, ...] = (slice(None),) * axis
            ends = [x[(*all_before, slice(size - before, size))]] if before else []
            x = a.numpy.concatenate([*ends, x, *([x[(*all_before, slice(0, after))]] if after else [])], axis=axis)
    return x


def _are_borders(width: Any, ndim: int) -> bool:
    if isinstance(width, int):
        return True
    if all(isinstance(one, int) for one in width):
        return len(width) in (1, 2)
    return len(width) in (1, ndim) and all(isinstance(one, tuple) and len(one) == 2 for one in width)


@row
def append(a: Arrays, x: Array, values: Array, axis: int | None) -> Any:
    if axis is None:
        return a.numpy.concatenate([x.reshape(-1), values.reshape(-1)])
    return a.numpy.concatenate([x, values], axis_in_range("append", axis, x.ndim))


@row
def select(a: Arrays, conditions: Any, choices: Any, default: Any) -> Any:
    if not conditions or len(conditions) != len(choices):
        raise ArgumentError(
            f"select: {len(conditions)} conditions, {len(choices)} choices",
            "every choice has its condition",
            "ops.select([x < 0, x > 1], [-x, x * x], default=0.0)",
        )
    value = a.asarray(default)
    check_filling(a, "select", "default", value, a.canonical_dtype(choices[0].dtype))
    found = a.asarray(value, choices[0].dtype)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        found = a.numpy.where(condition, choice, found)
    return found


@row
def sort(a: Arrays, x: Array, axis: int, descending: bool) -> Any:
    done = a.numpy.sort(x, axis=axis_in_range("sort", axis, x.ndim))
    return a.numpy.flip(done, axis) if descending else done


@row
def argsort(a: Arrays, x: Array, axis: int, descending: bool) -> Any:
    axis = axis_in_range("argsort", axis, x.ndim)
    if not descending:
        return a.numpy.argsort(x, axis=axis, stable=True)
    backwards = a.numpy.argsort(a.numpy.flip(x, axis), axis=axis, stable=True)  # reversed twice: ties stay in order
    return x.shape[axis] - 1 - a.numpy.flip(backwards, axis)


@row
def top_k(a: Arrays, x: Array, k: int) -> Any:
    return a.top_k(x, k)


@row
def searchsorted(a: Arrays, x: Array, values: Array, side: str) -> Any:
    if any_free(x.shape):  # how often to halve is not known
        before = values[..., None] > x if side == "left" else values[..., None] >= x
        return a.numpy.sum(before, axis=-1, dtype="int32")
    return a.numpy.searchsorted(x, values, side=side)


@row
def nonzero(a: Arrays, x: Array) -> Any:
    return tuple(a.numpy.nonzero(x))


@row
def unique(a: Arrays, x: Array) -> Any:
    return a.numpy.unique(x)


@row
def isin(a: Arrays, x: Array, values: Array) -> Any:
    return a.numpy.isin(x, values)


@row
def bincount(a: Arrays, x: Array, length: int | None) -> Any:
    if length is None:
        return a.numpy.bincount(x)
    flat = counted_from_0(a, x, length).reshape(-1)
    return a.scatter_add(a.numpy.zeros((length,), "int32"), flat, a.numpy.ones(flat.shape, "int32"))


@row
def shape(a: Arrays, x: Array) -> tuple[int, ...]:
    return tuple(x.shape)


@row
def ndim(a: Arrays, x: Array) -> int:
    return len(x.shape)


@row
def size(a: Arrays, x: Array) -> int:
    return math.prod(x.shape)


@row
def to_numpy(a: Arrays, x: Array) -> Any:
    return a.to_numpy(x)
