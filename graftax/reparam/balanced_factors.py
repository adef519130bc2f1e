"""The two thin matrices whose product is nearest to a matrix, with a gradient where singular values are equal, too."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from graftax import ops
from graftax.backend import registry
from graftax.backend.protocol import Arrays
from graftax.core.errors import NumericsError
from graftax.core.typedefs import Array
from graftax.ops.matrices import svd


def balanced_factors(x: Array, rank: int, path: str) -> tuple[Array, Array]:
    r"""Return ``U_r S_r^{1/2}`` and ``S_r^{1/2} V_r^H`` of the singular value decomposition of a matrix.

    Their product has a derivative where the ``rank``-th singular value is above 0 and above the next one. Both matrices
    have one only where the values before are different: where two of them are equal, both are given up to a rotation,
    which the product does not see, the derivative is one without a rotation, and higher derivatives are nan.

    Args:
        x: ``(m, n)``.
        rank: The number of columns of the first, at most ``min(m, n)``.
        path: The weight that they are for, for a message.

    Raises:
        NumericsError: a derivative is asked for where there is none; in compiled code it is nan.

    Source: Eckart and Young 1936; the derivative of singular vectors: Townsend 2016, Differentiating the SVD.
    """
    a = registry.current().arrays
    factors: tuple[Array, Array] = _factors(a, rank, path, x)
    return factors


def _factors(a: Arrays, rank: int, path: str, x: Array) -> Any:
    return a.with_jvp(partial(_by_svd, rank), partial(_factors_jvp, a, rank, path), x)


def _by_svd(rank: int, x: Array) -> tuple[Any, Any]:
    u, s, v = ops.svd(x, full_matrices=False)
    root = ops.sqrt(s[:rank])
    return u[:, :rank] * root, root[:, None] * v[:rank]


def _factors_jvp(
    a: Arrays, rank: int, path: str, primals: tuple[Array, ...], tangents: tuple[Array, ...]
) -> tuple[Any, Any]:
    dtype = primals[0].dtype
    x, dx = (a.asarray(one, "float32") if dtype.itemsize < 4 else one for one in (primals[0], tangents[0]))
    u, s, vh = _svd(a, x)
    v = _adjoint(a, vh)
    root = a.numpy.sqrt(s[:rank])
    turned = _adjoint(a, u) @ dx @ v
    left, right = _tangents_within(a, turned[:rank, :rank], s[:rank])
    left, right = u[:, :rank] @ left, right @ vh[:rank]
    if len(s) > rank:  # what is cut off turns into what is kept
        kept, cut = s[:rank], s[rank:, None]
        below, beside = turned[rank:, :rank], _adjoint(a, turned[:rank, rank:])
        gap = (kept - cut) * (kept + cut)
        left = left + u[:, rank:] @ ((below * kept + cut * beside) / gap * root)
        right = right + _adjoint(a, v[:, rank:] @ ((cut * below + beside * kept) / gap * root))
    if x.shape[0] > len(s):
        moved = dx @ v[:, :rank]
        left = left + (moved - u @ (_adjoint(a, u) @ moved)) / root
    if x.shape[1] > len(s):
        moved = _adjoint(a, u[:, :rank]) @ dx
        right = right + (moved - (moved @ v) @ vh) / root[:, None]
    factor = _one_or_nan(a, rank, path, x, a.stop_gradient(s))
    return _factors(a, rank, path, primals[0]), (a.asarray(left * factor, dtype), a.asarray(right * factor, dtype))


def _tangents_within(a: Arrays, turned: Array, s: Array) -> tuple[Any, Any]:
    """Return how both move among what is kept: ``left * root + root * right`` is ``turned``."""
    row, column = s[:, None], s[None]
    root, across = a.numpy.sqrt(row), a.numpy.sqrt(column)
    near = _about_equal(a, row, column)
    gap = a.numpy.where(near, 1, (column - row) * (column + row))
    alike, other = turned / (root + across), _adjoint(a, turned)
    left = a.numpy.where(near, alike, (turned * column + row * other) * across / gap)
    right = a.numpy.where(near, alike, -(row * turned + other * column) * root / gap)
    return left, right


def _about_equal(a: Arrays, x: Array, y: Array) -> Any:
    """Tell what agrees in half of the digits: divided by the difference, the product would lose more than these."""
    return abs(x - y) <= float(np.finfo(np.dtype(x.dtype)).eps) ** 0.5 * (x + y)


def _svd(a: Arrays, x: Array) -> tuple[Any, Any, Any]:
    """Return the singular value decomposition; its derivative, which only higher ones need, is nan without a gap."""
    u, s, vh = svd(a, x, full_matrices=False)
    tied = a.numpy.sum(_about_equal(a, s[:, None], s)) > len(s)

    def rule(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Any, Any]:
        return primals[0], tangents[0] * a.numpy.where(primals[1], a.asarray(np.nan, x.dtype), a.asarray(1, x.dtype))

    return tuple(a.with_jvp(lambda one, _: one, rule, one, tied) for one in (u, s, vh))


def _one_or_nan(a: Arrays, rank: int, path: str, x: Array, s: Array) -> Any:
    """Return 1, or nan where there is no derivative; raise where the numbers are at hand."""
    following = s[rank] if len(s) > rank else a.numpy.zeros_like(s[0])
    exists = s[rank - 1] - following > max(x.shape) * float(np.finfo(np.dtype(s.dtype)).eps) * s[0]
    if a.is_concrete(exists) and bool(a.numpy.all(a.numpy.isfinite(x))) and not bool(exists):
        named = f"{float(s[rank - 1]):.3g}" + (f" and {float(following):.3g}" if len(s) > rank else "")
        raise NumericsError(
            f"the gradient of what is assigned to {path!r}, {list(x.shape)} with the singular values {named} at rank "
            f"{rank}",
            "the nearest product of a rank has a derivative where this singular value is above 0 and the next one",
            "another rank=, or assign(ops.stop_gradient(value))",
        )
    return a.numpy.where(exists, a.asarray(1, x.dtype), a.asarray(np.nan, x.dtype))


def _adjoint(a: Arrays, x: Array) -> Any:
    return a.numpy.conj(a.numpy.swapaxes(x, -1, -2))
