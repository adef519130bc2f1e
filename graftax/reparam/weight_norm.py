"""WeightNorm: length and direction of each unit's weights as Variables of their own."""

from __future__ import annotations

from collections.abc import Callable

from graftax import ops
from graftax.core.typedefs import Array, VariableLike
from graftax.reparam.base import Reparam
from graftax.variables.graph.structure import Adjustable
from graftax.variables.initializers import Ones
from graftax.variables.spec import VariableSpec
from graftax.variables.state.storage import concretely


class WeightNorm(Adjustable):
    r"""A creator that keeps weights of two and more axes as a length times a direction; other shapes pass.

    .. math:: w = g \, \frac{v}{\lVert v \rVert}

    with one length for each index of the last axis, the unit that the weights belong to. Where ``v`` is 0, so is ``w``.

    Example:
        >>> import numpy as np, graftax as gx
        >>> with gx.variable_creator_scope(WeightNorm()):
        ...     layer = gx.layers.Dense(8)
        ...     y = layer(np.ones((1, 16), "float32"))
        >>> [(v.path, v.shape) for v in layer.trainable_variables]
        [('kernel/direction', (16, 8)), ('kernel/magnitude', (8,)), ('bias', (8,))]

    Source: Salimans and Kingma, arXiv 1602.07868.
    """

    base_name = "direction"

    def __call__(self, next_creator: Callable[[VariableSpec], VariableLike], spec: VariableSpec) -> VariableLike:
        """Make length and direction for a matrix or kernel, anything else as it would have been."""
        return next_creator(spec) if len(spec.shape) < 2 else NormedWeight(next_creator, spec)

    def __repr__(self) -> str:
        return "WeightNorm()"


class NormedWeight(Reparam):
    """The weight that `WeightNorm` makes.

    Args:
        next_creator: Makes the parts.
        spec: The spec of the weight.
    """

    base_name = WeightNorm.base_name

    def __init__(self, next_creator: Callable[[VariableSpec], VariableLike], spec: VariableSpec) -> None:
        super().__init__(spec)
        self.direction = next_creator(spec.replace(name="direction"))
        self.magnitude = next_creator(spec.replace(name="magnitude", shape=spec.shape[-1:], initializer=Ones()))
        with concretely():  # the weight starts as its own initializer says
            self.magnitude.assign(self._lengths(ops.asarray(self.direction)))  # type: ignore[attr-defined]

    def forward(self) -> Array:
        """Compute ``magnitude * direction / |direction|``."""
        direction = ops.asarray(self.direction)
        lengths = self._lengths(direction)
        return direction * ops.divide(self.magnitude, ops.where(ops.equal(lengths, 0), 1, lengths))

    def inverse(self, value: Array) -> None:
        """Take the value as the direction, and its lengths as the lengths."""
        self.direction.assign(value)  # type: ignore[attr-defined]
        self.magnitude.assign(self._lengths(value))  # type: ignore[attr-defined]

    def _lengths(self, value: Array) -> Array:
        return ops.norm(value, axis=tuple(range(len(self.shape) - 1)))
