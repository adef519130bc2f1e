"""Separable convolutions: each channel on its own, then all channels of each place, channels last."""

from __future__ import annotations

from collections.abc import Sequence

from graftax import ops
from graftax.core.typedefs import Array, Shape
from graftax.layers.activations import ActivationLike
from graftax.layers.arguments import check_positive, single_shape
from graftax.layers.borders import Padding
from graftax.layers.dense import linear
from graftax.layers.depthwise_conv import DepthwiseConv
from graftax.layers.policy import DTypePolicy
from graftax.layers.weight_settings import WeightSettings
from graftax.variables.constraints import ConstraintLike
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike


class SeparableConv(DepthwiseConv):
    """The base of `SeparableConv1D` and `SeparableConv2D`, which describe the arguments."""

    _gx_of_weights = frozenset({"filters"})

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: Padding = "valid",
        dilation_rate: int | Sequence[int] = 1,
        depth_multiplier: int = 1,
        activation: ActivationLike = None,
        use_bias: bool = True,
        depthwise_initializer: InitializerLike = "glorot_uniform",
        pointwise_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        depthwise_regularizer: RegularizerLike = None,
        pointwise_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        depthwise_constraint: ConstraintLike = None,
        pointwise_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        padding_mode: str = "zeros",
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(
            kernel_size,
            strides=strides,
            padding=padding,
            depth_multiplier=depth_multiplier,
            dilation_rate=dilation_rate,
            activation=activation,
            use_bias=use_bias,
            depthwise_initializer=depthwise_initializer,
            bias_initializer=bias_initializer,
            depthwise_regularizer=depthwise_regularizer,
            bias_regularizer=bias_regularizer,
            depthwise_constraint=depthwise_constraint,
            bias_constraint=bias_constraint,
            padding_mode=padding_mode,
            name=name,
            trainable=trainable,
            dtype=dtype,
        )
        self.filters = check_positive("filters", filters)
        pointwise = WeightSettings.of(
            initializer=pointwise_initializer, regularizer=pointwise_regularizer, constraint=pointwise_constraint
        )
        self.pointwise_initializer = pointwise.initializer
        self.pointwise_regularizer = pointwise.regularizer
        self.pointwise_constraint = pointwise.constraint

    def build(self, input_shape: Shape) -> None:
        channels = single_shape(input_shape, self.space + 2, self.space + 2)[-1]
        self.depthwise_kernel = self.add_weight(
            (*self.kernel_size, channels, self.depth_multiplier),
            self.depthwise_initializer,
            name="depthwise_kernel",
            regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
        )
        self.pointwise_kernel = self.add_weight(
            (*[1] * self.space, channels * self.depth_multiplier, self.filters),
            self.pointwise_initializer,
            name="pointwise_kernel",
            regularizer=self.pointwise_regularizer,
            constraint=self.pointwise_constraint,
        )
        self.make_bias((self.filters,))

    def call(self, x: Array) -> Array:
        out = self.depthwise(x, self.depthwise_kernel)
        return self.finish(linear(out, ops.reshape(self.pointwise_kernel, self.pointwise_kernel.shape[-2:])))


class SeparableConv1D(SeparableConv):
    """Convolution over one axis, each channel with windows of its own, then a product over the channels.

    Args: as for `SeparableConv2D`, with one axis of space; ``padding`` may be ``"causal"``, too, as for `Conv1D`.

    Shape:
        ``(batch, steps, in) -> (batch, new_steps, filters)``

    Example:
        >>> import numpy as np
        >>> SeparableConv1D(4, 3, padding="causal")(np.ones((2, 8, 5), "float32")).shape
        (2, 8, 4)
    """

    space = 1
    paddings = ("valid", "same", "causal")


class SeparableConv2D(SeparableConv):
    """Convolution over two axes, each channel with windows of its own, then a product over the channels of each place.

    Args:
        filters: Number of output channels.
        kernel_size: Height and width of the window; one number for both.
        strides: Steps of the window. Defaults to 1.
        padding: As for `Conv2D`. Defaults to ``"valid"``.
        dilation_rate: Distance of the inputs that a window sees. Defaults to 1.
        depth_multiplier: How many values each channel has between the two. Defaults to 1.
        activation: A name or function of `graftax.activations`. Defaults to None, none.
        use_bias: Whether there is a bias. Defaults to True.
        depthwise_initializer: What the first kernel, of shape ``(height, width, in, depth_multiplier)``, starts as.
        pointwise_initializer: What the second one, of shape ``(1, 1, in * depth_multiplier, filters)``, starts as.
        bias_initializer: What the bias starts as. Defaults to zeros.
        depthwise_regularizer: Penalty on ``depthwise_kernel``. Defaults to None, none.
        pointwise_regularizer: Penalty on ``pointwise_kernel``. Defaults to None, none.
        bias_regularizer: Penalty on the bias. Defaults to None, none.
        depthwise_constraint: Projection of ``depthwise_kernel`` after each update. Defaults to None, none.
        pointwise_constraint: Projection of ``pointwise_kernel`` after each update. Defaults to None, none.
        bias_constraint: Projection of the bias after each update. Defaults to None, none.
        padding_mode: What stands in the borders, as for `Conv2D`. Defaults to ``"zeros"``.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, height, width, in) -> (batch, new_height, new_width, filters)``

    Raises:
        ArgumentError: a setting is out of range or a name unknown.
        ShapeError: an input has other axes or channels, or the window is larger than it.

    Example:
        >>> import numpy as np
        >>> layer = SeparableConv2D(4, 3)
        >>> layer(np.ones((2, 9, 9, 3), "float32")).shape, [v.shape for v in layer.variables]
        ((2, 7, 7, 4), [(3, 3, 3, 1), (1, 1, 3, 4), (4,)])

    Source: Chollet, arXiv 1610.02357.
    """

    space = 2
