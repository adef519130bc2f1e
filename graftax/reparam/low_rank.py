"""LowRank: a matrix kept as the product of two thin ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from graftax import ops
from graftax.core.typedefs import Array, VariableLike
from graftax.reparam.balanced_factors import balanced_factors
from graftax.reparam.base import Reparam
from graftax.reparam.creator import Check, CheckedCreator, count
from graftax.variables.initializers import Constant, Zeros
from graftax.variables.spec import VariableSpec
from graftax.variables.state.storage import concretely


class LowRank(CheckedCreator):
    r"""A creator that keeps every matrix as ``left @ right`` of a given rank; other shapes pass.

    .. math:: W = L R, \quad L \in \mathbb{R}^{m \times r}, \; R \in \mathbb{R}^{r \times n}

    The parts are initialised by the weight's own initializer, each on its own shape. Where the weight has a given
    value, or is assigned one, the parts are the best ones for it (truncated SVD). Its gradient goes through the
    assignment; where the singular value of that rank is 0, or equal to the next one, there is none.

    Args:
        rank: The number of columns of the left part; capped at ``min(m, n)``.

    Raises:
        ArgumentError: the rank is not a positive integer.

    Example:
        >>> import numpy as np, graftax as gx
        >>> with gx.variable_creator_scope(LowRank(rank=2)):
        ...     layer = gx.layers.Dense(8)
        ...     y = layer(np.ones((1, 16), "float32"))
        >>> [(v.path, v.shape) for v in layer.trainable_variables]
        [('kernel/left', (16, 2)), ('kernel/right', (2, 8)), ('bias', (8,))]

    Source: Sainath et al. 2013, Low-rank matrix factorization for deep neural network training.
    """

    checks: ClassVar[Mapping[str, Check]] = {"rank": count("a rank is a positive integer", 4)}

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def __call__(self, next_creator: Callable[[VariableSpec], VariableLike], spec: VariableSpec) -> VariableLike:
        """Make the product for a matrix, anything else as it would have been."""
        if len(spec.shape) != 2:
            return next_creator(spec)
        return LowRankMatrix(next_creator, spec, min(self.rank, *spec.shape))

    def __repr__(self) -> str:
        return f"LowRank(rank={self.rank})"


class LowRankMatrix(Reparam):
    """The matrix that `LowRank` makes.

    Args:
        next_creator: Makes the parts.
        spec: The spec of the matrix.
        rank: The inner size of the product.
    """

    def __init__(self, next_creator: Callable[[VariableSpec], VariableLike], spec: VariableSpec, rank: int) -> None:
        super().__init__(spec)
        rows, columns = spec.shape
        start = spec.initializer
        given = isinstance(start, Constant)  # a value, which the parts are to give as nearly as they can
        half = spec.replace(initializer=Zeros()) if given else spec
        self.left = next_creator(half.replace(name="left", shape=(rows, rank)))
        self.right = next_creator(half.replace(name="right", shape=(rank, columns)))
        if given:
            with concretely():
                self.inverse(start(ops.zeros(2, "uint32"), spec.shape, spec.dtype))

    def forward(self) -> Array:
        """Compute ``left @ right``."""
        return ops.matmul(self.left, self.right)

    def inverse(self, value: Array) -> None:
        """Assign the parts of the nearest product of this rank."""
        left, right = balanced_factors(value, self.left.value.shape[1], self._gx_place)
        for part, half in ((self.left, left), (self.right, right)):
            part.assign(half)  # type: ignore[attr-defined]
