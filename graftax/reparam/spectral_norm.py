"""SpectralNorm: a weight divided by its largest singular value, which a power iteration follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from graftax import ops
from graftax.core.dtypes import is_half
from graftax.core.typedefs import Array, VariableLike
from graftax.reparam.base import Reparam
from graftax.reparam.creator import Check, CheckedCreator, check_positive, count
from graftax.variables.calls import is_training
from graftax.variables.initializers import RandomNormal
from graftax.variables.spec import VariableSpec
from graftax.variables.state.storage import concretely

_AT_FIRST = 15  # iterations from random vectors, as in torch
_TO_A_VALUE = 60  # and until the norm of a given value is known


class SpectralNorm(CheckedCreator):
    r"""A creator that divides weights of two and more axes by their largest singular value; other shapes pass.

    .. math:: W = \frac{V}{\sigma(V)}, \quad \sigma(V) = l^\top V r

    Axes before the last one count as rows. The vectors ``l`` and ``r`` are state. They move by a power iteration only
    where the weight is read in a layer call of training, each call once, and no gradient passes through them; and until
    they are those of the weight where it is assigned, restored or averaged. What is assigned keeps its direction, not
    its norm. After an assignment to the base, call ``weight.follow_base()``.

    Args:
        iterations: How many power iterations at a read. Defaults to 1.
        epsilon: Norms below count as this. Defaults to 1e-12.

    Raises:
        ArgumentError: ``iterations`` is not a positive integer, or ``epsilon`` is not above 0.

    Example:
        >>> import numpy as np, graftax as gx
        >>> with gx.variable_creator_scope(SpectralNorm()):
        ...     layer = gx.layers.Dense(8)
        ...     y = layer(np.ones((1, 16), "float32"), training=True)
        >>> bool(abs(np.linalg.norm(layer.kernel, 2) - 1) < 0.05)
        True
        >>> [v.path for v in layer.trainable_variables], [v.path for v in layer.non_trainable_variables]
        (['kernel/base', 'bias'], ['kernel/left', 'kernel/right'])

    Source: Miyato et al., arXiv 1802.05957.
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "iterations": count("it is a positive integer", 1),
        "epsilon": check_positive("a weight of zeros would be divided by 0", 1e-12),
    }

    def __init__(self, iterations: int = 1, epsilon: float = 1e-12) -> None:
        self.iterations = iterations
        self.epsilon = epsilon

    def __call__(self, next_creator: Callable[[VariableSpec], VariableLike], spec: VariableSpec) -> VariableLike:
        """Make the quotient for a matrix or kernel, anything else as it would have been."""
        if len(spec.shape) < 2:
            return next_creator(spec)
        return SpectrallyNormedWeight(next_creator, spec, self.iterations, self.epsilon)

    def __repr__(self) -> str:
        return f"SpectralNorm(iterations={self.iterations}, epsilon={self.epsilon:g})"


class SpectrallyNormedWeight(Reparam):
    """The weight that `SpectralNorm` makes.

    Args:
        next_creator: Makes the parts.
        spec: The spec of the weight.
        iterations: How many power iterations at a read.
        epsilon: Norms below count as this.
    """

    def __init__(
        self,
        next_creator: Callable[[VariableSpec], VariableLike],
        spec: VariableSpec,
        iterations: int,
        epsilon: float,
    ) -> None:
        super().__init__(spec)
        self.iterations = iterations
        self.epsilon = epsilon
        self.base = next_creator(spec.replace(name="base"))
        vector = spec.replace(role="state", trainable=False, initializer=RandomNormal())
        rows = 1
        for size in spec.shape[:-1]:
            rows *= size
        self.left = next_creator(vector.replace(name="left", shape=(rows,)))
        self.right = next_creator(vector.replace(name="right", shape=spec.shape[-1:]))
        with concretely():
            self._move(ops.asarray(self.base), _AT_FIRST)

    def forward(self) -> Array:
        """Compute ``base / sigma``."""
        base = ops.asarray(self.base)
        if is_training():
            self._move(base, self.iterations)
        dtype = str(base.dtype)
        base = ops.cast(base, "float32") if is_half(dtype) else base  # in which epsilon is 0
        left, right = self._vectors(base)
        sigma = ops.abs(ops.sum(left * ops.matmul(self._matrix(base), right)))  # negative if the vectors are old
        return ops.cast(ops.divide(base, ops.maximum(sigma, self.epsilon)), dtype)

    def inverse(self, value: Array) -> None:
        """Assign the value to the base; what comes out is its direction, of norm 1."""
        self.base.assign(value)  # type: ignore[attr-defined]
        self._move(value, _TO_A_VALUE)

    def follow_base(self) -> None:
        """Move the vectors until they are those of the base."""
        self._move(ops.asarray(self.base), _TO_A_VALUE)

    def _move(self, base: Array, iterations: int) -> None:
        matrix = ops.stop_gradient(self._matrix(base))
        left, right = self._vectors(base)
        for _ in range(iterations):
            right = self._unit(ops.matmul(left, matrix), right)
            left = self._unit(ops.matmul(matrix, right), left)
        for part, vector in ((self.left, left), (self.right, right)):
            part.assign(ops.cast(vector, self.dtype))  # type: ignore[attr-defined]

    def _matrix(self, base: Array) -> Array:
        return ops.reshape(base, (-1, self.shape[-1]))

    def _vectors(self, base: Array) -> tuple[Array, Array]:
        left, right = (ops.stop_gradient(ops.cast(part, base.dtype)) for part in (self.left, self.right))
        return left, right

    def _unit(self, vector: Array, before: Array) -> Array:
        length = ops.norm(vector)
        known = ops.greater(length, self.epsilon)
        return ops.where(known, vector / ops.where(known, length, 1), before)
