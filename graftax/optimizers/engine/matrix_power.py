"""Powers of symmetric matrices, with a gradient where eigenvalues are equal, too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graftax import ops
from graftax.core.typedefs import Array
from graftax.transforms.gradients.custom_gradient import custom_gradient


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

    @custom_gradient
    def compute(matrix: Array, epsilon: Array) -> tuple[Array, Callable[[Array], tuple[Array, Array]]]:
        values, vectors = ops.eigh(matrix)
        values = ops.maximum(values, 0.0) + epsilon
        powers = values**power

        def gradient(upstream: Array) -> tuple[Array, Array]:
            turned = _multiply_three(ops.transpose(vectors), (upstream + ops.transpose(upstream)) / 2, vectors)
            low, high = values[:, None], values[None]
            near = ops.abs(low - high) <= float(np.finfo(str(values.dtype)).eps) ** (1 / 3) * ops.maximum(low, high)
            quotient = (powers[:, None] - powers[None]) / ops.where(near, 1, low - high)
            factors = ops.where(near, power * ((low + high) / 2) ** (power - 1), quotient)
            slope = ops.sum(ops.diagonal(turned) * power * values ** (power - 1))
            return _multiply_three(vectors, factors * turned, ops.transpose(vectors)), slope

        return ops.matmul(vectors * powers, ops.transpose(vectors)), gradient

    result: Array = compute(matrix, ops.asarray(epsilon, str(matrix.dtype)))
    return result


def _multiply_three(left: Array, matrix: Array, right: Array) -> Array:
    return ops.matmul(ops.matmul(left, matrix), right)
