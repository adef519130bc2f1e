"""ScaleAndShift: the scale and the shift that layers of normalization learn, and statistics of what a mask shows."""

from __future__ import annotations

from graftax import ops
from graftax.core.typedefs import Array, Shape
from graftax.layers.arguments import check_flag, check_range
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.layers.weight_settings import WeightSettings
from graftax.variables import initializers
from graftax.variables.variable import Variable


class ScaleAndShift(Layer):
    """The base of layers of normalization, which describe the arguments.

    Args:
        epsilon: Added to the variance.
        center: Whether there is a ``beta``.
        scale: Whether there is a ``gamma``.
        beta: The settings of ``beta``.
        gamma: The settings of ``gamma``.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`.
    """

    _gx_of_weights = frozenset({"center", "scale"})

    supports_masking = True
    compiles_call = True
    gamma: Variable | None
    beta: Variable | None

    def __init__(
        self,
        *,
        epsilon: float,
        center: bool,
        scale: bool,
        beta: WeightSettings,
        gamma: WeightSettings,
        name: str | None,
        trainable: bool,
        dtype: str | DTypePolicy | None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        self.epsilon = check_range("epsilon", epsilon, 0, float("inf"))
        self.center, self.scale = check_flag("center", center), check_flag("scale", scale)
        if not self.center:
            beta.check_unused("center=False", "center=True", "beta", initializers.Zeros)
        if not self.scale:
            gamma.check_unused("scale=False", "scale=True", "gamma", initializers.Ones)
        self.beta_initializer = beta.initializer
        self.beta_regularizer = beta.regularizer
        self.beta_constraint = beta.constraint
        self.gamma_initializer = gamma.initializer
        self.gamma_regularizer = gamma.regularizer
        self.gamma_constraint = gamma.constraint

    def make_scale_and_shift(self, shape: Shape) -> None:
        """Make ``gamma`` and ``beta``, each where the layer has one."""
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

    def scale_and_shift(self, out: Array, sizes: Shape) -> Array:
        """Compute ``gamma * out + beta``, each where the layer has one, in sizes that broadcast to ``out``."""
        if self.gamma is not None:
            out = out * ops.reshape(ops.cast(self.gamma, out.dtype), sizes)
        if self.beta is not None:
            out = out + ops.reshape(ops.cast(self.beta, out.dtype), sizes)
        return out


def standardize_shown(x: Array, axes: Shape, shown: Array, epsilon: float) -> Array:
    """Compute ``(x - mean) / sqrt(variance + epsilon)`` over axes, by the mean and variance of what is shown.

    Args:
        x: Finite values, of 32 bits at least.
        axes: The axes of the statistics.
        shown: True for what counts; broadcasts to ``x``.
        epsilon: Added to the variance.
    """
    shown = ops.broadcast_to(shown, x.shape)
    share = 1 / ops.maximum(ops.sum(ops.cast(shown, x.dtype), axis=axes, keepdims=True), 1)
    away = x - ops.sum(ops.where(shown, x, 0), axis=axes, keepdims=True) * share
    variance = ops.sum(ops.square(ops.where(shown, away, 0)), axis=axes, keepdims=True) * share
    return away * ops.rsqrt(variance + epsilon)
