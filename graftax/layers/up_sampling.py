"""Images, sequences and volumes made larger by whole factors, channels last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from graftax import ops
from graftax.core.errors import ShapeError
from graftax.core.typedefs import Array, Shape
from graftax.layers.arguments import (
    array_shape,
    check_choice,
    check_positive,
    for_each_axis,
    narrow,
    single_shape,
    widen,
)
from graftax.layers.layer import Layer
from graftax.layers.masked_space import move_mask
from graftax.layers.policy import DTypePolicy
from graftax.layers.resizing import INTERPOLATIONS, resize


class UpSampling(Layer):
    """The base of `UpSampling1D`, `UpSampling2D` and `UpSampling3D`, which describe the arguments."""

    supports_masking = True
    compiles_call = True
    space: ClassVar[int]

    def __init__(
        self, size: int | Sequence[int] = 2, name: str | None = None, dtype: str | DTypePolicy | None = None
    ) -> None:
        super().__init__(name, dtype=dtype)
        self.size = for_each_axis("size", size, self.space)

    def call(self, x: Array) -> Array:
        single_shape(array_shape(x), self.space + 2, self.space + 2)
        return repeat_values(x, self.size)

    def compute_mask(self, inputs: Array, mask: Array | None) -> Array | None:
        """Return that of the input, repeated as its values are."""
        return move_mask(mask, inputs, self.call)


def repeat_values(x: Array, factors: Shape) -> Array:
    """Repeat each value of the axes of space as a block of copies: ``(batch, *space, channels)``."""
    batch, *sizes, channels = x.shape
    apart = tuple(n for size in sizes for n in (size, 1))
    wide = tuple(n for size, factor in zip(sizes, factors, strict=True) for n in (size, factor))
    larger = tuple(size * factor for size, factor in zip(sizes, factors, strict=True))
    blocks = ops.broadcast_to(ops.reshape(x, (batch, *apart, channels)), (batch, *wide, channels))
    return ops.reshape(blocks, (batch, *larger, channels))


class UpSampling1D(UpSampling):
    """Each step repeated.

    Args: as for `UpSampling3D`, with one axis of space.

    Shape:
        ``(batch, steps, channels) -> (batch, steps * size, channels)``

    Example:
        >>> import numpy as np
        >>> UpSampling1D(2)(np.float32([[[1], [3]]]))[0, :, 0].tolist()
        [1.0, 1.0, 3.0, 3.0]
    """

    space = 1


class UpSampling2D(UpSampling):
    """Images made larger by whole factors.

    Args:
        size: How much larger, along height and width; one number for both. Defaults to 2.
        interpolation: ``"nearest"``, which repeats pixels, ``"bilinear"``, ``"bicubic"``, ``"lanczos3"`` or
            ``"lanczos5"``. Defaults to ``"nearest"``.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, height, width, channels) -> (batch, height * size, width * size, channels)``

    Example:
        >>> import numpy as np
        >>> UpSampling2D((2, 3))(np.ones((1, 4, 4, 3), "float32")).shape
        (1, 8, 12, 3)
    """

    supports_masking = False  # an interpolation mixes positions
    compute_mask = Layer.compute_mask
    space = 2

    def __init__(
        self,
        size: int | Sequence[int] = 2,
        interpolation: str = "nearest",
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(size, name, dtype)
        self.interpolation = check_choice("interpolation", interpolation, INTERPOLATIONS)

    def call(self, x: Array) -> Array:
        if self.interpolation == "nearest":
            return super().call(x)
        _, height, width, _ = single_shape(array_shape(x), 4, 4)
        return narrow(
            resize(widen(x), height * self.size[0], width * self.size[1], self.interpolation), x, self.compute_dtype
        )


class UpSampling3D(UpSampling):
    """Each value of a volume repeated along three axes.

    Args:
        size: How often, along each axis; one number for all. Defaults to 2.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, depth, height, width, channels) -> (batch, depth * size, height * size, width * size, channels)``

    Raises:
        ArgumentError: a number is not above 0.
        ShapeError: the input has other axes.

    Example:
        >>> import numpy as np
        >>> UpSampling3D(2)(np.ones((1, 2, 3, 4, 2), "float32")).shape
        (1, 4, 6, 8, 2)
    """

    space = 3


class PixelShuffle(Layer):
    """Channels laid out in space: each place becomes a square of ``upscale_factor`` by ``upscale_factor``.

    The channels of one square follow one another, as in PyTorch: channel ``c`` of the output takes the channels
    ``c * upscale_factor**2`` and those after it, row by row.

    Args:
        upscale_factor: The side of the square.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, height, width, channels * factor**2) -> (batch, height * factor, width * factor, channels)``

    Raises:
        ArgumentError: the factor is not above 0.
        ShapeError: the input has other axes, or channels that the square does not divide.

    Example:
        >>> import numpy as np
        >>> PixelShuffle(2)(np.float32([1, 2, 3, 4]).reshape(1, 1, 1, 4))[0, :, :, 0].tolist()
        [[1.0, 2.0], [3.0, 4.0]]

    Source: Shi et al., arXiv 1609.05158.
    """

    compiles_call = True

    def __init__(self, upscale_factor: int, name: str | None = None, dtype: str | DTypePolicy | None = None) -> None:
        super().__init__(name, dtype=dtype)
        self.upscale_factor = check_positive("upscale_factor", upscale_factor, 2)

    def call(self, x: Array) -> Array:
        batch, height, width, channels = single_shape(array_shape(x), 4, 4)
        factor = self.upscale_factor
        if channels % factor**2:
            raise ShapeError(
                f"an input of {channels} channels, upscale_factor={factor}",
                f"each value of the output has {factor**2} channels of the input to itself",
                f"a number of channels that {factor**2} divides",
            )
        squares = ops.reshape(x, (batch, height, width, channels // factor**2, factor, factor))
        rows = ops.transpose(squares, (0, 1, 4, 2, 5, 3))
        return ops.reshape(rows, (batch, height * factor, width * factor, channels // factor**2))
