"""Powers of symmetric matrices, with a derivative where eigenvalues are equal, too."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from graftax import ops
from graftax.backend import registry
from graftax.backend.protocol import Arrays
from graftax.core.typedefs import Array


def damped_power(matrix: Array, epsilon: Array | float, power: float) -> Array:
    r"""Return ``(matrix + epsilon)**power`` of a symmetric matrix, whose negative eigenvalues count as 0.

    Eigenvectors have no derivative where eigenvalues are equal; the power has one everywhere:

    .. math:: d P = V \left(K \circ V^T dH \, V\right) V^T \qquad K_{ij} = \frac{p(w_i) - p(w_j)}{w_i - w_j}

    with the slope of ``p(w) = (w + epsilon)**power`` in place of the quotient where both are about the same.

    Args:
        matrix: ``(n, n)``.
        epsilon: Added to the eigenvalues, above 0.
        power: The exponent.

    Example:
        >>> import numpy as np, graftax as gx
        >>> unit = np.eye(2, dtype="float32")
        >>> gx.grad(lambda x: damped_power(x, 0.0, 2.0)[0, 0])(unit).tolist()
        [[2.0, 0.0], [0.0, 0.0]]

    Source: Daleckii and Krein 1965, Integration and differentiation of functions of Hermitian operators.
    """
    a = registry.current().arrays
    dtype = str(matrix.dtype)
    wide = "float32" if np.dtype(matrix.dtype).itemsize < 4 else dtype
    return ops.cast(_power(a, power, ops.cast(matrix, wide), ops.asarray(epsilon, wide)), dtype)


def _power(a: Arrays, power: float, matrix: Array, epsilon: Array) -> Any:
    return a.with_jvp(partial(_by_eigh, power), partial(_power_jvp, a, power), matrix, epsilon)


def _by_eigh(power: float, matrix: Array, epsilon: Array) -> Any:
    values, vectors = _damp(matrix, epsilon)
    return ops.matmul(vectors * values**power, ops.transpose(vectors))


def _power_jvp(a: Arrays, power: float, primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Any, Any]:
    values, vectors = _damp(*primals)
    change = (tangents[0] + ops.transpose(tangents[0])) / 2 + tangents[1] * ops.eye(len(values), dtype=values.dtype)
    low, high = values[:, None], values[None]
    near = ops.abs(low - high) <= float(np.finfo(str(values.dtype)).eps) ** (1 / 3) * ops.maximum(low, high)
    quotient = (low**power - high**power) / ops.where(near, 1, low - high)
    slopes = ops.where(near, power * ((low + high) / 2) ** (power - 1), quotient)
    turned = ops.matmul(ops.matmul(ops.transpose(vectors), change), vectors)
    return _power(a, power, *primals), ops.matmul(ops.matmul(vectors, slopes * turned), ops.transpose(vectors))


def _damp(matrix: Array, epsilon: Array) -> tuple[Array, Array]:
    values, vectors = ops.eigh(matrix)
    return ops.maximum(values, 0.0) + epsilon, vectors
