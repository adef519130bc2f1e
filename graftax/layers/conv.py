"""Convolutions over one to three axes of space, channels last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from graftax import ops
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array, Shape
from graftax.layers.activations import ActivationLike
from graftax.layers.arguments import array_shape, check_positive, for_each_axis, single_shape
from graftax.layers.borders import Padding, Pairs, check_mode, fill_borders, standardize_padding
from graftax.layers.kernel_layer import KernelLayer
from graftax.layers.policy import DTypePolicy
from graftax.layers.weight_settings import WeightSettings
from graftax.variables.constraints import ConstraintLike
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike


class Conv(KernelLayer):
    """The base of `Conv1D`, `Conv2D` and `Conv3D`, which describe the arguments."""

    _gx_of_weights = frozenset({"filters", "kernel_size"})

    compiles_call = True
    space: ClassVar[int]
    paddings: ClassVar[tuple[str, ...]] = ("valid", "same")

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: Padding = "valid",
        dilation_rate: int | Sequence[int] = 1,
        groups: int = 1,
        activation: ActivationLike = None,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
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
                initializer=kernel_initializer, regularizer=kernel_regularizer, constraint=kernel_constraint
            ),
            bias=WeightSettings.of(
                initializer=bias_initializer, regularizer=bias_regularizer, constraint=bias_constraint
            ),
            name=name,
            trainable=trainable,
            dtype=dtype,
        )
        self.filters = check_positive("filters", filters)
        self.kernel_size = for_each_axis("kernel_size", kernel_size, self.space)
        self.strides = for_each_axis("strides", strides, self.space)
        self.padding = standardize_padding(padding, self.space, self.paddings)
        self.padding_mode = check_mode(padding_mode, self.padding, "zeros")
        self.dilation_rate = for_each_axis("dilation_rate", dilation_rate, self.space)
        self.groups = check_positive("groups", groups, example=1)
        if self.filters % self.groups:
            raise ArgumentError(
                f"filters={filters}, groups={groups}", "each group makes as many filters", f"filters={self.groups * 4}"
            )

    def build(self, input_shape: Shape) -> None:
        channels = single_shape(input_shape, self.space + 2, self.space + 2)[-1]
        if channels % self.groups:
            raise ShapeError(
                f"an input of {channels} channels, groups={self.groups}",
                "each group sees as many channels",
                f"a number of channels that {self.groups} divides",
            )
        self.make_weights((*self.kernel_size, channels // self.groups, self.filters), (self.filters,))

    def call(self, x: Array) -> Array:
        single_shape(array_shape(x), self.space + 2, self.space + 2)
        x, padding = self.add_borders(x)
        return self.finish(ops.conv(x, self.kernel, self.strides, padding, self.dilation_rate, self.groups))

    def add_borders(self, x: Array) -> tuple[Array, str | Pairs]:
        """Return the input with borders of its own values, if these are asked for, and what padding is left to do."""
        if self.padding_mode == "zeros":
            return x, self.padding
        window = tuple((n - 1) * d + 1 for n, d in zip(self.kernel_size, self.dilation_rate, strict=True))
        return fill_borders(x, self.padding, self.padding_mode, window, self.strides)


class Conv1D(Conv):
    """Convolution over one axis, such as time.

    Args:
        filters: Number of output channels.
        kernel_size: Width of the window.
        strides: Step of the window.
        padding: ``"valid"`` (none), ``"same"`` (output as long as the input over the strides; the odd zero goes to the
            end), ``"causal"`` (zeros in front only: no output sees a later input), a number of values on both sides,
            or a pair for before and after. Defaults to ``"valid"``.
        dilation_rate: Distance of the inputs that a window sees.
        groups: Number of groups of channels that are convolved apart.
        activation: A name or function of `graftax.activations`. Defaults to none.
        use_bias: Whether there is a bias.
        kernel_initializer: What the kernel, of shape ``(window, in / groups, filters)``, starts as.
        bias_initializer: What the bias starts as.
        kernel_regularizer: Penalty on the kernel.
        bias_regularizer: Penalty on the bias.
        kernel_constraint: Projection of the kernel after each update.
        bias_constraint: Projection of the bias after each update.
        padding_mode: What stands in the borders: ``"zeros"``, ``"reflect"`` (the values mirrored at the last one),
            ``"replicate"`` (the last value) or ``"circular"`` (the values of the other end). Defaults to ``"zeros"``.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, steps, in) -> (batch, new_steps, filters)``

    Raises:
        ArgumentError: a setting is out of range or a name unknown.
        ShapeError: an input has other axes or channels, or the window is larger than it.

    Example:
        >>> import numpy as np
        >>> Conv1D(4, 3, padding="causal")(np.ones((2, 8, 5), "float32")).shape
        (2, 8, 4)
    """

    space = 1
    paddings = ("valid", "same", "causal")


class Conv2D(Conv):
    """Convolution over two axes, such as those of an image.

    Args:
        filters: Number of output channels.
        kernel_size: Height and width of the window; one number for both.
        strides: Steps of the window.
        padding: ``"valid"`` (none) or ``"same"`` (output as large as the input over the strides; the odd zero goes to
            the end), a number of values on all sides, or for each axis a number or a pair for before and after.
            Defaults to ``"valid"``.
        dilation_rate: Distance of the inputs that a window sees.
        groups: Number of groups of channels that are convolved apart.
        activation: A name or function of `graftax.activations`. Defaults to none.
        use_bias: Whether there is a bias.
        kernel_initializer: What the kernel, of shape ``(height, width, in / groups, filters)``, starts as.
        bias_initializer: What the bias starts as.
        kernel_regularizer: Penalty on the kernel.
        bias_regularizer: Penalty on the bias.
        kernel_constraint: Projection of the kernel after each update.
        bias_constraint: Projection of the bias after each update.
        padding_mode: What stands in the borders: ``"zeros"``, ``"reflect"`` (the values mirrored at the last one),
            ``"replicate"`` (the last value) or ``"circular"`` (the values of the other end). Defaults to ``"zeros"``.
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
        >>> layer = Conv2D(4, 3, strides=2, activation="relu")
        >>> layer(np.ones((2, 9, 9, 3), "float32")).shape, layer.kernel.shape
        ((2, 4, 4, 4), (3, 3, 3, 4))
    """

    space = 2


class Conv3D(Conv):
    """Convolution over three axes, such as those of a volume or a video.

    Args: as for `Conv2D`, with three axes of space.

    Shape:
        ``(batch, depth, height, width, in) -> (batch, new_depth, new_height, new_width, filters)``

    Raises:
        ArgumentError: a setting is out of range or a name unknown.
        ShapeError: an input has other axes or channels, or the window is larger than it.

    Example:
        >>> import numpy as np
        >>> Conv3D(4, 2)(np.ones((1, 3, 4, 5, 2), "float32")).shape
        (1, 2, 3, 4, 4)
    """

    space = 3
