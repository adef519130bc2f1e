"""GroupNormalization and InstanceNormalization: statistics of groups of channels, of each element alone."""

from __future__ import annotations

from operator import index

from graftax import ops
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array, Shape
from graftax.layers.arguments import array_shape, axis_number, narrow, require_real, single_shape, widen
from graftax.layers.masking import check_mask, expand_mask, zero_hidden_nan
from graftax.layers.policy import DTypePolicy
from graftax.layers.scale_and_shift import ScaleAndShift, standardize_shown
from graftax.layers.weight_settings import WeightSettings
from graftax.ops.checks import axis_in_range
from graftax.variables.constraints import ConstraintLike
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike


class GroupNormalization(ScaleAndShift):
    r"""Shifts and scales groups of channels of each element to mean 0 and variance 1 over the group and all of space.

    .. math:: y = \gamma \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta

    Positions that a mask hides do not count.

    Args:
        groups: How many groups, which divides the number of channels; -1 for as many as there are channels. Defaults to
            32.
        axis: The axis of the channels. Defaults to the last one.
        epsilon: Added to the variance. Defaults to 1e-3 as in Keras; PyTorch has 1e-5.
        center: Whether there is a ``beta``. Defaults to True.
        scale: Whether there is a ``gamma``. Defaults to True.
        beta_initializer: What ``beta``, one number a channel, starts as. Defaults to zeros.
        gamma_initializer: What ``gamma``, one number a channel, starts as. Defaults to ones.
        beta_regularizer: Penalty on ``beta``. Defaults to None, none.
        gamma_regularizer: Penalty on ``gamma``. Defaults to None, none.
        beta_constraint: Projection of ``beta`` after each update. Defaults to None, none.
        gamma_constraint: Projection of ``gamma`` after each update. Defaults to None, none.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`; the arithmetic is in float32 at least.

    Shape:
        ``(batch, ..., channels) -> (batch, ..., channels)``

    Raises:
        ArgumentError: epsilon is negative, or ``groups`` is neither above 0 nor -1.
        ShapeError: an input without that axis, with other channels than the first one, or with channels that the groups
            do not divide.

    Example:
        >>> import numpy as np
        >>> x = np.float32([[[1, 10, 5, 50], [3, 30, 7, 70]]])
        >>> GroupNormalization(4, epsilon=0.0)(x)[0].tolist()
        [[-1.0, -1.0, -1.0, -1.0], [1.0, 1.0, 1.0, 1.0]]

    Source: Wu and He, arXiv 1803.08494.
    """

    def __init__(
        self,
        groups: int = 32,
        axis: int = -1,
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
        self.groups = _groups(groups)
        self.axis = axis_number("axis", axis)

    def build(self, input_shape: Shape) -> None:
        sizes = single_shape(input_shape, least=2)
        axis = axis_in_range(type(self).__name__, self.axis, len(sizes))
        if axis == 0:
            raise ShapeError(
                f"axis={self.axis} of an input of shape {sizes}",
                "axis 0 is the batch, whose elements are normalized each on its own",
                "axis=-1 for channels last",
            )
        channels = sizes[axis]
        if self.groups != -1 and channels % self.groups:
            raise ShapeError(
                f"an input of {channels} channels, groups={self.groups}",
                "each group has as many channels",
                f"groups={next(n for n in range(min(self.groups, channels), 0, -1) if channels % n == 0)}",
            )
        self.channels = channels
        self.make_scale_and_shift((channels,))

    def call(self, x: Array, mask: Array | None = None) -> Array:
        sizes = single_shape(array_shape(x), least=2)
        axis = axis_in_range(type(self).__name__, self.axis, len(sizes))
        if sizes[axis] != self.channels:
            raise ShapeError(
                f"an input of shape {sizes}, with {sizes[axis]} channels on axis {self.axis}",
                f"the layer was made for {self.channels}, at the first call",
                f"an input with {self.channels} channels, or a new layer for the other number",
            )
        if mask is not None:
            mask = check_mask(mask, sizes)
        given, x = x, zero_hidden_nan(widen(require_real(x)), mask)
        groups = self.channels if self.groups == -1 else self.groups
        parted = (*sizes[:axis], groups, self.channels // groups, *sizes[axis + 1 :])
        axes = tuple(i for i in range(1, len(parted)) if i != axis)
        grouped = ops.reshape(x, parted)
        if mask is None or mask.ndim == 1:
            out = ops.standardize(grouped, axes, self.epsilon)
        else:
            shown = ops.reshape(ops.broadcast_to(expand_mask(mask, x.ndim), sizes), parted)
            out = standardize_shown(grouped, axes, shown, self.epsilon)
        along = tuple(n if i == axis else 1 for i, n in enumerate(sizes))
        return narrow(self.scale_and_shift(ops.reshape(out, sizes), along), given, self.compute_dtype)


class InstanceNormalization(GroupNormalization):
    r"""Shifts and scales each channel of each element to mean 0 and variance 1 over all of space.

    .. math:: y = \gamma \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta

    Positions that a mask hides do not count.

    Args:
        axis: The axis of the channels. Defaults to the last one.
        epsilon: Added to the variance. Defaults to 1e-3; PyTorch has 1e-5.
        center: Whether there is a ``beta``. Defaults to True; PyTorch has neither unless told ``affine=True``.
        scale: Whether there is a ``gamma``. Defaults to True.
        beta_initializer: What ``beta``, one number a channel, starts as. Defaults to zeros.
        gamma_initializer: What ``gamma``, one number a channel, starts as. Defaults to ones.
        beta_regularizer: Penalty on ``beta``. Defaults to None, none.
        gamma_regularizer: Penalty on ``gamma``. Defaults to None, none.
        beta_constraint: Projection of ``beta`` after each update. Defaults to None, none.
        gamma_constraint: Projection of ``gamma`` after each update. Defaults to None, none.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`; the arithmetic is in float32 at least.

    Shape:
        ``(batch, ..., channels) -> (batch, ..., channels)``

    Raises:
        ArgumentError: epsilon is negative.
        ShapeError: an input without that axis, or with other channels than the first one.

    Example:
        >>> import numpy as np
        >>> InstanceNormalization(epsilon=0.0)(np.float32([[[1, 10], [3, 30]]]))[0].tolist()
        [[-1.0, -1.0], [1.0, 1.0]]

    Source: Ulyanov et al., arXiv 1607.08022.
    """

    def __init__(
        self,
        axis: int = -1,
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
            -1,
            axis,
            epsilon,
            center,
            scale,
            beta_initializer,
            gamma_initializer,
            beta_regularizer,
            gamma_regularizer,
            beta_constraint,
            gamma_constraint,
            name,
            trainable,
            dtype,
        )


def _groups(value: int) -> int:
    try:
        number = 0 if isinstance(value, bool) else index(value)
    except TypeError:
        number = 0
    if number != -1 and not 0 < number < 2**63:
        raise ArgumentError(f"groups={value!r}", "groups is an integer above 0, or -1 for one a channel", "groups=8")
    return number
