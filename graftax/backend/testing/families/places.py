"""Rows by segment, values at places, axes rearranged: sample inputs, and loops of NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graftax.backend.testing.samples import BOOLS, COMPLEX, IMAGE, INTEGERS, LINE, Case, X, Y, case

IDS = np.array([0, 2, 0, 3], "int32")
SEGMENTS = [case(LINE, np.array([0, 2, 0, 1], "int32"), 3), case(LINE, IDS, 4), case(X, np.array([1, 1], "int32"), 2)]

CASES: dict[str, list[Case]] = {
    "segment_mean": [*SEGMENTS],
    "segment_max": [*SEGMENTS, case(INTEGERS, np.array([0, 2], "int32"), 3)],
    "segment_min": [*SEGMENTS, case(INTEGERS, np.array([0, 2], "int32"), 3)],
    "segment_softmax": [*SEGMENTS],
    "scatter": [
        case(np.array([[0, 2], [1, 1], [0, 2]], "int32"), LINE[:3], (2, 4)),
        case(np.array([[3], [0]], "int32"), X, (5, 3)),
    ],
    "scatter_update": [
        case(X, np.array([[0, 2], [1, 1]], "int32"), LINE[:2]),
        case(X, np.array([[1]], "int32"), Y[:1]),
        case(X, np.array([[0, 0]], "int32"), 7.0),
    ],
    "multi_hot": [case(np.array([[0, 2], [1, 1]], "int32"), 4), case([[0, 3]], 4, axis=0, dtype="int32")],
    "in_top_k": [case(np.array([2, 1], "int32"), Y, 1), case(np.array([1, 0], "int32"), Y, 2)],
    "view_as_complex": [case(np.stack([X, Y], -1)), case(INTEGERS[:, :2])],
    "view_as_real": [case(COMPLEX), case(COMPLEX[:2].reshape(2, 1))],
    "append": [case(X, Y), case(X, Y, axis=1)],
    "unravel_index": [case(np.array([5, 0, 3], "int32"), (2, 3))],
    "select": [case([BOOLS, X > 1], [X, Y]), case([BOOLS], [X], 0.5), case([X < 0], [INTEGERS])],
    "rearrange": [
        case(X, "a b -> b a"),
        case(IMAGE, "b (h p) w c -> b h w (p c)", p=2),
        case(IMAGE, "... c -> c (...)"),
        case(X, "a b -> 1 b 1 a"),
    ],
    **{name: [case([X, Y]), case((LINE, LINE))] for name in ("vstack", "hstack", "dstack")},
    "logspace": [case(0.0, 2.0, 5), case(1, 3, 4, endpoint=False, base=2.0)],
    "geomspace": [case(1.0, 100.0, 5), case(-2.0, -16.0, 4)],
    "saturate_cast": [case(X * 200, "int8"), case(INTEGERS, "uint8"), case(X * 1e6, "float16")],
}


def _by_segment(reduce: Callable[..., Any], empty: float) -> Callable[..., Any]:
    def function(x: np.ndarray[Any, Any], ids: np.ndarray[Any, Any], count: int) -> Any:
        rows = [[x[i] for i in range(len(ids)) if ids[i] == segment] for segment in range(count)]
        return np.stack([reduce(row, axis=0) if row else np.full(x.shape[1:], empty) for row in rows]).astype(x.dtype)

    return function


def _extreme(reduce: Callable[..., Any], least: bool) -> Callable[..., Any]:
    def function(x: np.ndarray[Any, Any], ids: np.ndarray[Any, Any], count: int) -> Any:
        if x.dtype.kind == "i":
            return _by_segment(reduce, np.iinfo(x.dtype).min if least else np.iinfo(x.dtype).max)(x, ids, count)
        return _by_segment(reduce, -math.inf if least else math.inf)(x, ids, count)

    return function


def _softmax(x: np.ndarray[Any, Any], ids: object, count: int) -> Any:
    powers = np.exp(x)
    total = _by_segment(np.sum, 0.0)(powers, ids, count)
    return powers / total[ids]


def _scatter(indices: np.ndarray[Any, Any], values: np.ndarray[Any, Any], shape: np.ndarray[Any, Any]) -> Any:
    result = np.zeros(shape, values.dtype)
    for index, value in zip(indices, values, strict=True):
        result[tuple(index)] += value
    return result


def _scatter_update(x: object, indices: np.ndarray[Any, Any], updates: np.ndarray[Any, Any]) -> Any:
    result = np.array(x)
    for i, index in enumerate(indices):
        result[tuple(index)] = updates if np.ndim(updates) == 0 else updates[i]
    return result


def _multi_hot(indices: object, num_classes: int, axis: int = -1, dtype: str = "float32") -> Any:
    return np.moveaxis(np.eye(num_classes)[np.asarray(indices)].max(-2), -1, axis).astype(dtype)


def _rearrange(x: np.ndarray[Any, Any], pattern: str, **sizes: int) -> Any:
    by_pattern: dict[str, Callable[[], Any]] = {
        "a b -> b a": lambda: x.T,
        "b (h p) w c -> b h w (p c)": lambda: np.concatenate([x[:, p::2] for p in range(2)], -1),
        "... c -> c (...)": lambda: x.reshape(-1, x.shape[-1]).T,
        "a b -> 1 b 1 a": lambda: x.T[None, :, None],
    }
    return by_pattern[pattern]()


def _saturate(x: np.ndarray[Any, Any], dtype: str) -> Any:
    ends = np.finfo(dtype) if "float" in dtype else np.iinfo(dtype)
    return np.clip(x.astype("float64"), float(ends.min), float(ends.max)).astype(dtype)


REFERENCES: dict[str, Callable[..., Any]] = {
    "view_as_complex": lambda x: (x[..., 0] + 1j * x[..., 1]).astype("complex64"),
    "view_as_real": lambda x: np.stack([x.real, x.imag], -1),
    "segment_mean": _by_segment(np.mean, 0.0),
    "segment_max": _extreme(np.max, True),
    "segment_min": _extreme(np.min, False),
    "segment_softmax": _softmax,
    "scatter": _scatter,
    "scatter_update": _scatter_update,
    "multi_hot": _multi_hot,
    "in_top_k": lambda targets, p, k: (np.argsort(-p, -1)[..., :k] == np.asarray(targets)[:, None]).any(-1),
    "unravel_index": lambda i, shape: np.unravel_index(i, shape),
    "select": lambda conditions, choices, default=0: np.select(conditions, choices, choices[0].dtype.type(default)),
    "rearrange": _rearrange,
    "logspace": lambda *args, **options: np.logspace(*args, **options).astype("float32"),
    "geomspace": lambda *args, **options: np.geomspace(*args, **options).astype("float32"),
    "saturate_cast": _saturate,
}
DIFFERENTIABLE = (
    "segment_mean segment_max segment_min segment_softmax scatter_update append rearrange vstack hstack dstack"
)
NOT_DIFFERENTIABLE = (
    "view_as_complex view_as_real scatter multi_hot in_top_k unravel_index select logspace geomspace saturate_cast"
)
KINDS = {
    "c": "view_as_real",
    "biuhc": (
        "segment_mean scatter scatter_update append rearrange vstack hstack dstack select logspace "
        "geomspace multi_hot unravel_index"
    ),
    "biuh": "view_as_complex segment_max segment_min segment_softmax saturate_cast in_top_k",
}
