"""Decompositions and solutions: sample inputs, and formulas of ``numpy.linalg``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graftax.backend.testing.samples import LINE, SQUARE, Case, X, case

ROOT = np.linalg.cholesky(SQUARE.astype("float64")).astype("float32")
TALL = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.25], [-0.5, 1.0]], "float32")
LOW_RANK = np.outer(LINE, LINE[:3])

CASES: dict[str, list[Case]] = {
    "solve_triangular": [
        case(SQUARE, X.T),
        case(SQUARE, X.T, lower=True),
        case(SQUARE, X[0]),
        case(np.stack([SQUARE, SQUARE * 2]), X.T),
    ],
    "cholesky_solve": [case(ROOT, X.T), case(ROOT, X[1])],
    "cholesky_inverse": [case(ROOT)],
    "lstsq": [case(TALL, LINE), case(TALL, TALL[:, ::-1] * 2), case(LOW_RANK, LINE, rcond=1e-3)],
    "lu_factor": [case(SQUARE[::-1].copy()), case(np.stack([SQUARE, SQUARE.T * 2])), case(np.ones((3, 3), "float32"))],
    "matrix_rank": [case(SQUARE), case(LOW_RANK, rtol=1e-4)],
    "matrix_power": [case(SQUARE, 3), case(SQUARE, 0), case(SQUARE, -2), case(np.array([[1, 2], [0, 3]], "int32"), 5)],
    **{name: [case(SQUARE)] for name in ("logdet", "eigvalsh")},
    "eig": [case(np.array([[2.0, 1.0], [0.0, -1.0]], "float32"))],
}


def _lstsq(x: Any, y: Any, rcond: Any = None) -> Any:
    return np.linalg.pinv(x, rcond or 1e-6) @ y


def _triangular(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], lower: bool = False) -> Any:
    part = np.tril(x) if lower else np.triu(x)
    return np.linalg.inv(part) @ y


def _lu_factor(x: np.ndarray[Any, Any]) -> Any:
    """Exchange rows of what is left over, one column at a time."""
    if x.ndim > 2:
        return tuple(map(np.stack, zip(*map(_lu_factor, x), strict=True)))
    lower, upper, pivots = np.eye(len(x)), x.astype("float64"), np.zeros(len(x), "int32")
    for k in range(len(x)):
        pivots[k] = best = k + int(np.argmax(np.abs(upper[k:, k])))
        upper[[k, best]], lower[[k, best], :k] = upper[[best, k]], lower[[best, k], :k]
        for i in range(k + 1, len(x)):
            lower[i, k] = upper[i, k] / upper[k, k] if upper[k, k] else 0.0
            upper[i] -= lower[i, k] * upper[k]
    return (np.tril(lower, -1) + upper).astype(x.dtype), pivots


REFERENCES: dict[str, Callable[..., Any]] = {
    "solve_triangular": _triangular,
    "cholesky_solve": lambda x, y: np.linalg.inv(np.tril(x) @ np.tril(x).T) @ y,
    "cholesky_inverse": lambda x: np.linalg.inv(np.tril(x) @ np.tril(x).T),
    "lstsq": _lstsq,
    "eigvalsh": lambda x: np.linalg.eigvalsh((x + x.T) / 2),
    "lu_factor": _lu_factor,
    "logdet": lambda x: np.linalg.slogdet(x)[1],
    "matrix_rank": lambda x, rtol=None: np.linalg.matrix_rank(x, rtol=rtol),
    "eig": lambda x: tuple(part.astype("complex64") for part in np.linalg.eig(x)),
}
DIFFERENTIABLE = "lu_factor solve_triangular cholesky_solve cholesky_inverse lstsq logdet eigvalsh matrix_power"
NOT_DIFFERENTIABLE = "matrix_rank eig"
KINDS = {
    "biuhc": (
        "lu_factor solve_triangular cholesky_solve cholesky_inverse lstsq logdet eigvalsh matrix_power matrix_rank eig"
    ),
}
