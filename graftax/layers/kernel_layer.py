"""KernelLayer: what layers with a kernel and a bias share."""

from __future__ import annotations

from graftax import ops
from graftax.core.typedefs import Array, Shape
from graftax.layers import activations
from graftax.layers.arguments import flag, switched_off
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.variables import constraints, initializers, regularizers
from graftax.variables.constraints import ConstraintLike
from graftax.variables.given_back import activated
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike
from graftax.variables.variable import Variable


class KernelLayer(Layer):
    """The base of layers that compute ``activation(kernel applied to x + bias)``.

    Args:
        activation: A name or function.
        use_bias: Whether there is a bias.
        kernel_initializer: What the kernel starts as.
        bias_initializer: What the bias starts as.
        kernel_regularizer: Penalty on the kernel.
        bias_regularizer: Penalty on the bias.
        kernel_constraint: Projection of the kernel after each update.
        bias_constraint: Projection of the bias after each update.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`.
    """

    bias: Variable | None

    def __init__(
        self,
        activation: activations.ActivationLike,
        use_bias: bool,
        kernel_initializer: InitializerLike,
        bias_initializer: InitializerLike,
        kernel_regularizer: RegularizerLike,
        bias_regularizer: RegularizerLike,
        kernel_constraint: ConstraintLike,
        bias_constraint: ConstraintLike,
        name: str | None,
        trainable: bool,
        dtype: str | DTypePolicy | None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        self.activation = activations.get(activation)
        self.use_bias = flag("use_bias", use_bias)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        if not self.use_bias:
            settings = self.bias_regularizer, self.bias_constraint
            switched_off("use_bias", "bias", self.bias_initializer, initializers.Zeros, *settings)

    def make_weights(self, kernel_shape: Shape, bias_shape: Shape) -> None:
        """Make the kernel, and the bias where there is one."""
        self.kernel = self.add_weight(
            kernel_shape,
            self.kernel_initializer,
            name="kernel",
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                bias_shape,
                self.bias_initializer,
                name="bias",
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )

    def finish(self, out: Array) -> Array:
        """Add the bias, if there is one, and apply the activation."""
        return activated(self.activation, out if self.bias is None else ops.add(out, self.bias))
