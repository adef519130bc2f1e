"""Triangular factors of square matrices, with row exchanges, as LAPACK has them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graftax.core.typedefs import Array


def factor(x: Array) -> tuple[Any, Any]:
    """Return both triangles of ``P @ x = L @ U`` in one, and the row that each was exchanged with."""
    size = x.shape[-1]
    factors: np.ndarray[Any, Any] = np.array(x).reshape(math.prod(x.shape[:-2]), size, size)
    pivots, every = np.zeros((len(factors), size), "int32"), np.arange(len(factors))
    for k in range(size):
        below: Any = factors[:, k:, k]
        # LAPACK compares complex numbers by the sum of both parts
        pivots[:, k] = k + np.argmax(np.abs(below.real) + np.abs(below.imag), axis=1)
        kept = factors[:, k].copy()
        factors[:, k] = factors[every, pivots[:, k]]
        factors[every, pivots[:, k]] = kept
        pivot = factors[:, k, k, None]
        with np.errstate(all="ignore"):  # infinity in, nan out
            factors[:, k + 1 :, k] /= np.where(pivot == 0, 1, pivot)
            factors[:, k + 1 :, k + 1 :] -= factors[:, k + 1 :, k, None] * factors[:, k, None, k + 1 :]
    return factors.reshape(x.shape), pivots.reshape(x.shape[:-1])
