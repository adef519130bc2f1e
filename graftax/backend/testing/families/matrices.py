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


REFERENCES: dict[str, Callable[..., Any]] = {
    "solve_triangular": _triangular,
    "cholesky_solve": lambda x, y: np.linalg.inv(np.tril(x) @ np.tril(x).T) @ y,
    "cholesky_inverse": lambda x: np.linalg.inv(np.tril(x) @ np.tril(x).T),
    "lstsq": _lstsq,
    "eigvalsh": lambda x: np.linalg.eigvalsh((x + x.T) / 2),
    "logdet": lambda x: np.linalg.slogdet(x)[1],
    "matrix_rank": lambda x, rtol=None: np.linalg.matrix_rank(x, rtol=rtol),
    "eig": lambda x: tuple(part.astype("complex64") for part in np.linalg.eig(x)),
}
DIFFERENTIABLE = "solve_triangular cholesky_solve cholesky_inverse lstsq logdet eigvalsh matrix_power"
NOT_DIFFERENTIABLE = "matrix_rank eig"
KINDS = {
    "biuhc": "solve_triangular cholesky_solve cholesky_inverse lstsq logdet eigvalsh matrix_power matrix_rank eig",
}
