"""KernelLayer: what layers with a kernel and a bias share."""

from __future__ import annotations

from typing import ClassVar

from graftax import ops
from graftax.core.typedefs import Array, Initializer, Shape
from graftax.layers import activations
from graftax.layers.activations import Activation
from graftax.layers.arguments import check_flag
from graftax.layers.layer import Layer
from graftax.layers.named_activation import NamedActivation
from graftax.layers.policy import DTypePolicy
from graftax.layers.weight_settings import WeightSettings
from graftax.variables import initializers
from graftax.variables.given_back import apply_activation
from graftax.variables.variable import Variable


class KernelLayer(Layer):
    """The base of layers that compute ``activation(kernel applied to x + bias)``.

    Args:
        activation: A name or function.
        use_bias: Whether there is a bias.
        kernel: The settings of the kernel.
        bias: The settings of the bias.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`.
    """

    _gx_of_weights = frozenset({"use_bias"})
    _gx_kernel_argument: ClassVar[str] = "kernel"
    """What the arguments about the kernel are called after."""

    activation: Activation = NamedActivation()  # type: ignore[assignment]  # takes names, too
    bias: Variable | None

    def __init__(
        self,
        *,
        activation: activations.ActivationLike,
        use_bias: bool,
        kernel: WeightSettings,
        bias: WeightSettings,
        name: str | None,
        trainable: bool,
        dtype: str | DTypePolicy | None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        self.activation = activations.get(activation)
        self.use_bias = check_flag("use_bias", use_bias)
        if not self.use_bias:
            bias.check_unused("use_bias=False", "use_bias=True", "bias", initializers.Zeros)
        kernel.keep(self, self._gx_kernel_argument)
        self.bias_initializer = bias.initializer
        self.bias_regularizer = bias.regularizer
        self.bias_constraint = bias.constraint

    def make_weights(self, kernel_shape: Shape, bias_shape: Shape) -> None:
        """Make the kernel, and the bias where there is one."""
        self.make_kernel(kernel_shape)
        self.make_bias(bias_shape)

    def make_kernel(self, shape: Shape) -> None:
        """Make the kernel."""
        told = WeightSettings.kept_by(self, self._gx_kernel_argument)
        self.kernel = self.add_weight(
            shape, told.initializer, name="kernel", regularizer=told.regularizer, constraint=told.constraint
        )

    def first_bias(self) -> Initializer:
        """Return what the bias starts as."""
        return self.bias_initializer

    def make_bias(self, shape: Shape) -> None:
        """Make the bias where there is one."""
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                shape,
                self.first_bias(),
                name="bias",
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )

    def finish(self, out: Array) -> Array:
        """Add the bias, if there is one, and apply the activation."""
        return apply_activation(self.activation, out if self.bias is None else ops.add(out, self.bias))
