"""Resizing and CenterCrop: images of one size out of images of any."""

from __future__ import annotations

from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array, Shape
from graftax.layers.arguments import array_shape, check_choice, check_flag, check_positive, single_shape, widen
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy

INTERPOLATIONS = ("bilinear", "nearest", "bicubic", "lanczos3", "lanczos5")


class Resizing(Layer):
    """Images in another size.

    Args:
        height: Height of the output.
        width: Width of the output.
        interpolation: ``"bilinear"``, ``"nearest"``, ``"bicubic"``, ``"lanczos3"`` or ``"lanczos5"``. Defaults to
            ``"bilinear"``.
        crop_to_aspect_ratio: Whether what is beyond the proportions of the output is cut off first, the same on both
            sides, so that nothing is distorted. Defaults to False.
        antialias: Whether a smaller image averages over all pixels. Defaults to False.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, h, w, channels) -> (batch, height, width, channels)``, or the same without the batch

    Raises:
        ArgumentError: a size is not above 0, or the interpolation unknown.
        ShapeError: the input has other axes.

    Example:
        >>> import numpy as np
        >>> Resizing(4, 6)(np.ones((2, 8, 8, 3), "uint8")).shape
        (2, 4, 6, 3)
    """

    _gx_takes_wide = True
    compiles_call = True

    def __init__(
        self,
        height: int,
        width: int,
        interpolation: str = "bilinear",
        crop_to_aspect_ratio: bool = False,
        antialias: bool = False,
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, dtype=dtype)
        self.height, self.width = check_positive("height", height, 224), check_positive("width", width, 224)
        self.interpolation = check_choice("interpolation", interpolation, INTERPOLATIONS)
        self.crop_to_aspect_ratio = check_flag("crop_to_aspect_ratio", crop_to_aspect_ratio)
        self.antialias = check_flag("antialias", antialias)
        if self.antialias and self.interpolation == "nearest":
            raise ArgumentError(
                'interpolation="nearest", antialias=True', "one pixel is taken, and none averaged", "antialias=False"
            )

    def call(self, x: Array) -> Array:
        shape = array_shape(x)
        x = ops.cast(widen(x), self._gx_dtypes.wide_dtype)
        if self.crop_to_aspect_ratio:
            x = center(x, *same_proportions(shape, self.height, self.width))
        return ops.cast(resize(x, self.height, self.width, self.interpolation, self.antialias), self.compute_dtype)


class CenterCrop(Layer):
    """The middle of images; images that are too small are made larger first, in their proportions.

    Args:
        height: Height of the output.
        width: Width of the output.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, h, w, channels) -> (batch, height, width, channels)``, or the same without the batch

    Raises:
        ArgumentError: a size is not above 0.
        ShapeError: the input has other axes.

    Example:
        >>> import numpy as np
        >>> CenterCrop(2, 2)(np.arange(16, dtype="float32").reshape(1, 4, 4, 1))[0, :, :, 0].tolist()
        [[5.0, 6.0], [9.0, 10.0]]
    """

    _gx_takes_wide = True
    compiles_call = True

    def __init__(
        self, height: int, width: int, name: str | None = None, dtype: str | DTypePolicy | None = None
    ) -> None:
        super().__init__(name, dtype=dtype)
        self.height, self.width = check_positive("height", height, 224), check_positive("width", width, 224)

    def call(self, x: Array) -> Array:
        array_shape(x)
        x = ops.cast(widen(x), self._gx_dtypes.wide_dtype)
        return ops.cast(crop_to_fit(x, self.height, self.width), self.compute_dtype)


def resize(x: Array, height: int, width: int, interpolation: str = "bilinear", antialias: bool = False) -> Array:
    """Return images in another size, with or without an axis of the batch."""
    single_shape(array_shape(x), 3, 4)
    if tuple(x.shape[-3:-1]) == (height, width):
        return x
    return ops.image.resize(x, (height, width), interpolation, antialias)


def center(x: Array, height: int, width: int) -> Array:
    """Return the middle of images that are large enough."""
    single_shape(array_shape(x), 3, 4)
    top, left = (x.shape[-3] - height) // 2, (x.shape[-2] - width) // 2
    return x[..., top : top + height, left : left + width, :]


def same_proportions(shape: Shape, height: int, width: int) -> tuple[int, int]:
    """Return height and width of the largest part that has the proportions of an output."""
    have_height, have_width = single_shape(shape, 3, 4)[-3:-1]
    return (
        max(min(have_height, have_width * height // width), 1),
        max(min(have_width, have_height * width // height), 1),
    )


def crop_to_fit(x: Array, height: int, width: int) -> Array:
    """Return the middle, of images made larger first where they are too small."""
    have_height, have_width = single_shape(array_shape(x), 3, 4)[-3:-1]
    if have_height >= height and have_width >= width:
        return center(x, height, width)
    return resize(center(x, *same_proportions(array_shape(x), height, width)), height, width)
