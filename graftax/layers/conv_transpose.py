"""Transposed convolutions over one to three axes of space, channels last: they make inputs larger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from graftax import ops
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array, Shape
from graftax.layers.activations import ActivationLike
from graftax.layers.arguments import array_shape, check_positive, for_each_axis, single_shape
from graftax.layers.borders import Padding, standardize_padding
from graftax.layers.kernel_layer import KernelLayer
from graftax.layers.policy import DTypePolicy
from graftax.layers.weight_settings import WeightSettings
from graftax.variables.constraints import ConstraintLike
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike


class ConvTranspose(KernelLayer):
    """The base of `Conv1DTranspose`, `Conv2DTranspose` and `Conv3DTranspose`, which describe the arguments."""

    _gx_of_weights = frozenset({"filters", "kernel_size"})

    compiles_call = True
    space: ClassVar[int]

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: Padding = "valid",
        output_padding: int | Sequence[int] | None = None,
        dilation_rate: int | Sequence[int] = 1,
        activation: ActivationLike = None,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
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
        self.padding = standardize_padding(padding, self.space, ("valid", "same"))
        self.dilation_rate = for_each_axis("dilation_rate", dilation_rate, self.space)
        self.output_padding = None if output_padding is None else self._standardize_output_padding(output_padding)

    def _standardize_output_padding(self, value: int | Sequence[int]) -> Shape:
        pairs: Any = standardize_padding(value, self.space, name="output_padding")
        added: Shape = tuple(high for _, high in pairs)
        if any(low != high or high >= s for (low, high), s in zip(pairs, self.strides, strict=True)):
            raise ArgumentError(
                f"output_padding={value!r}, strides={self.strides}",
                "it says which of the sizes that the strides leave open the output has: a number below the stride",
                f"output_padding={min(1, min(self.strides) - 1)}",
            )
        return added

    def build(self, input_shape: Shape) -> None:
        channels = single_shape(input_shape, self.space + 2, self.space + 2)[-1]
        self.make_weights((*self.kernel_size, self.filters, channels), (self.filters,))

    def call(self, x: Array) -> Array:
        sizes = single_shape(array_shape(x), self.space + 2, self.space + 2)[1:-1]
        kernel = ops.swapaxes(self.kernel, -1, -2)
        if isinstance(self.padding, str) and self.output_padding is None:
            return self.finish(ops.conv_transpose(x, kernel, self.strides, self.padding, self.dilation_rate))
        cut, added = self._borders(sizes)
        out = ops.conv_transpose(x, kernel, self.strides, cut, self.dilation_rate)
        if any(added):  # no value of the input reaches that far
            out = ops.pad(out, ((0, 0), *((0, n) for n in added), (0, 0)))
        return self.finish(out)

    def _borders(self, sizes: Shape) -> tuple[tuple[tuple[int, int], ...], Shape]:
        """Return what is cut from the ends of all that the windows write, and how many zeros come after it."""
        cuts, added = [], []
        for i, n in enumerate(sizes):
            span = (self.kernel_size[i] - 1) * self.dilation_rate[i] + 1
            extra = self.output_padding[i] if self.output_padding else 0
            if not isinstance(self.padding, str):
                low, high = self.padding[i]
            elif self.padding == "same":  # all in all span // 2 from both ends, what is added counted as in Keras
                low = max(span - 1 - (span + span % 2 + extra - 1) // 2, 0)
                high = 2 * (span // 2) - low
            else:
                low = high = 0
            length = (n - 1) * self.strides[i] + span - low - high + extra
            if n and length < 1:
                raise ShapeError(
                    f"padding={self.padding} for {n} values, kernel_size={self.kernel_size}, strides={self.strides}",
                    f"it cuts off {low + high} of {(n - 1) * self.strides[i] + span} values",
                    'padding="same", or a smaller number',
                )
            open_end = high - extra + max(self.strides[i] - span, 0)
            cuts.append((low, max(open_end, 0)))
            added.append(max(-open_end, 0))
        return tuple(cuts), tuple(added)


class Conv1DTranspose(ConvTranspose):
    """Transposed convolution over one axis, such as time.

    Args: as for `Conv2DTranspose`, with one axis of space.

    Shape:
        ``(batch, steps, in) -> (batch, new_steps, filters)``

    Example:
        >>> import numpy as np
        >>> Conv1DTranspose(4, 3, strides=2, padding="same")(np.ones((2, 8, 5), "float32")).shape
        (2, 16, 4)
    """

    space = 1


class Conv2DTranspose(ConvTranspose):
    """Transposed convolution over two axes: each value writes a window, as the gradient of `Conv2D` does.

    Args:
        filters: Number of output channels.
        kernel_size: Height and width of the window; one number for both.
        strides: By how much larger the output is. Defaults to 1.
        padding: ``"valid"`` keeps all that windows write, ``"same"`` an output as large as the input times the strides.
            A number, or for each axis a number or a pair, says how many values are cut from both ends, as in PyTorch.
            Defaults to ``"valid"``.
        output_padding: How many values more the output has at its ends, below the strides: the sizes
            ``(n - 1) * stride + window - cut + output_padding``. Defaults to None: as many as the word says, or 0 where
            ``padding`` is a number.
        dilation_rate: Distance of the values that a window writes. Defaults to 1.
        activation: A name or function of `graftax.activations`. Defaults to None, none.
        use_bias: Whether there is a bias. Defaults to True.
        kernel_initializer: What the kernel, of shape ``(height, width, filters, in)``, starts as.
        bias_initializer: What the bias starts as. Defaults to zeros.
        kernel_regularizer: Penalty on the kernel. Defaults to None, none.
        bias_regularizer: Penalty on the bias. Defaults to None, none.
        kernel_constraint: Projection of the kernel after each update. Defaults to None, none.
        bias_constraint: Projection of the bias after each update. Defaults to None, none.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, height, width, in) -> (batch, new_height, new_width, filters)``

    Raises:
        ArgumentError: a setting is out of range or a name unknown.
        ShapeError: an input has other axes or channels, or the padding leaves nothing of the output.

    Example:
        >>> import numpy as np
        >>> layer = Conv2DTranspose(4, 3, strides=2, padding="same")
        >>> layer(np.ones((2, 5, 5, 3), "float32")).shape, layer.kernel.shape
        ((2, 10, 10, 4), (3, 3, 4, 3))

    Source: Dumoulin and Visin, arXiv 1603.07285.
    """

    space = 2


class Conv3DTranspose(ConvTranspose):
    """Transposed convolution over three axes, such as those of a volume.

    Args: as for `Conv2DTranspose`, with three axes of space.

    Shape:
        ``(batch, depth, height, width, in) -> (batch, new_depth, new_height, new_width, filters)``

    Example:
        >>> import numpy as np
        >>> Conv3DTranspose(4, 2, strides=2)(np.ones((1, 2, 3, 4, 2), "float32")).shape
        (1, 4, 6, 8, 4)
    """

    space = 3
