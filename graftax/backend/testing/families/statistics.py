"""Statistics: sample inputs; NumPy has functions of these names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graftax.backend.testing.samples import IMAGE, INTEGERS, LINE, POSITIVE, Case, X, Y, case

CASES: dict[str, list[Case]] = {
    "average": [
        case(X, None, POSITIVE),
        case(X),
        case(X, 1, np.array([1.0, 2.0, 0.5], "float32"), keepdims=True),
        case(X, axis=0),
        case(INTEGERS, None, np.abs(INTEGERS) + 1),
        case(IMAGE[0], (2, 0), IMAGE[0, :, 0, :].T + 2),
    ],
    "percentile": [case(X, 30), case(X, [25, 50], axis=1)],
    "ptp": [case(X), case(X, axis=1, keepdims=True)],
    "cov": [case(X), case(Y, ddof=0)],
    "corrcoef": [case(X)],
    "diff": [case(X), case(X, 2), case(INTEGERS, axis=0)],
    "trapezoid": [case(X), case(X, np.array([0.0, 0.5, 2.0], "float32")), case(X, dx=0.5, axis=0), case(X, Y, axis=0)],
    "histogram": [case(X, 4), case(X), case(INTEGERS, bins=3, range=(-5.0, 10.0))],
    "digitize": [case(X, LINE), case(LINE, LINE)],
}


def _average(x: Any, axis: Any = None, weights: Any = None, keepdims: Any = False) -> Any:
    if isinstance(axis, tuple):  # NumPy has no weights over several axes
        order = np.argsort(axis)
        moved = np.moveaxis(x, np.array(axis)[order], range(len(axis)))
        weights = weights.transpose(order)[..., None]
        return (moved * weights).sum((0, 1)) / weights.sum()
    return np.average(x, axis, weights, keepdims=keepdims)


def _histogram(x: Any, bins: int = 10, range: Any = None) -> Any:
    counts, edges = np.histogram(x, bins, range)
    return counts.astype("int32"), edges.astype("float32")


REFERENCES: dict[str, Callable[..., Any]] = {
    "average": _average,
    "histogram": _histogram,
    "cov": lambda x, ddof=1: np.cov(x, ddof=ddof).astype(x.dtype),
    "corrcoef": lambda x: np.corrcoef(x).astype(x.dtype),
}
DIFFERENTIABLE = "average percentile ptp cov corrcoef diff trapezoid"
NOT_DIFFERENTIABLE = "histogram digitize"
KINDS = {
    "biuhc": "average cov corrcoef diff trapezoid",
    "biuh": "percentile ptp histogram digitize",
}
