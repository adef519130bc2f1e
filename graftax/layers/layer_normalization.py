"""LayerNormalization: each element of the batch shifted and scaled by its own statistics."""

from __future__ import annotations

from collections.abc import Sequence

from graftax import ops
from graftax.core.errors import ShapeError
from graftax.core.typedefs import Array, Shape
from graftax.layers.arguments import (
    array_shape,
    axes_from_front,
    axis_numbers,
    narrow,
    require_real,
    single_shape,
    widen,
)
from graftax.layers.masking import check_mask, expand_mask, zero_hidden_nan
from graftax.layers.policy import DTypePolicy
from graftax.layers.scale_and_shift import ScaleAndShift, standardize_shown
from graftax.layers.weight_settings import WeightSettings
from graftax.variables.constraints import ConstraintLike
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike


class LayerNormalization(ScaleAndShift):
    r"""Shifts and scales each element to mean 0 and variance 1 over some axes, by default the last.

    .. math:: y = \gamma \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta

    Where a mask tells positions along these axes apart, those that it hides do not count.

    Args:
        axis: The axis, or axes, over which mean and variance are taken. Defaults to -1.
        epsilon: Added to the variance: 1e-3 as in Keras; PyTorch has 1e-5, Flax 1e-6. Defaults to 1e-3.
        center: Whether there is a ``beta``. Defaults to True.
        scale: Whether there is a ``gamma``. Defaults to True.
        beta_initializer: What ``beta``, of the sizes of the axes, starts as. Defaults to ``"zeros"``.
        gamma_initializer: What ``gamma`` starts as. Defaults to ``"ones"``.
        beta_regularizer: Penalty on ``beta``. Defaults to None.
        gamma_regularizer: Penalty on ``gamma``. Defaults to None.
        beta_constraint: Projection of ``beta`` after each update. Defaults to None.
        gamma_constraint: Projection of ``gamma`` after each update. Defaults to None.
        name: As for `Layer`. Defaults to None.
        trainable: As for `Layer`. Defaults to True.
        dtype: As for `Layer`; the arithmetic is in float32 at least. Defaults to None.

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
        super().__init__(
            epsilon=epsilon,
            center=center,
            scale=scale,
            beta=WeightSettings.of(
                initializer=beta_initializer, regularizer=beta_regularizer, constraint=beta_constraint
            ),
            gamma=WeightSettings.of(
                initializer=gamma_initializer, regularizer=gamma_regularizer, constraint=gamma_constraint
            ),
            name=name,
            trainable=trainable,
            dtype=dtype,
        )
        self.axis = axis_numbers("axis", axis)

    def build(self, input_shape: Shape) -> None:
        sizes = single_shape(input_shape, least=1)
        shape = tuple(sizes[i] for i in axes_from_front("LayerNormalization", self.axis, len(sizes)))
        self.shape = shape
        self.make_scale_and_shift(shape)

    def call(self, x: Array, mask: Array | None = None) -> Array:
        axes = axes_from_front("LayerNormalization", self.axis, len(array_shape(x)))
        if tuple(x.shape[i] for i in axes) != self.shape:
            raise ShapeError(
                f"an input of shape {tuple(x.shape)}",
                f"the weights were made for the sizes {self.shape} of axis {self.axis}, at the first call",
                "an input of those sizes, or a new layer for the others",
            )
        if mask is not None:
            mask = check_mask(mask, tuple(x.shape))
        given, x = x, zero_hidden_nan(widen(require_real(x)), mask)
        if mask is not None and min(axes) < mask.ndim:
            out = standardize_shown(x, axes, expand_mask(mask, x.ndim), self.epsilon)
        else:
            out = ops.standardize(x, axes, self.epsilon)
        sizes = tuple(n if i in axes else 1 for i, n in enumerate(x.shape))
        return narrow(self.scale_and_shift(out, sizes), given, self.compute_dtype)
