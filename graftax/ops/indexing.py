"""Elements, slices and blocks of arrays at indices, written once over the NumPy namespace of any backend."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from graftax.backend.host import limits
from graftax.backend.protocol import Arrays
from graftax.core.errors import GraftaxError, IndexRangeError, ShapeError
from graftax.core.free_sizes import any_free
from graftax.core.typedefs import Array
from graftax.ops.checks import at_hand, axis_in_range, check_places, check_range, is_outside, register_check
from graftax.ops.functions import row
from graftax.ops.wide_sums import sum_wide


def positions(a: Arrays, indices: Array) -> Any:
    """Return indices wide enough for any axis: JAX compares them with its size in their own dtype."""
    return a.asarray(indices, "int32") if indices.dtype.itemsize < 4 else indices


def count_from_0(a: Arrays, indices: Array, size: Any) -> Any:
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
def take(a: Arrays, x: Array, indices: Array, axis: int | None) -> Any:
    size = x.size if axis is None else x.shape[axis_in_range("take", axis, x.ndim)]
    return sum_wide(a, _take, axis, x, count_from_0(a, indices, size))


def _take(a: Arrays, axis: int | None, x: Array, indices: Array) -> Any:
    if 0 in indices.shape:  # an empty part of x, on which a loss depends as on any other
        axis = axis if axis is None else axis % x.ndim
        before, behind = ((), ()) if axis is None else (x.shape[:axis], x.shape[axis + 1 :])
        rows = a.numpy.reshape(x, (-1,)) if axis is None else a.numpy.moveaxis(x, axis, 0)
        return a.numpy.reshape(rows[:0], (*before, *indices.shape, *behind))
    return a.numpy.take(x, indices, axis)


@row
def take_along_axis(a: Arrays, x: Array, indices: Array, axis: int) -> Any:
    size = x.shape[axis_in_range("take_along_axis", axis, x.ndim)]
    return sum_wide(a, _take_along, axis, x, count_from_0(a, indices, size))


def _take_along(a: Arrays, axis: int, x: Array, indices: Array) -> Any:
    return a.numpy.take_along_axis(x, indices, axis)


@row
def gather_nd(a: Arrays, x: Array, indices: Array) -> Any:
    depth = indices.shape[-1]
    sizes = tuple(x.shape[:depth])
    places = count_from_0(a, indices, sizes)
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
def slice_(a: Arrays, x: Array, begin: Array, shape: int | tuple[int, ...]) -> Any:
    return a.slice(x, _clip_begin(a, begin), (shape,) if isinstance(shape, int) else tuple(shape))


@row
def slice_update(a: Arrays, x: Array, begin: Array, updates: Array) -> Any:
    return a.slice_update(x, _clip_begin(a, begin), updates if a.is_array(updates) else a.asarray(updates, x.dtype))


def _clip_begin(a: Arrays, begin: Array) -> Any:
    """Return the begin of a block, moved to 0 if it is negative; JAX moves one that is too large."""
    wide = positions(a, begin)
    return wide if wide.dtype.kind == "u" or a.is_concrete(wide) else a.numpy.maximum(wide, 0)


# --- checks of indices ------------------------------------------------------------------------------------------------


@register_check("take")
def _check_take(arrays: Arrays, x: Array, indices: Array, axis: int | None) -> None:
    size = x.size if axis is None else x.shape[axis_in_range("take", axis, x.ndim)]
    check_range(arrays, "take", "indices", indices, size)


@register_check("take_along_axis")
def _check_take_along_axis(arrays: Arrays, x: Array, indices: Array, axis: int) -> None:
    axis = axis_in_range("take_along_axis", axis, x.ndim)
    if indices.ndim != x.ndim:
        raise ShapeError(
            f"take_along_axis: x {list(x.shape)}, indices {list(indices.shape)}",
            "both need the same number of axes",
            "ops.expand_dims(indices, axis)",
        )
    check_range(arrays, "take_along_axis", "indices", indices, x.shape[axis])


@register_check("gather_nd")
def _check_gather_nd(arrays: Arrays, x: Array, indices: Array) -> None:
    check_places(arrays, "gather_nd", tuple(x.shape), indices)


@register_check("one_hot")
def _check_one_hot(arrays: Arrays, indices: Array, num_classes: int, axis: int, dtype: str) -> None:
    check_range(arrays, "one_hot", "indices", indices, num_classes)


@register_check("slice")
def _check_slice(arrays: Arrays, x: Array, begin: Array, shape: Any) -> None:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    _check_block(arrays, "slice", x, begin, sizes)


@register_check("slice_update")
def _check_slice_update(arrays: Arrays, x: Array, begin: Array, updates: Array) -> None:
    _check_block(arrays, "slice_update", x, begin, tuple(getattr(updates, "shape", ())))


def _check_block(arrays: Arrays, op: str, x: Array, begin: Array, sizes: tuple[int, ...]) -> None:
    have = tuple(x.shape)
    if begin.dtype.kind not in "iu":
        check_range(arrays, op, "begin", begin, 0)
    if tuple(begin.shape) != (len(have),) or len(sizes) != len(have) or any(map(_is_larger, sizes, have)):
        raise ShapeError(
            f"{op}: x {list(have)}, begin {list(begin.shape)}, a block of {list(sizes)}",
            "begin and block need one number for each axis of x, and the block must fit in x",
            f"begin of shape [{len(have)}], a block of at most {list(have)}",
        )
    if any_free((*have, *sizes)):  # they are known when the program runs
        return
    explain = partial(_find_outside, op, have, sizes)
    room = np.array(have, "int32") - np.array(sizes, "int32") + 1
    if at_hand(arrays, explain, partial(is_outside, room), begin) and (error := explain(arrays.to_numpy(begin))):
        raise error


def _is_larger(size: int, limit: int) -> bool:
    return not any_free((size, limit)) and size > limit


def _find_outside(op: str, have: tuple[int, ...], sizes: tuple[int, ...], host: Any) -> GraftaxError | None:
    for axis, (first, size, limit) in enumerate(zip(host.tolist(), sizes, have, strict=True)):
        if not 0 <= first <= limit - size:
            return IndexRangeError(
                f"{op}: begin[{axis}] = {first} is not in [0, {limit - size + 1})",
                f"a block of {size} would leave axis {axis}, which has {limit}",
                "ops.clip(begin, 0, ...) if the nearest block will do",
            )
    return None
