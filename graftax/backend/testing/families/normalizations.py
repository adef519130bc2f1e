"""Normalisations, pooling, convolutions by channel and aligned sequences: sample inputs, and loops of NumPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graftax.backend.testing.samples import IMAGE, SIGNAL, Case, X, case

EACH = np.array([0.5, 2.0, -1.0], "float32")
DEPTHWISE = np.cos(np.arange(3 * 2 * 3 * 2, dtype="float32")).reshape(3, 2, 3, 2)
POINTWISE = np.sin(np.arange(6 * 2, dtype="float32")).reshape(1, 1, 6, 2)
LABELS = np.array([[1, 2], [1, 1], [2, 0]], "int32")
LOGITS = np.sin(np.arange(3 * 4 * 3, dtype="float32") * 1.7).reshape(3, 4, 3)
LENGTHS = np.array([2, 2, 1], "int32"), np.array([4, 3, 4], "int32")

CASES: dict[str, list[Case]] = {
    "normalize": [case(X), case(X, axis=0), case(IMAGE, (1, 2), ord=1), case(np.zeros((2, 2), "float32"))],
    "layer_normalization": [case(X, EACH, EACH[::-1].copy()), case(X), case(X, X, axis=None, epsilon=0.5)],
    "rms_normalization": [case(X, EACH), case(X, axis=0), case(X)],
    "batch_normalization": [
        case(X, EACH, EACH**2, -1, EACH + 1, EACH * 2),
        case(X, X[:, 0], X[:, 1] ** 2, axis=0, epsilon=0.1),
    ],
    "average_pool": [case(IMAGE, 2), case(IMAGE, (3, 2), strides=2, padding="same"), case(SIGNAL, 3, 1, "same")],
    "adaptive_average_pool": [case(IMAGE, (3, 2)), case(SIGNAL, 7), case(SIGNAL, 3)],
    "adaptive_max_pool": [case(IMAGE, (3, 2)), case(SIGNAL, 9)],
    "depthwise_conv": [case(IMAGE, DEPTHWISE), case(IMAGE, DEPTHWISE, 2, "same")],
    "separable_conv": [case(IMAGE, DEPTHWISE, POINTWISE)],
    "space_to_depth": [case(IMAGE[:, :, :4], 2)],
    "depth_to_space": [case(IMAGE.reshape(2, 3, 5, 6)[..., :4], 2)],
    "ctc_loss": [
        case(LABELS, LOGITS, *LENGTHS),
        case(LABELS[:2], LOGITS[:2]),
        case(np.array([[0, 1], [1, 1], [0, 0]], "int32"), LOGITS, *LENGTHS, blank=2),
        case(np.array([[1, 1]], "int32"), LOGITS[:1, :2]),
        case(LABELS[:2], LOGITS[:2], np.array([0, 1], "int32"), np.array([0, 0], "int32")),
    ],
    "ctc_decode": [
        case(LOGITS, LENGTHS[1]),
        case(LOGITS, blank=2),
        case(LOGITS, LENGTHS[1], beam_width=40, top_paths=3),
        case(LOGITS, blank=2, beam_width=31),
        case(LOGITS[:, :1], beam_width=9, top_paths=6),
        case(LOGITS, np.array([0, 1, 4], "int32"), beam_width=40, top_paths=2),
    ],
}


def _ctc(labels: Any, logits: Any, label_lengths: Any = None, logit_lengths: Any = None, blank: int = 0) -> Any:
    """Add up the probability of every path that reads as the labels."""
    found = []
    for i, row in enumerate(logits):
        steps = row.shape[0] if logit_lengths is None else logit_lengths[i]
        wanted = list(labels[i] if label_lengths is None else labels[i][: label_lengths[i]])
        shares = np.exp(row) / np.exp(row).sum(-1, keepdims=True)
        total = 0.0
        for path in itertools.product(range(row.shape[1]), repeat=steps):
            read = [c for k, c in enumerate(path) if c != blank and (k == 0 or c != path[k - 1])]
            if read == wanted:
                total += math.prod(shares[k, c] for k, c in enumerate(path))
        found.append(-math.log(total) if total else math.inf)
    return np.array(found, logits.dtype)


def _ctc_decode(
    logits: Any, logit_lengths: Any = None, blank: int = 0, beam_width: int | None = None, top_paths: int = 1
) -> Any:
    """Read every path; the best one counts alone, or the probabilities of all that read alike are added up."""
    rows, most = logits.shape[:2]
    labels, counts = np.full((rows, top_paths, most), -1, "int32"), np.zeros((rows, top_paths), "int32")
    found = np.full((rows, top_paths), -math.inf, logits.dtype)
    for i, row in enumerate(logits.astype("float64")):
        steps = most if logit_lengths is None else logit_lengths[i]
        shares = np.exp(row) / np.exp(row).sum(-1, keepdims=True)
        totals: dict[tuple[int, ...], float] = {}
        for path in itertools.product(range(row.shape[1]), repeat=steps):
            read = tuple(c for k, c in enumerate(path) if c != blank and (k == 0 or c != path[k - 1]))
            share = math.prod(shares[k, c] for k, c in enumerate(path))
            totals[read] = max(totals.get(read, 0), share) if beam_width is None else totals.get(read, 0) + share
        likeliest = sorted(totals.items(), key=lambda item: -item[1])[:top_paths]
        for place, (read, total) in enumerate(likeliest):
            labels[i, place, : len(read)], counts[i, place], found[i, place] = read, len(read), math.log(total)
    return labels, counts, found


def _pool(x: Any, window: Any, strides: Any = None, padding: str = "valid") -> Any:
    space = x.ndim - 2
    window = (window,) * space if isinstance(window, int) else window
    strides = window if strides is None else (strides,) * space if isinstance(strides, int) else strides
    outs, starts = [], []
    for n, w, s in zip(x.shape[1:-1], window, strides, strict=True):
        out = -(-n // s) if padding == "same" else (n - w) // s + 1
        before = max((out - 1) * s + w - n, 0) // 2 if padding == "same" else 0
        outs.append(out)
        starts.append([(max(i * s - before, 0), min(i * s - before + w, n)) for i in range(out)])
    result = np.zeros((x.shape[0], *outs, x.shape[-1]), x.dtype)
    for place in np.ndindex(*outs):
        region = tuple(slice(*starts[axis][i]) for axis, i in enumerate(place))
        result[(slice(None), *place)] = x[(slice(None), *region)].mean(tuple(range(1, space + 1)))
    return result


def _adaptive(reduce: Callable[..., Any]) -> Callable[..., Any]:
    def function(x: Any, size: Any) -> Any:
        space = x.ndim - 2
        sizes = (size,) * space if isinstance(size, int) else size
        result = np.zeros((x.shape[0], *sizes, x.shape[-1]), x.dtype)
        for place in np.ndindex(*sizes):
            ends = [
                slice(i * n // out, math.ceil((i + 1) * n / out))
                for i, n, out in zip(place, x.shape[1:-1], sizes, strict=True)
            ]
            result[(slice(None), *place)] = reduce(x[(slice(None), *ends)], axis=tuple(range(1, space + 1)))
        return result

    return function


def _depthwise(x: np.ndarray[Any, Any], kernel: np.ndarray[Any, Any], stride: int = 1, padding: str = "valid") -> Any:
    height, width = kernel.shape[:2]
    if padding == "same":
        totals = [
            max((-(-n // stride) - 1) * stride + w - n, 0) for n, w in zip(x.shape[1:3], (height, width), strict=True)
        ]
        x = np.pad(x, [(0, 0), *((t // 2, t - t // 2) for t in totals), (0, 0)])
    rows = range(0, x.shape[1] - height + 1, stride)
    columns = range(0, x.shape[2] - width + 1, stride)
    out = np.zeros((x.shape[0], len(rows), len(columns), kernel.shape[2] * kernel.shape[3]), x.dtype)
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            seen = x[:, row : row + height, column : column + width]
            out[:, i, j] = (seen[..., None] * kernel).sum((1, 2)).reshape(x.shape[0], -1)
    return out


def _space_to_depth(x: np.ndarray[Any, Any], block: int) -> Any:
    return np.concatenate([x[:, i::block, j::block] for i in range(block) for j in range(block)], -1)


def _depth_to_space(x: np.ndarray[Any, Any], block: int) -> Any:
    n, h, w, c = x.shape
    out = np.zeros((n, h * block, w * block, c // block**2), x.dtype)
    for k, part in enumerate(np.split(x, block * block, -1)):
        out[:, k // block :: block, k % block :: block] = part
    return out


def _layer_norm(x: Any, gamma: Any = 1, beta: Any = 0, axis: Any = -1, epsilon: float = 1e-3) -> Any:
    return gamma * (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + epsilon) + beta


def _batch_norm(
    x: Any, mean: Any, variance: Any, axis: int = -1, offset: Any = 0, scale: Any = 1, epsilon: float = 1e-3
) -> Any:
    moved = np.moveaxis(x, axis, -1)
    return np.moveaxis(scale * (moved - mean) / np.sqrt(variance + epsilon) + offset, -1, axis)


def _normalize(x: np.ndarray[Any, Any], axis: int | None = -1, ord: float = 2, epsilon: float = 1e-12) -> Any:
    return x / np.maximum((np.abs(x) ** ord).sum(axis, keepdims=True) ** (1 / ord), epsilon)


REFERENCES: dict[str, Callable[..., Any]] = {
    "normalize": _normalize,
    "layer_normalization": _layer_norm,
    "rms_normalization": lambda x, scale=1, axis=-1, epsilon=1e-6: (
        scale * x / np.sqrt((x * x).mean(axis, keepdims=True) + epsilon)
    ),
    "batch_normalization": _batch_norm,
    "average_pool": _pool,
    "adaptive_average_pool": _adaptive(np.mean),
    "adaptive_max_pool": _adaptive(np.max),
    "depthwise_conv": _depthwise,
    "separable_conv": lambda x, depthwise, pointwise: _depthwise(x, depthwise) @ pointwise[0, 0],
    "space_to_depth": _space_to_depth,
    "depth_to_space": _depth_to_space,
    "ctc_loss": _ctc,
    "ctc_decode": _ctc_decode,
}
DIFFERENTIABLE = (
    "normalize layer_normalization rms_normalization batch_normalization average_pool adaptive_average_pool "
    "adaptive_max_pool depthwise_conv separable_conv space_to_depth depth_to_space ctc_loss"
)
NOT_DIFFERENTIABLE = "ctc_decode"
KINDS = {
    "biuhc": "normalize average_pool adaptive_average_pool depthwise_conv separable_conv space_to_depth depth_to_space",
    "biuh": "layer_normalization rms_normalization batch_normalization adaptive_max_pool ctc_loss ctc_decode",
}
