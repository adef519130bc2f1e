"""Every op once more, written plainly in NumPy: what the conformance tests compare with."""

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from graftax.backend.testing.families.every import FAMILIES


def _softmax(x: Any, axis: Any = -1) -> Any:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _log_sum_exp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    m = x.max(axis=axis, keepdims=True)
    total = np.log(np.exp(x - m).sum(axis=axis, keepdims=True)) + m
    return total if keepdims else total.squeeze(axis)


def _borders(sizes: Any, window: Any, strides: Any, padding: object) -> Any:
    if padding == "valid":
        return [(0, 0)] * len(window)
    if padding == "causal":
        return [(w - 1, 0) for w in window]
    if padding == "same":
        total = [max((-(-n // s) - 1) * s + w - n, 0) for n, w, s in zip(sizes, window, strides, strict=True)]
        return [(t // 2, t - t // 2) for t in total]
    return padding


def _visit(x: Any, window: Any, strides: Any, padding: object, value: float, visit: Callable[[Any], Any]) -> Any:
    """Apply a function to every window, one after the other."""
    pads = _borders(x.shape[1:-1], window, strides, padding)
    x = np.pad(x, [(0, 0), *pads, (0, 0)], constant_values=value)
    counts = [(n - w) // s + 1 for n, w, s in zip(x.shape[1:-1], window, strides, strict=True)]
    cells = {}
    for place in np.ndindex(*counts):
        region = tuple(slice(p * s, p * s + w) for p, s, w in zip(place, strides, window, strict=True))
        cells[place] = visit(x[(slice(None), *region)])
    rows = [cells[place] for place in np.ndindex(*counts)]
    return np.stack(rows, 1).reshape(x.shape[0], *counts, -1)


def _for_each_axis(value: Any, space: int) -> Any:
    return (value,) * space if isinstance(value, int) else tuple(value)


def _conv(x: Any, kernel: Any, strides: Any = 1, padding: Any = "valid", dilation: Any = 1, groups: int = 1) -> Any:
    space = x.ndim - 2
    dilation = _for_each_axis(dilation, space)
    full = np.zeros([(n - 1) * d + 1 for n, d in zip(kernel.shape, dilation, strict=False)] + list(kernel.shape[-2:]))
    full[tuple(slice(None, None, d) for d in dilation)] = kernel
    part, out = kernel.shape[-2], kernel.shape[-1] // groups

    def visit(seen: np.ndarray[Any, Any]) -> Any:
        axes = (list(range(1, space + 2)), list(range(space + 1)))
        return np.concatenate(
            [
                np.tensordot(seen[..., g * part : (g + 1) * part], full[..., g * out : (g + 1) * out], axes)
                for g in range(groups)
            ],
            -1,
        )

    return _visit(x, full.shape[:-2], _for_each_axis(strides, space), padding, 0, visit)


def _conv_transpose(x: Any, kernel: Any, strides: Any = 1, padding: Any = "valid", dilation: Any = 1) -> Any:
    """Stamp the kernel onto the output for every input value."""
    space = x.ndim - 2
    strides, dilation = _for_each_axis(strides, space), _for_each_axis(dilation, space)
    window = [(n - 1) * d + 1 for n, d in zip(kernel.shape, dilation, strict=False)]
    sizes = [(n - 1) * s + max(w, s) for n, s, w in zip(x.shape[1:-1], strides, window, strict=True)]
    out = np.zeros((x.shape[0], *sizes, kernel.shape[-1]))
    for place in np.ndindex(*x.shape[1:-1]):
        for tap in np.ndindex(*kernel.shape[:-2]):
            at = tuple(p * s + t * d for p, s, t, d in zip(place, strides, tap, dilation, strict=True))
            out[(slice(None), *at)] += x[(slice(None), *place)] @ kernel[tap]
    if padding == "same":
        total = [max(w - s, 0) for w, s in zip(window, strides, strict=True)]
        padding = [(t // 2, t - t // 2) for t in total]
    if padding == "valid":
        padding = [(0, 0)] * space
    crop = [slice(low, n - high) for (low, high), n in zip(padding, sizes, strict=True)]
    return out[(slice(None), *crop)]


def _pool(reduce: Callable[..., Any], value: float) -> Callable[..., Any]:
    def pool(x: Any, window: object, strides: object = None, padding: object = "valid") -> Any:
        space = x.ndim - 2
        window = _for_each_axis(window, space)
        strides = window if strides is None else _for_each_axis(strides, space)
        return _visit(x, window, strides, padding, value, lambda seen: reduce(seen, axis=tuple(range(1, space + 1))))

    return pool


def _scatter_add(x: object, indices: np.ndarray[Any, Any], updates: np.ndarray[Any, Any]) -> Any:
    result = np.array(x)
    for i, index in enumerate(np.ravel(indices)):
        result[index] += updates if np.ndim(updates) == 0 else updates[i]
    return result


def _one_hot(indices: object, num_classes: int, axis: int = -1, dtype: str = "float32") -> Any:
    return np.moveaxis(np.eye(num_classes, dtype=dtype)[np.asarray(indices)], -1, axis)


def _slice_update(x: object, begin: np.ndarray[Any, Any], updates: np.ndarray[Any, Any]) -> Any:
    result = np.array(x)
    result[tuple(slice(b, b + n) for b, n in zip(begin, updates.shape, strict=True))] = updates
    return result


def _argsort(x: np.ndarray[Any, Any], axis: int = -1, descending: bool = False) -> Any:
    return np.argsort(-x if descending else x, axis=axis, stable=True)


def _norm(
    x: np.ndarray[Any, Any], ord: float = 2, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> Any:
    if ord == math.inf:
        return np.abs(x).max(axis=axis, keepdims=keepdims)
    return (np.abs(x) ** ord).sum(axis=axis, keepdims=keepdims) ** (1 / ord)


def _clip(x: Any, min: Any = None, max: Any = None) -> Any:
    raised = x if min is None else np.maximum(x, min)
    return (raised if max is None else np.minimum(raised, max)).astype(x.dtype)


def _attention(
    q: Any, k: Any, v: Any, mask: Any = None, bias: Any = 0, scale: Any = None, is_causal: Any = False
) -> Any:
    """Attend with one query of one head after the other."""
    out = np.zeros((*q.shape[:3], v.shape[3]), q.dtype)
    shape = (q.shape[0], q.shape[2], q.shape[1], k.shape[1])
    mask, bias = np.broadcast_to(True if mask is None else mask, shape), np.broadcast_to(bias, shape)
    scale = 1 / math.sqrt(q.shape[3]) if scale is None else scale
    for b, t, h in np.ndindex(*q.shape[:3]):
        shared = h * k.shape[2] // q.shape[2]
        seen = [s for s in range(k.shape[1]) if mask[b, h, t, s] and (not is_causal or s <= t)]
        if seen:
            scores = np.exp([q[b, t, h] @ k[b, s, shared] * scale + bias[b, h, t, s] for s in seen])
            out[b, t, h] = sum(w * v[b, s, shared] for w, s in zip(scores / scores.sum(), seen, strict=True))
    return out


REFERENCES: dict[str, Callable[..., Any]] = {
    "one_hot": _one_hot,
    "softmax": _softmax,
    "log_softmax": lambda x, axis=-1: x - _log_sum_exp(x, axis, True),
    "logsumexp": _log_sum_exp,
    "norm": _norm,
    "moments": lambda x, axis=None, keepdims=False: (
        np.mean(x, axis=axis, keepdims=keepdims),
        np.var(x, axis=axis, keepdims=keepdims),
    ),
    "standardize": lambda x, axis=-1, epsilon=1e-3: (
        (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + epsilon)
    ),
    "dot_product_attention": _attention,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "log_sigmoid": lambda x: -np.log1p(np.exp(-x)),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": np.vectorize(math.erf),
    "stop_gradient": lambda x: x,
    "divide_no_nan": lambda x, y: np.where(y == 0, 0, x / np.where(y == 0, 1, y)),
    "xlogy": lambda x, y: np.where(x == 0, 0, x * np.log(np.where(x == 0, 1, y))),
    "squared_difference": lambda x, y: (x - y) ** 2,
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "max_pool": _pool(np.max, -np.inf),
    "sum_pool": _pool(np.sum, 0),
    "cast": lambda x, dtype: x.astype(dtype),
    "gather_nd": lambda x, indices: x[tuple(np.moveaxis(np.array(indices), -1, 0))],
    "scatter_add": _scatter_add,
    "segment_sum": lambda x, ids, n: _scatter_add(np.zeros((n, *x.shape[1:]), x.dtype), ids, x),
    "slice": lambda x, begin, shape: x[
        tuple(slice(b, b + n) for b, n in zip(begin, np.atleast_1d(shape), strict=True))
    ],
    "slice_update": _slice_update,
    "unstack": lambda x, axis=0: tuple(np.moveaxis(x, axis, 0)),
    "pad": lambda x, w, mode="constant", constant_values=0: (
        np.pad(x, w, constant_values=constant_values) if mode == "constant" else cast(Any, np.pad)(x, w, mode)
    ),
    "sort": lambda x, axis=-1, descending=False: np.flip(np.sort(x, axis), axis) if descending else np.sort(x, axis),
    "argsort": _argsort,
    "top_k": lambda x, k: (np.take_along_axis(x, _argsort(x, -1, True)[..., :k], -1), _argsort(x, -1, True)[..., :k]),
    "bincount": lambda x, length=None: np.bincount(x, minlength=length or 0),
    "linspace": lambda a, b, n=50, endpoint=True: np.linspace(a, b, n, endpoint=endpoint, dtype="float32"),
    "eye": lambda n, m=None, k=0, dtype="float32": np.eye(n, m, k, dtype=dtype),
    "identity": lambda n: np.eye(n, dtype="float32"),
    "tri": lambda n, m=None, k=0: np.tri(n, m, k, dtype="float32"),
    "zeros": lambda shape, dtype="float32": np.zeros(shape, dtype),
    "ones": lambda shape, dtype="float32": np.ones(shape, dtype),
    "to_numpy": lambda x: x,
    "squeeze": lambda x, axis=None: np.squeeze(x, axis),
    "trace": lambda x, offset=0, axis1=0, axis2=1: np.trace(x, offset, axis1, axis2),
    "clip": _clip,
}
for _family in FAMILIES:
    REFERENCES.update(_family.REFERENCES)
