"""BatchNormalization: each channel shifted and scaled by the statistics of the batch."""

from __future__ import annotations

from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array, Shape
from graftax.layers.arguments import (
    array_shape,
    axis_number,
    check_flag,
    check_range,
    narrow,
    require_real,
    single_shape,
    widen,
)
from graftax.layers.masking import check_mask, expand_mask, zero_hidden_nan
from graftax.layers.policy import DTypePolicy
from graftax.layers.scale_and_shift import ScaleAndShift
from graftax.layers.weight_settings import WeightSettings
from graftax.ops.checks import axis_in_range
from graftax.variables import initializers
from graftax.variables.constraints import ConstraintLike
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike


class BatchNormalization(ScaleAndShift):
    r"""Shifts and scales each channel to mean 0 and variance 1, by the batch in training, by moving averages otherwise.

    .. math:: y = \gamma \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta

    A layer with ``trainable=False`` uses its moving averages even in training, and they stay; after ``layer.freeze()``,
    which is about ``gamma`` and ``beta`` alone, it goes on with batches.
    Positions that a mask hides do not count. The moving averages of a channel stay where a batch has no value for it:
    an empty batch, or one that is masked throughout, leaves no nan behind.

    Args:
        axis: The axis of the channels. Defaults to -1.
        momentum: How much of a moving average stays at each step. Defaults to 0.99.
        epsilon: Added to the variance. Defaults to 1e-3.
        center: Whether there is a ``beta``. Defaults to True.
        scale: Whether there is a ``gamma``. Defaults to True.
        beta_initializer: What ``beta`` starts as. Defaults to ``"zeros"``.
        gamma_initializer: What ``gamma`` starts as. Defaults to ``"ones"``.
        moving_mean_initializer: What the moving mean starts as. Defaults to ``"zeros"``.
        moving_variance_initializer: What the moving variance starts as. Defaults to ``"ones"``.
        beta_regularizer: Penalty on ``beta``. Defaults to None.
        gamma_regularizer: Penalty on ``gamma``. Defaults to None.
        beta_constraint: Projection of ``beta`` after each update. Defaults to None.
        gamma_constraint: Projection of ``gamma`` after each update. Defaults to None.
        unbiased_moving_variance: True averages the variance with n - 1 in place of n, as PyTorch does. Defaults to
            False.
        synchronized: True takes the statistics over every axis that a map around the call has a name for, as
            `jax.shard_map` and ``jax.vmap(axis_name=)`` do; a name, over that axis alone. A batch that is sharded over
            devices under plain compilation is one batch either way. Defaults to False: each its own.
        name: As for `Layer`. Defaults to None.
        trainable: As for `Layer`. Defaults to True.
        dtype: As for `Layer`; the arithmetic and the moving averages are in float32 at least. Defaults to None.

    Shape:
        ``(...) -> (...)``

    Raises:
        ArgumentError: momentum is not from 0 to 1, epsilon is negative, or no map around a call in training has an axis
            of the name that ``synchronized`` says.
        ShapeError: an input without that axis, or with another number of channels.

    Example:
        >>> import numpy as np
        >>> layer = BatchNormalization(momentum=0.9)
        >>> layer(np.float32([[1], [3]]), training=True).round(3).tolist()
        [[-1.0], [1.0]]
        >>> [(v.path, round(float(v[0]), 3)) for v in layer.non_trainable_variables]
        [('moving_mean', 0.2), ('moving_variance', 1.0)]

    Source: Ioffe and Szegedy, arXiv 1502.03167.
    """

    _gx_mixes_samples = True
    _gx_reads_trainable = True

    def __init__(
        self,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: InitializerLike = "zeros",
        gamma_initializer: InitializerLike = "ones",
        moving_mean_initializer: InitializerLike = "zeros",
        moving_variance_initializer: InitializerLike = "ones",
        beta_regularizer: RegularizerLike = None,
        gamma_regularizer: RegularizerLike = None,
        beta_constraint: ConstraintLike = None,
        gamma_constraint: ConstraintLike = None,
        unbiased_moving_variance: bool = False,
        synchronized: bool | str = False,
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
        self.axis = axis_number("axis", axis)
        self.momentum = check_range("momentum", momentum, 0, 1)
        self.moving_mean_initializer = initializers.get(moving_mean_initializer)
        self.moving_variance_initializer = initializers.get(moving_variance_initializer)
        self.unbiased_moving_variance = check_flag("unbiased_moving_variance", unbiased_moving_variance)
        self.synchronized = synchronized if isinstance(synchronized, str) else check_flag("synchronized", synchronized)

    def build(self, input_shape: Shape) -> None:
        sizes = single_shape(input_shape, least=1)
        shape = (sizes[axis_in_range("BatchNormalization", self.axis, len(sizes))],)
        self.make_scale_and_shift(shape)
        dtype = self._gx_dtypes.wide_dtype  # in half precision, what a step adds would be rounded away
        self.moving_mean = self.add_weight(
            shape, self.moving_mean_initializer, name="moving_mean", dtype=dtype, trainable=False, role="state"
        )
        self.moving_variance = self.add_weight(
            shape, self.moving_variance_initializer, name="moving_variance", dtype=dtype, trainable=False, role="state"
        )

    def call(self, x: Array, training: bool | None = None, mask: Array | None = None) -> Array:
        axis = axis_in_range("BatchNormalization", self.axis, len(array_shape(x)))
        channels = self.moving_mean.shape[0]
        if x.shape[axis] != channels:
            raise ShapeError(
                f"an input of shape {tuple(x.shape)}, with {x.shape[axis]} channels on axis {self.axis}",
                f"the weights were made for {channels}, at the first call",
                f"an input with {channels} channels, or a new layer for the other number",
            )
        if mask is not None:
            mask = check_mask(mask, tuple(x.shape))
        given, x = x, zero_hidden_nan(widen(require_real(x)), mask)
        if training and self.trainable:
            mean, variance = self._statistics(x, axis, mask)
        else:
            mean, variance = ops.cast(self.moving_mean, x.dtype), ops.cast(self.moving_variance, x.dtype)
        shape = tuple(channels if i == axis else 1 for i in range(x.ndim))
        factor = ops.rsqrt(variance + self.epsilon)
        if self.gamma is not None:
            factor = factor * ops.cast(self.gamma, factor.dtype)
        out = (x - ops.reshape(mean, shape)) * ops.reshape(factor, shape)
        if self.beta is not None:
            out = out + ops.reshape(ops.cast(self.beta, out.dtype), shape)
        return narrow(out, given, self.compute_dtype)

    def _statistics(self, x: Array, axis: int, mask: Array | None) -> tuple[Array, Array]:
        """Compute mean and variance of the batch, which the moving averages follow."""
        axes, names = tuple(i for i in range(x.ndim) if i != axis), self._named_axes()
        if mask is None and not names:
            count: Array = ops.asarray(x.size // max(1, x.shape[axis]), x.dtype)
            mean, variance = ops.moments(x, axes) if x.size else (ops.zeros((x.shape[axis],), x.dtype),) * 2
        else:
            shown = ops.ones(x.shape, "bool") if mask is None else ops.broadcast_to(expand_mask(mask, x.ndim), x.shape)
            shape = tuple(n if i == axis else 1 for i, n in enumerate(x.shape))

            def total(values: Array) -> Array:
                found = ops.sum(values, axis=axes)
                return registry.current().vectorizing.sum_over_axes(found, names) if names else found

            count = total(ops.cast(shown, x.dtype))  # of each channel: the mask may tell them apart
            share = 1 / ops.maximum(count, 1)
            mean = total(ops.where(shown, x, 0)) * share
            variance = total(ops.square(ops.where(shown, x - ops.reshape(mean, shape), 0))) * share
        kept = variance
        if self.unbiased_moving_variance:
            kept = variance * (count / ops.maximum(count - 1, 1))
        rate = ops.where(count > 0, 1 - self.momentum, 0)  # what has no value in this batch stays
        for moving, new in ((self.moving_mean, mean), (self.moving_variance, kept)):
            old = ops.cast(moving, x.dtype)
            # with a small momentum, a difference from the old one would leave the rounding of that
            nearer = old + (new - old) * rate if self.momentum >= 0.5 else old * (1 - rate) + new * rate
            moving.assign(ops.stop_gradient(ops.cast(nearer, moving.dtype)))
        return mean, variance

    def _named_axes(self) -> tuple[str, ...]:
        """Return the names of the axes around the call over which the batch goes on."""
        backend = registry.current()
        if self.synchronized is False or (self.synchronized is True and not backend.has("vectorizing")):
            return ()
        names = backend.vectorizing.named_axes()
        if self.synchronized is True:
            return names
        if self.synchronized not in names:
            raise ArgumentError(
                f"synchronized={self.synchronized!r}, and a call in training within {list(names) or 'no named axes'}",
                "no map around it has an axis of that name",
                f"a map with axis_name={self.synchronized!r} around the call, or synchronized=True",
            )
        return (str(self.synchronized),)
