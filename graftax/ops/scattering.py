"""Values put at places, and places found, written once over the NumPy namespace of any backend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graftax.backend.protocol import Arrays
from graftax.core.errors import ShapeError
from graftax.core.free_sizes import any_free
from graftax.core.typedefs import Array
from graftax.ops.checks import axis_in_range, check_places, check_range, is_outside, register_check
from graftax.ops.functions import accumulate_wide, in_float32, row
from graftax.ops.indexing import count_from_0, one_hot, positions


@register_check("scatter")
def _check_scatter(arrays: Arrays, indices: Array, values: Array, shape: int | tuple[int, ...]) -> None:
    _check(arrays, "scatter", _sizes(shape), indices, "values", values)


@register_check("scatter_update")
def _check_update(arrays: Arrays, x: Array, indices: Array, updates: Array) -> None:
    _check(arrays, "scatter_update", tuple(x.shape), indices, "updates", updates)


def _sizes(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    return tuple(shape) if isinstance(shape, tuple | list) else (shape,)


def _check(arrays: Arrays, op: str, shape: tuple[int, ...], indices: Array, name: str, values: Array) -> None:
    check_places(arrays, op, shape, indices)
    wanted = (*indices.shape[:-1], *shape[indices.shape[-1] :])
    if tuple(getattr(values, "shape", ())) not in ((), wanted):
        raise ShapeError(
            f"{op}: indices {list(indices.shape)} into {list(shape)}, {name} {list(values.shape)}",
            f"{name} need the shape {list(wanted)}: one element or slice for each index tuple",
            f"ops.broadcast_to({name}, {wanted})",
        )


def _tuple(a: Arrays, indices: Array, shape: tuple[int, ...]) -> tuple[Any, ...]:
    indices = count_from_0(a, indices, tuple(shape[: indices.shape[-1]]))
    return tuple(indices[..., i] for i in range(indices.shape[-1]))


@register_check("scatter_add")
def _check_scatter_add(arrays: Arrays, x: Array, indices: Array, updates: Array) -> None:
    axis_in_range("scatter_add", 0, x.ndim)
    check_range(arrays, "scatter_add", "indices", indices, x.shape[0])
    wanted = (*indices.shape, *x.shape[1:])
    if tuple(getattr(updates, "shape", ())) not in ((), wanted):
        raise ShapeError(
            f"scatter_add: x {list(x.shape)}, indices {list(indices.shape)}, updates {list(updates.shape)}",
            f"updates need the shape {list(wanted)}: one row of x for each index",
            f"ops.broadcast_to(updates, {wanted})",
        )


@row
def scatter_add(a: Arrays, x: Array, indices: Array, updates: Array) -> Any:
    return _add(a, x, count_from_0(a, indices, x.shape[0]), updates)


@in_float32
def _add(a: Arrays, x: Array, indices: Array, updates: Array) -> Any:
    return a.scatter_add(x, indices, a.asarray(updates, x.dtype))


@row
def scatter(a: Arrays, indices: Array, values: Array, shape: int | tuple[int, ...]) -> Any:
    return _scatter(a, values, indices, _sizes(shape))


@accumulate_wide
def _scatter(a: Arrays, values: Array, indices: Array, shape: tuple[int, ...]) -> Any:
    depth = indices.shape[-1]
    places, strides = positions(a, indices), [math.prod(shape[i + 1 : depth]) for i in range(depth)]
    inside = a.numpy.all(~is_outside(_numbers(a, shape[:depth]), places), axis=-1)
    flat = a.numpy.sum(places * _numbers(a, strides), axis=-1, dtype="int32")
    flat = a.numpy.where(inside, flat, math.prod(shape[:depth]))  # one row more takes what lies outside
    rows = a.numpy.broadcast_to(values, (*indices.shape[:-1], *shape[depth:]))
    start = a.numpy.zeros((math.prod(shape[:depth]) + 1, *shape[depth:]), values.dtype)
    return a.scatter_add(start, flat, rows)[:-1].reshape(shape)


def _numbers(a: Arrays, sizes: Sequence[int]) -> Any:
    """Return sizes as integers, those that are free as values of the program."""
    return a.asarray(list(sizes), "int32") if any_free(sizes) else np.array(sizes, "int32")


@row
def scatter_update(a: Arrays, x: Array, indices: Array, updates: Array) -> Any:
    return a.set_at(
        x, _tuple(a, indices, tuple(x.shape)), updates if a.is_array(updates) else a.asarray(updates, x.dtype)
    )


@register_check("multi_hot")
def _check_multi_hot(arrays: Arrays, indices: Array, num_classes: int, axis: int, dtype: str) -> None:
    if not indices.ndim:
        raise ShapeError("multi_hot: indices []", "their last axis holds the classes of one row", "ops.one_hot")
    check_range(arrays, "multi_hot", "indices", indices, num_classes)


@row
def multi_hot(a: Arrays, indices: Array, num_classes: int, axis: int, dtype: str) -> Any:
    found = a.numpy.any(one_hot(a, indices, num_classes, -1, "bool"), axis=-2)
    return a.asarray(a.numpy.moveaxis(found, -1, axis), dtype)


@register_check("in_top_k")
def _check_in_top_k(arrays: Arrays, targets: Array, predictions: Array, k: int) -> None:
    if not predictions.ndim or targets.shape != predictions.shape[:-1] or k > predictions.shape[-1]:
        raise ShapeError(
            f"in_top_k: targets {list(targets.shape)}, predictions {list(predictions.shape)}, k = {k}",
            "there is one target for each row of predictions, and k is at most their number",
            f"targets of shape {list(predictions.shape[:-1])}",
        )
    check_range(arrays, "in_top_k", "targets", targets, predictions.shape[-1])


@row
def in_top_k(a: Arrays, targets: Array, predictions: Array, k: int) -> Any:
    place = positions(a, targets)[..., None]
    mine = a.numpy.take_along_axis(predictions, a.numpy.clip(place, 0, predictions.shape[-1] - 1), -1)
    better = a.numpy.sum(a.asarray(predictions > mine, "int32"), axis=-1)
    finite = a.numpy.isfinite(mine[..., 0]) if predictions.dtype.kind not in "iub" else True
    known = ~is_outside(predictions.shape[-1], place[..., 0])
    return a.numpy.logical_and(better < k, a.numpy.logical_and(finite, known))


@register_check("unravel_index")
def _check_unravel(arrays: Arrays, indices: Array, shape: int | tuple[int, ...]) -> None:
    check_range(arrays, "unravel_index", "indices", indices, math.prod(_sizes(shape)))


@row
def unravel_index(a: Arrays, indices: Array, shape: int | tuple[int, ...]) -> Any:
    rest, found = positions(a, indices), []
    beyond = is_outside(math.prod(_sizes(shape)), rest)  # in compiled code: then no axis has such an index
    for size in reversed(_sizes(shape)):
        found.append(a.numpy.where(beyond, size, rest % max(size, 1)))
        rest = rest // max(size, 1)
    return tuple(reversed(found))
