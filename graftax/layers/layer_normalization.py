"""LayerNormalization: each element of the batch shifted and scaled by its own statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graftax import ops
from graftax.errors import ArgumentError, ShapeError
from graftax.layers.arguments import axis_numbers, flag, narrow, single_shape, wide, within
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.op_checks import axis_in_range
from graftax.typedefs import Array, Shape
from graftax.variables import constraints, initializers, regularizers
from graftax.variables.constraints import ConstraintLike
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike
from graftax.variables.variable import Variable


class LayerNormalization(Layer):
    r"""Shifts and scales each element to mean 0 and variance 1 over some axes, the last unless told.

    .. math:: y = \gamma \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta

    Args:
        axis: The axis, or axes, over which mean and variance are taken.
        epsilon: Added to the variance: 1e-3 as in Keras; PyTorch has 1e-5, Flax 1e-6.
        center: Whether there is a ``beta``.
        scale: Whether there is a ``gamma``.
        beta_initializer: What ``beta``, of the sizes of the axes, starts as.
        gamma_initializer: What ``gamma`` starts as.
        beta_regularizer: Penalty on ``beta``.
        gamma_regularizer: Penalty on ``gamma``.
        beta_constraint: Projection of ``beta`` after each update.
        gamma_constraint: Projection of ``gamma`` after each update.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`; the arithmetic is in float32 at least.

    Shape:
        ``(...) -> (...)``

    Raises:
        ArgumentError: epsilon is negative, or an axis is no integer or given twice.
        ShapeError: an input without those axes, or with other sizes along them than the first one.

    Example:
        >>> import numpy as np
        >>> LayerNormalization(epsilon=0.0)(np.float32([[1, 3], [10, 30]])).tolist()
        [[-1.0, 1.0], [-1.0, 1.0]]

    Source: Ba et al., arXiv 1607.06450.
    """

    supports_masking = True
    compiles_call = True
    gamma: Variable | None
    beta: Variable | None

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: InitializerLike = "zeros",
        gamma_initializer: InitializerLike = "ones",
        beta_regularizer: RegularizerLike = None,
        gamma_regularizer: RegularizerLike = None,
        beta_constraint: ConstraintLike = None,
        gamma_constraint: ConstraintLike = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        self.axis = axis_numbers("axis", axis)
        self.epsilon = within("epsilon", epsilon, 0, math.inf)
        self.center, self.scale = flag("center", center), flag("scale", scale)
        self.beta_initializer = initializers.get(beta_initializer)
        self.gamma_initializer = initializers.get(gamma_initializer)
        self.beta_regularizer = regularizers.get(beta_regularizer)
        self.gamma_regularizer = regularizers.get(gamma_regularizer)
        self.beta_constraint = constraints.get(beta_constraint)
        self.gamma_constraint = constraints.get(gamma_constraint)

    def build(self, input_shape: Shape) -> None:
        sizes = single_shape(input_shape, least=1)
        shape = tuple(sizes[i] for i in self._axes(len(sizes)))
        self.shape = shape
        self.gamma = self.beta = None
        if self.scale:
            self.gamma = self.add_weight(
                shape,
                self.gamma_initializer,
                name="gamma",
                regularizer=self.gamma_regularizer,
                constraint=self.gamma_constraint,
            )
        if self.center:
            self.beta = self.add_weight(
                shape,
                self.beta_initializer,
                name="beta",
                regularizer=self.beta_regularizer,
                constraint=self.beta_constraint,
            )

    def call(self, x: Array) -> Array:
        axes = self._axes(x.ndim)
        if tuple(x.shape[i] for i in axes) != self.shape:
            raise ShapeError(
                f"an input of shape {tuple(x.shape)}",
                f"the weights were made for the sizes {self.shape} of axis {self.axis}, at the first call",
                "an input of those sizes, or a new layer for the others",
            )
        spread = tuple(n if i in axes else 1 for i, n in enumerate(x.shape))
        out = ops.standardize(wide(x), axes, self.epsilon)
        if self.gamma is not None:
            out = out * ops.reshape(ops.cast(self.gamma, out.dtype), spread)
        if self.beta is not None:
            out = out + ops.reshape(ops.cast(self.beta, out.dtype), spread)
        return narrow(out, x)

    def _axes(self, ndim: int) -> tuple[int, ...]:
        axes = (self.axis,) if isinstance(self.axis, int) else self.axis
        found = sorted(axis_in_range("LayerNormalization", axis, ndim) for axis in axes)
        if len(set(found)) != len(found):
            raise ArgumentError(
                f"axis={self.axis} for an input of {ndim} axes", "two of them are one", f"axis={tuple(set(found))}"
            )
        return tuple(found)
