"""RMSNormalization: each element of the batch scaled by its root mean square."""

from __future__ import annotations

from collections.abc import Sequence

from graftax import ops
from graftax.core.errors import ShapeError
from graftax.core.typedefs import Array, Shape
from graftax.layers.arguments import (
    array_shape,
    axes_from_front,
    axis_numbers,
    check_range,
    narrow,
    require_real,
    single_shape,
    widen,
)
from graftax.layers.layer import Layer
from graftax.layers.masking import check_mask, expand_mask, zero_hidden_nan
from graftax.layers.policy import DTypePolicy
from graftax.variables import constraints, initializers, regularizers
from graftax.variables.constraints import ConstraintLike
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike


class RMSNormalization(Layer):
    r"""Scales each element to root mean square 1 over some axes, by default the last; it is not shifted.

    .. math:: y = \gamma \frac{x}{\sqrt{\mathrm{mean}(x^2) + \epsilon}}

    Where a mask tells positions along these axes apart, those that it hides do not count.

    Args:
        axis: The axis, or axes, over which the mean is taken. Defaults to the last one.
        epsilon: Added to the mean. Defaults to 1e-6.
        scale_initializer: What ``gamma``, the weight ``scale`` of the sizes of the axes, starts as. Defaults to ones.
        scale_regularizer: Penalty on ``scale``. Defaults to None, none.
        scale_constraint: Projection of ``scale`` after each update. Defaults to None, none.
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
        >>> RMSNormalization(epsilon=0.0)(np.float32([[3, 3, 3], [1, -1, 1]])).tolist()
        [[1.0, 1.0, 1.0], [1.0, -1.0, 1.0]]

    Source: Zhang and Sennrich, arXiv 1910.07467.
    """

    supports_masking = True
    compiles_call = True

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
        epsilon: float = 1e-6,
        scale_initializer: InitializerLike = "ones",
        scale_regularizer: RegularizerLike = None,
        scale_constraint: ConstraintLike = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        self.axis = axis_numbers("axis", axis)
        self.epsilon = check_range("epsilon", epsilon, 0, float("inf"))
        self.scale_initializer = initializers.get(scale_initializer)
        self.scale_regularizer = regularizers.get(scale_regularizer)
        self.scale_constraint = constraints.get(scale_constraint)

    def build(self, input_shape: Shape) -> None:
        sizes = single_shape(input_shape, least=1)
        self.scale = self.add_weight(
            tuple(sizes[i] for i in axes_from_front("RMSNormalization", self.axis, len(sizes))),
            self.scale_initializer,
            name="scale",
            regularizer=self.scale_regularizer,
            constraint=self.scale_constraint,
        )

    def call(self, x: Array, mask: Array | None = None) -> Array:
        shape = array_shape(x)
        axes = axes_from_front("RMSNormalization", self.axis, len(shape))
        if tuple(shape[i] for i in axes) != self.scale.shape:
            raise ShapeError(
                f"an input of shape {shape}",
                f"the weight was made for the sizes {self.scale.shape} of axis {self.axis}, at the first call",
                "an input of those sizes, or a new layer for the others",
            )
        if mask is not None:
            mask = check_mask(mask, shape)
        given, x = x, zero_hidden_nan(widen(require_real(x)), mask)
        squares = ops.square(x)
        if mask is not None and min(axes) < mask.ndim:
            shown = ops.broadcast_to(expand_mask(mask, x.ndim), shape)
            count = ops.sum(ops.cast(shown, x.dtype), axis=axes, keepdims=True)
            mean = ops.sum(ops.where(shown, squares, 0), axis=axes, keepdims=True) / ops.maximum(count, 1)
        else:
            mean = ops.mean(squares, axis=axes, keepdims=True)
        sizes = tuple(n if i in axes else 1 for i, n in enumerate(shape))
        out = x * ops.rsqrt(mean + self.epsilon) * ops.reshape(ops.cast(self.scale, x.dtype), sizes)
        return narrow(out, given, self.compute_dtype)
