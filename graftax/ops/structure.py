"""Parts of arrays, and arrays in another order, written once over the NumPy namespace of any backend."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graftax.backend.protocol import Arrays
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.free_sizes import any_free, is_free
from graftax.core.typedefs import Array
from graftax.ops.checks import axis_in_range, check_range, register_check
from graftax.ops.functions import row
from graftax.ops.indexing import count_from_0
from graftax.ops.numbers import check_filling
from graftax.ops.wide_sums import spread, sum_wide


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


@register_check("top_k")
def _check_top_k(arrays: Arrays, x: Array, k: int) -> None:
    if not x.ndim or not 0 <= k <= x.shape[-1]:
        raise ArgumentError(
            f"top_k: k = {k}, x {list(x.shape)}",
            "k is at most the size of the last axis",
            f"k <= {x.shape[-1] if x.ndim else 'its size, of an array with an axis'}",
        )


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


@register_check("bincount")
def _check_bincount(arrays: Arrays, x: Array, length: int | None) -> None:
    if length is not None:
        check_range(arrays, "bincount", "x", x, length)
    else:
        check_range(arrays, "bincount", "x", x, np.iinfo(np.int32).max)


@row
def bincount(a: Arrays, x: Array, length: int | None) -> Any:
    if length is None:
        return a.numpy.bincount(x)
    flat = count_from_0(a, x, length).reshape(-1)
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
