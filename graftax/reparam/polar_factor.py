"""The orthonormal matrix nearest to a given one, with a gradient where singular values are equal, too."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from graftax import ops
from graftax.backend import registry
from graftax.backend.protocol import Arrays
from graftax.core.errors import NumericsError
from graftax.core.typedefs import Array

_HIGHER = 3
"""How many derivatives there are after the first."""


def polar_factor(x: Array, path: str) -> Array:
    r"""Return ``U V^H`` of the singular value decomposition of a matrix with no fewer rows than columns.

    The vectors of equal singular values have no derivative. Their product has one at every matrix of full rank:

    .. math:: dW = W K + (I - W W^H) \, dX \, P^{-1}, \quad K P + P K = W^H dX - dX^H W, \quad P = W^H X

    Derivatives up to the fourth are exact.

    Args:
        x: ``(m, n)`` with ``m >= n``, in 32 bits at least.
        path: The weight that it is for, for a message.

    Raises:
        NumericsError: a derivative is asked for where there is none; in compiled code it is nan.

    Source: Higham 2008, Functions of Matrices, chapter 8; Kenney and Laub 1991, Polar decomposition and matrix sign
        function condition estimates.
    """
    factor: Array = _factor(registry.current().arrays, path, x)
    return factor


def _factor(a: Arrays, path: str, x: Array) -> Any:
    return a.with_jvp(_by_svd, partial(_factor_jvp, a, path), x)


def _by_svd(x: Array) -> Any:
    u, _, v = ops.svd(x, full_matrices=False)
    return ops.matmul(u, v)


def _factor_jvp(a: Arrays, path: str, primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Any, Any]:
    x, dx = primals[0], tangents[0]
    factor = _factor(a, path, x)
    turned = _adjoint(a, factor) @ dx
    length = _hermitian(a, _adjoint(a, factor) @ x)
    tangent = factor @ _sylvester(a, length, turned - _adjoint(a, turned))
    if x.shape[0] > x.shape[1]:
        beyond = dx - factor @ turned
        tangent = tangent + _adjoint(a, a.numpy.linalg.solve(length, _adjoint(a, beyond)))
    return factor, tangent * _one_or_nan(a, path, x, a.numpy.linalg.eigh(a.stop_gradient(length))[0])


def _one_or_nan(a: Arrays, path: str, x: Array, rising: Array) -> Any:
    """Return 1, or nan where there is no derivative; raise where the numbers are at hand."""
    exists = rising[0] > max(x.shape) * float(np.finfo(np.dtype(rising.dtype)).eps) * rising[-1]
    if a.is_concrete(exists) and bool(a.numpy.all(a.numpy.isfinite(x))) and not bool(exists):
        raise NumericsError(
            f"the gradient of what is assigned to {path!r}, {list(x.shape)} with singular values from "
            f"{float(rising[-1]):.3g} down to {abs(float(rising[0])):.3g}",
            "it has less than full rank: several orthonormal matrices are nearest to it, and which one it is, jumps",
            "a value of full rank, or assign(ops.stop_gradient(value))",
        )
    return a.numpy.where(exists, a.asarray(1, x.dtype), a.asarray(np.nan, x.dtype))


def _sylvester(a: Arrays, p: Array, c: Array) -> Any:
    """Return ``k`` with ``k @ p + p @ k = c``, for a Hermitian and positive definite ``p``.

    The eigenvectors of ``p`` count as constants, since those of equal eigenvalues have no derivative. Each step from
    there towards the solution gives the next higher derivative with respect to ``p``.
    """
    values, vectors = a.numpy.linalg.eigh(a.stop_gradient(p))

    def solve(c: Array) -> Any:
        turned = _adjoint(a, vectors) @ c @ vectors
        return vectors @ (turned / (values[:, None] + values)) @ _adjoint(a, vectors)

    k = solve(c)
    for _ in range(_HIGHER):
        k = k + solve(c - k @ p - p @ k)
    return k


def _adjoint(a: Arrays, x: Array) -> Any:
    return a.numpy.conj(a.numpy.swapaxes(x, -1, -2))


def _hermitian(a: Arrays, x: Array) -> Any:
    return (x + _adjoint(a, x)) / 2
