"""Depthwise convolutions: each channel on its own, channels last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from graftax import ops
from graftax.core.typedefs import Array, Initializer, Shape
from graftax.layers.activations import ActivationLike
from graftax.layers.arguments import check_last_axis, check_positive, for_each_axis, single_shape
from graftax.layers.borders import Padding, check_mode, fill_borders, standardize_padding
from graftax.layers.kernel_layer import KernelLayer
from graftax.layers.policy import DTypePolicy
from graftax.layers.weight_settings import WeightSettings
from graftax.variables.constraints import ConstraintLike
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike
from graftax.variables.spec import Constraint, Regularizer
from graftax.variables.variable import Variable


class DepthwiseConv(KernelLayer):
    """The base of `DepthwiseConv1D` and `DepthwiseConv2D`, which describe the arguments."""

    _gx_of_weights = frozenset({"depth_multiplier", "kernel_size"})
    _gx_kernel_argument = "depthwise"
    depthwise_initializer: Initializer
    depthwise_regularizer: Regularizer | None
    depthwise_constraint: Constraint | None

    compiles_call = True
    space: ClassVar[int]
    paddings: ClassVar[tuple[str, ...]] = ("valid", "same")

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: Padding = "valid",
        depth_multiplier: int = 1,
        dilation_rate: int | Sequence[int] = 1,
        activation: ActivationLike = None,
        use_bias: bool = True,
        depthwise_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        depthwise_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        depthwise_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        padding_mode: str = "zeros",
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(
            activation=activation,
            use_bias=use_bias,
            kernel=WeightSettings.of(
                initializer=depthwise_initializer, regularizer=depthwise_regularizer, constraint=depthwise_constraint
            ),
            bias=WeightSettings.of(
                initializer=bias_initializer, regularizer=bias_regularizer, constraint=bias_constraint
            ),
            name=name,
            trainable=trainable,
            dtype=dtype,
        )
        self.kernel_size = for_each_axis("kernel_size", kernel_size, self.space)
        self.strides = for_each_axis("strides", strides, self.space)
        self.padding = standardize_padding(padding, self.space, self.paddings)
        self.padding_mode = check_mode(padding_mode, self.padding, "zeros")
        self.depth_multiplier = check_positive("depth_multiplier", depth_multiplier, 1)
        self.dilation_rate = for_each_axis("dilation_rate", dilation_rate, self.space)

    def build(self, input_shape: Shape) -> None:
        channels = single_shape(input_shape, self.space + 2, self.space + 2)[-1]
        self.make_weights((*self.kernel_size, channels, self.depth_multiplier), (channels * self.depth_multiplier,))

    def call(self, x: Array) -> Array:
        return self.finish(self.depthwise(x, self.kernel))

    def depthwise(self, x: Array, kernel: Variable) -> Array:
        """Convolve each channel with kernels of its own: ``(*window, channels, depth_multiplier)``."""
        *window, channels, _ = kernel.shape
        check_last_axis(x, channels)
        single_shape(x.shape, self.space + 2, self.space + 2)
        spans = tuple((n - 1) * d + 1 for n, d in zip(window, self.dilation_rate, strict=True))
        x, padding = fill_borders(x, self.padding, self.padding_mode, spans, self.strides)
        grouped = ops.reshape(kernel, (*window, 1, channels * self.depth_multiplier))
        return ops.conv(x, grouped, self.strides, padding, self.dilation_rate, channels)


class DepthwiseConv1D(DepthwiseConv):
    """Convolution over one axis, each channel with windows of its own.

    Args: as for `DepthwiseConv2D`, with one axis of space; ``padding`` may be ``"causal"``, too, as for `Conv1D`.

    Shape:
        ``(batch, steps, in) -> (batch, new_steps, in * depth_multiplier)``

    Example:
        >>> import numpy as np
        >>> DepthwiseConv1D(3, padding="causal")(np.ones((2, 8, 5), "float32")).shape
        (2, 8, 5)
    """

    space = 1
    paddings = ("valid", "same", "causal")


class DepthwiseConv2D(DepthwiseConv):
    """Convolution over two axes, each channel with windows of its own; channels are not mixed.

    Args:
        kernel_size: Height and width of the window; one number for both.
        strides: Steps of the window. Defaults to 1.
        padding: As for `Conv2D`. Defaults to ``"valid"``.
        depth_multiplier: How many outputs each channel has. Defaults to 1.
        dilation_rate: Distance of the inputs that a window sees. Defaults to 1.
        activation: A name or function of `graftax.activations`. Defaults to None, none.
        use_bias: Whether there is a bias. Defaults to True.
        depthwise_initializer: What the kernel, of shape ``(height, width, in, depth_multiplier)``, starts as.
        bias_initializer: What the bias starts as. Defaults to zeros.
        depthwise_regularizer: Penalty on the kernel. Defaults to None, none.
        bias_regularizer: Penalty on the bias. Defaults to None, none.
        depthwise_constraint: Projection of the kernel after each update. Defaults to None, none.
        bias_constraint: Projection of the bias after each update. Defaults to None, none.
        padding_mode: What stands in the borders, as for `Conv2D`. Defaults to ``"zeros"``.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, height, width, in) -> (batch, new_height, new_width, in * depth_multiplier)``

    Raises:
        ArgumentError: a setting is out of range or a name unknown.
        ShapeError: an input has other axes or channels, or the window is larger than it.

    Example:
        >>> import numpy as np
        >>> layer = DepthwiseConv2D(3, depth_multiplier=2)
        >>> layer(np.ones((2, 9, 9, 3), "float32")).shape, layer.kernel.shape
        ((2, 7, 7, 6), (3, 3, 3, 2))

    Source: Howard et al., arXiv 1704.04861.
    """

    space = 2
