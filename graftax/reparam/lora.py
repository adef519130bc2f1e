"""LoRA: a frozen matrix plus a product of two thin ones that are trained."""

from __future__ import annotations

from collections.abc import Callable

from graftax import ops
from graftax.errors import ArgumentError
from graftax.reparam.base import Reparam
from graftax.typedefs import Array, VariableLike
from graftax.variables.initializers import Zeros
from graftax.variables.spec import VariableSpec
from graftax.variables.variance_scaling import VarianceScaling


class LoRA:
    r"""A creator that freezes every matrix and adds a trained product of low rank; other shapes pass.

    .. math:: W = W_0 + \frac{\alpha}{r} D U, \quad D \in \mathbb{R}^{m \times r}, \; U \in \mathbb{R}^{r \times n}

    ``U`` starts as zeros, so that the model computes at first what it did before.

    Args:
        rank: ``r``; capped at ``min(m, n)``.
        alpha: How much the product counts; the rank unless told, so that its factor is 1.

    Raises:
        ArgumentError: the rank is not a positive integer, or ``alpha`` is not above 0.

    Example:
        >>> import numpy as np, graftax as gx
        >>> layer = gx.layers.Dense(8)
        >>> y = layer(np.ones((1, 16), "float32"))
        >>> done = gx.graft(layer, LoRA(rank=2), where="kernel")
        >>> [(v.path, v.shape) for v in layer.trainable_variables]
        [('kernel/down', (16, 2)), ('kernel/up', (2, 8)), ('bias', (8,))]

    Source: Hu et al., arXiv 2106.09685.
    """

    def __init__(self, rank: int, alpha: float | None = None) -> None:
        if not isinstance(rank, int) or rank < 1:
            raise ArgumentError(f"rank={rank!r}", "a rank is a positive integer", "LoRA(rank=8)")
        if alpha is not None and not alpha > 0:
            raise ArgumentError(f"alpha={alpha!r}", "it scales the product", f"alpha={2 * rank}")
        self.rank = rank
        self.alpha = float(rank) if alpha is None else float(alpha)

    def __call__(self, next_creator: Callable[[VariableSpec], VariableLike], spec: VariableSpec) -> VariableLike:
        """Make the sum for a matrix, anything else as it would have been."""
        if len(spec.shape) != 2:
            return next_creator(spec)
        return AdaptedMatrix(next_creator, spec, min(self.rank, *spec.shape), self.alpha / self.rank)

    def __repr__(self) -> str:
        return f"LoRA(rank={self.rank}, alpha={self.alpha:g})"


class AdaptedMatrix(Reparam):
    """The matrix that `LoRA` makes.

    Args:
        next_creator: Makes the parts.
        spec: The spec of the matrix.
        rank: The inner size of the product.
        scale: The factor of the product.
    """

    def __init__(
        self, next_creator: Callable[[VariableSpec], VariableLike], spec: VariableSpec, rank: int, scale: float
    ) -> None:
        super().__init__(spec)
        rows, columns = spec.shape
        start = VarianceScaling(1 / 3, "fan_in", "uniform")  # as in the paper's code
        self.scale = scale
        self.base = next_creator(spec.replace(name="base", trainable=False))
        self.down = next_creator(spec.replace(name="down", shape=(rows, rank), initializer=start, trainable=True))
        self.up = next_creator(spec.replace(name="up", shape=(rank, columns), initializer=Zeros(), trainable=True))

    def forward(self) -> Array:
        """``base + scale * down @ up``."""
        return ops.asarray(self.base) + self.scale * ops.matmul(self.down, self.up)

    def inverse(self, value: Array) -> None:
        """The frozen part moves, what is trained stays."""
        self.base.assign(value - self.scale * ops.matmul(self.down, self.up))  # type: ignore[attr-defined]
