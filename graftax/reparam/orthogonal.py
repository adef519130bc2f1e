"""Orthogonal: a matrix that stays orthonormal, turned by a free matrix of angles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Literal, get_args

from graftax import ops
from graftax.core.dtypes import is_complex, is_half
from graftax.core.errors import DTypeError
from graftax.core.typedefs import Array, VariableLike
from graftax.reparam.base import Reparam
from graftax.reparam.creator import Check, CheckedCreator, check_choice
from graftax.reparam.polar_factor import polar_factor
from graftax.variables.initializers import Zeros
from graftax.variables.spec import VariableSpec
from graftax.variables.state.storage import concretely

Map = Literal["cayley", "matrix_exp"]


class Orthogonal(CheckedCreator):
    r"""A creator of weights with orthonormal columns, or rows where there are fewer; vectors and scalars pass.

    .. math:: W = Q(X B^\top - B X^\top) \, B, \quad Q(A) = (I - A/2)^{-1} (I + A/2) \;\text{ or }\; Q(A) = e^A

    ``B`` is orthonormal and fixed, ``X`` is trained and starts as zeros. Axes before the last one count as rows. The
    weight starts as the orthonormal matrix nearest to what its initializer gives; that is also what an assigned value
    becomes. Its gradient goes through the assignment; where the value has less than full rank there is none.

    Args:
        map: ``"cayley"`` never turns by 180 degrees, and of ``m x n`` with ``2 n < m`` it solves a system of ``2 n``
            only; ``"matrix_exp"`` reaches every turn, with products of ``m x m`` (``m`` the longer side). Defaults to
            ``"cayley"``.

    Raises:
        ArgumentError: there is no such map.
        DTypeError: when a weight is made: it is complex.

    Example:
        >>> import numpy as np, graftax as gx
        >>> with gx.variable_creator_scope(Orthogonal()):
        ...     layer = gx.layers.Dense(4)
        ...     y = layer(np.ones((1, 16), "float32"))
        >>> w = layer.kernel.numpy()
        >>> bool(abs(w.T @ w - np.eye(4)).max() < 1e-5), [v.path for v in layer.trainable_variables]
        (True, ['kernel/turn', 'bias'])

    Source: Lezcano-Casado and Martinez-Rubio, arXiv 1901.08428; Lezcano-Casado, arXiv 1909.09501.
    """

    checks: ClassVar[Mapping[str, Check]] = {"map": check_choice(get_args(Map), "there is no such map")}

    def __init__(self, map: Map = "cayley") -> None:
        self.map: Map = map

    def __call__(self, next_creator: Callable[[VariableSpec], VariableLike], spec: VariableSpec) -> VariableLike:
        """Make the turned matrix for a matrix or kernel, anything else as it would have been."""
        if len(spec.shape) >= 2 and is_complex(spec.dtype):
            raise DTypeError(
                f"Orthogonal of {spec.path!r}, {spec.dtype}{list(spec.shape)}",
                "its turns are of real numbers, and what they make of complex columns is not orthonormal",
                'a weight of dtype "float32"',
            )
        return next_creator(spec) if len(spec.shape) < 2 else OrthogonalWeight(next_creator, spec, self.map)

    def __repr__(self) -> str:
        return f"Orthogonal(map={self.map!r})"


class OrthogonalWeight(Reparam):
    """The weight that `Orthogonal` makes.

    Args:
        next_creator: Makes the parts.
        spec: The spec of the weight.
        map: From skew matrices to rotations.
    """

    def __init__(self, next_creator: Callable[[VariableSpec], VariableLike], spec: VariableSpec, map: Map) -> None:
        super().__init__(spec)
        self.map: Map = map
        self.start = next_creator(spec.replace(name="start", role="state", trainable=False))
        self.turn = next_creator(spec.replace(name="turn", initializer=Zeros()))
        with concretely():
            self.inverse(ops.asarray(self.start))

    def forward(self) -> Array:
        """Compute ``Q @ start``."""
        start, turn = self._make_tall(self.start), self._make_tall(self.turn)
        rows, columns = start.shape
        if self.map == "cayley" and 2 * columns < rows:
            left, right = ops.concatenate([turn, -start], 1), ops.transpose(ops.concatenate([start, turn], 1))
            core = ops.eye(2 * columns, dtype=start.dtype) - ops.matmul(right, left) / 2
            moved = start + ops.matmul(left, ops.solve(core, ops.matmul(right, start)))
        else:
            half = ops.matmul(turn, ops.transpose(start))
            skew = half - ops.transpose(half)
            if self.map == "cayley":
                core = ops.eye(rows, dtype=start.dtype) - skew / 2
                moved = ops.solve(core, start + ops.matmul(skew, start) / 2)
            else:
                moved = ops.matmul(_exponential(skew), start)
        return self._like_weight(moved, ops.asarray(self.turn).dtype)

    def inverse(self, value: Array) -> None:
        """Make the nearest orthonormal matrix the start, and turn nothing."""
        nearest = polar_factor(self._make_tall(value), self._gx_place)
        self.start.assign(self._like_weight(nearest, self.dtype))  # type: ignore[attr-defined]
        self.turn.assign(ops.zeros(self.shape, self.dtype))  # type: ignore[attr-defined]

    def _make_tall(self, value: Array | VariableLike) -> Array:
        """Return a matrix with no fewer rows than columns, in a dtype that linear algebra has."""
        matrix = ops.reshape(value, (-1, self.shape[-1]))
        matrix = ops.cast(matrix, "float32") if is_half(matrix.dtype) else matrix
        return ops.transpose(matrix) if matrix.shape[0] < matrix.shape[1] else matrix

    def _like_weight(self, matrix: Array, dtype: str) -> Array:
        if matrix.shape[1] != self.shape[-1]:
            matrix = ops.transpose(matrix)
        return ops.cast(ops.reshape(matrix, self.shape), dtype)


def _exponential(matrix: Array, halvings: int = 10) -> Array:
    """Compute Taylor's series of a halved matrix, squared as often as it was halved: at most ``halvings`` times."""
    unit = ops.eye(matrix.shape[0], dtype=matrix.dtype)
    length = ops.stop_gradient(ops.max(ops.sum(ops.abs(matrix), axis=1)))  # bounds every eigenvalue
    times = ops.clip(ops.ceil(ops.log2(ops.maximum(length, 0.5)) + 1), 0, halvings)
    small = matrix / 2**times
    result = unit
    for degree in range(10, 0, -1):
        result = unit + ops.matmul(small, result) / degree
    for done in range(halvings):
        result = ops.where(ops.less(done, times), ops.matmul(result, result), result)
    return result
