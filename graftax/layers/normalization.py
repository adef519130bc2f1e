"""Normalization: the scale and the shift that layers of normalization learn."""

from __future__ import annotations

from graftax.core.typedefs import Shape
from graftax.layers.arguments import flag, within
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.layers.weight_settings import WeightSettings
from graftax.variables import initializers
from graftax.variables.variable import Variable


class Normalization(Layer):
    """The base of `BatchNormalization` and `LayerNormalization`, which describe the arguments.

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
        self.epsilon = within("epsilon", epsilon, 0, float("inf"))
        self.center, self.scale = flag("center", center), flag("scale", scale)
        if not self.center:
            beta.check_unused("center", "beta", initializers.Zeros)
        if not self.scale:
            gamma.check_unused("scale", "gamma", initializers.Ones)
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
