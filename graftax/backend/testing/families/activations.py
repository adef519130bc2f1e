"""Activations: sample inputs, and formulas of NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graftax.backend.testing.samples import Case, X, Y, case

OFF = X + np.float32(0.1)
"""Off the kinks."""

CASES: dict[str, list[Case]] = {
    "leaky_relu": [case(X), case(X, negative_slope=0.5)],
    "elu": [case(X), case(X, alpha=0.5)],
    "celu": [case(X), case(X, 0.7)],
    "gelu": [case(X), case(X, approximate=True)],
    "glu": [case(X.T), case(X, axis=0)],
    **{name: [case(OFF), case(X)] for name in ("hard_tanh", "sparse_sigmoid", "sparse_plus", "relu6", "hard_sigmoid")},
    "hard_shrink": [case(OFF), case(Y, 1.0)],
    "soft_shrink": [case(OFF), case(Y, 1.0)],
    "threshold": [case(X, 0.1, -2.0)],
    "squareplus": [case(X), case(X, b=0.5)],
    "sparsemax": [case(OFF), case(Y), case(OFF * 0.3, axis=0)],
}


def _sparsemax(x: np.ndarray[Any, Any], axis: int = -1) -> Any:
    """Bisect for the threshold at which what is left above it sums to 1."""
    low, high = x.max(axis, keepdims=True) - 1.0, x.max(axis, keepdims=True)
    for _ in range(100):
        middle = (low + high) / 2
        enough = np.maximum(x - middle, 0).sum(axis, keepdims=True) >= 1
        low, high = np.where(enough, middle, low), np.where(enough, high, middle)
    return np.maximum(x - low, 0)


def _gelu(x: np.ndarray[Any, Any], approximate: bool = False) -> Any:
    if approximate:
        return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def _glu(x: np.ndarray[Any, Any], axis: int = -1) -> Any:
    value, gate = np.split(x, 2, axis)
    return value / (1 + np.exp(-gate))


REFERENCES: dict[str, Callable[..., Any]] = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.minimum(np.maximum(x, 0), 6),
    "leaky_relu": lambda x, negative_slope=0.2: np.where(x > 0, x, negative_slope * x).astype(x.dtype),
    "elu": lambda x, alpha=1.0: np.where(x > 0, x, alpha * (np.exp(x) - 1)),
    "celu": lambda x, alpha=1.0: np.where(x > 0, x, alpha * (np.exp(x / alpha) - 1)),
    "selu": lambda x: 1.05070098 * np.where(x > 0, x, 1.67326324 * (np.exp(x) - 1)),
    "gelu": _gelu,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "mish": lambda x: x * np.tanh(np.log(1 + np.exp(x))),
    "glu": _glu,
    "softsign": lambda x: x / (1 + np.abs(x)),
    "hard_sigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hard_silu": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "hard_shrink": lambda x, threshold=0.5: np.where(np.abs(x) > threshold, x, 0),
    "soft_shrink": lambda x, threshold=0.5: np.sign(x) * np.maximum(np.abs(x) - threshold, 0),
    "tanh_shrink": lambda x: x - np.tanh(x),
    "threshold": lambda x, threshold, default: np.where(x > threshold, x, default),
    "squareplus": lambda x, b=4.0: (x + np.sqrt(x * x + b)) / 2,
    "sparse_plus": lambda x: np.where(x >= 1, x, np.where(x <= -1, 0, (x + 1) ** 2 / 4)),
    "sparse_sigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
    "sparsemax": _sparsemax,
}
DIFFERENTIABLE = (
    "relu relu6 leaky_relu elu celu selu gelu silu mish glu softsign hard_sigmoid hard_silu hard_tanh hard_shrink "
    "soft_shrink tanh_shrink threshold squareplus sparse_plus sparse_sigmoid sparsemax"
)
NOT_DIFFERENTIABLE = ""
KINDS = {
    "biuh": (
        "relu relu6 leaky_relu elu celu selu gelu silu mish glu softsign hard_sigmoid hard_silu hard_tanh hard_shrink "
        "soft_shrink tanh_shrink threshold squareplus sparse_plus sparse_sigmoid sparsemax"
    )
}
