"""Reductions of rows by segment ids, written once over the NumPy namespace of any backend."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from graftax.backend.host import limits
from graftax.backend.protocol import Arrays
from graftax.core.errors import ShapeError
from graftax.core.typedefs import Array
from graftax.ops.checks import CHECKS, check_range
from graftax.ops.functions import accumulate_wide, in_float32, require_real, row
from graftax.ops.indexing import count_from_0
from graftax.ops.reductions import to_inexact


def _check(op: str, arrays: Arrays, x: Array, segment_ids: Array, num_segments: int) -> None:
    if not x.ndim or tuple(segment_ids.shape) != tuple(x.shape[:1]):
        raise ShapeError(
            f"{op}: x {list(x.shape)}, segment_ids {list(segment_ids.shape)}",
            "every row of x needs one segment id",
            f"segment_ids of shape {list(x.shape[:1])}",
        )
    check_range(arrays, op, "segment_ids", segment_ids, num_segments)


for _name in ("sum", "mean", "max", "min", "softmax"):
    CHECKS[f"segment_{_name}"] = partial(_check, f"segment_{_name}")


@row
@accumulate_wide
def segment_sum(a: Arrays, x: Array, segment_ids: Array, num_segments: int) -> Any:
    places = count_from_0(a, segment_ids, num_segments)
    return a.scatter_add(a.numpy.zeros((num_segments, *x.shape[1:]), x.dtype), places, x)


@row
@in_float32
def segment_mean(a: Arrays, x: Array, segment_ids: Array, num_segments: int) -> Any:
    x = to_inexact(a, x)
    count = segment_sum(a, a.numpy.ones(segment_ids.shape, "int32"), segment_ids, num_segments)
    count = a.asarray(a.numpy.maximum(count, 1), a.numpy.abs(x).dtype).reshape((-1, *[1] * (x.ndim - 1)))
    return segment_sum(a, x, segment_ids, num_segments) / count


@row
def segment_max(a: Arrays, x: Array, segment_ids: Array, num_segments: int) -> Any:
    return _extreme(a, x, segment_ids, num_segments, "max")


@row
def segment_min(a: Arrays, x: Array, segment_ids: Array, num_segments: int) -> Any:
    return _extreme(a, x, segment_ids, num_segments, "min")


def _extreme(a: Arrays, x: Array, segment_ids: Array, num_segments: int, reduction: str) -> Any:
    if x.dtype.kind in "iub":
        neutral: float = limits(x.dtype.name)[reduction == "min"]
    else:
        neutral = math.inf if reduction == "min" else -math.inf
    start = a.numpy.full((num_segments, *x.shape[1:]), neutral, x.dtype)
    return a.scatter_reduce(start, count_from_0(a, segment_ids, num_segments), x, reduction)


@row
@require_real
@in_float32
def segment_softmax(a: Arrays, x: Array, segment_ids: Array, num_segments: int) -> Any:
    x, ids = to_inexact(a, x), count_from_0(a, segment_ids, num_segments)
    highest: Any = a.stop_gradient(_extreme(a, a.stop_gradient(x), ids, num_segments, "max"))
    highest = a.numpy.where(highest == -math.inf, 0, highest)
    powers = a.numpy.exp(x - a.numpy.take(highest, ids, 0))
    total = a.numpy.take(segment_sum(a, powers, ids, num_segments), ids, 0)
    return powers / a.numpy.where(total == 0, 1, total)
