"""Images moved, turned and zoomed at random."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array
from graftax.core.undefined import undefined_error
from graftax.layers.arguments import check_choice, check_range
from graftax.layers.policy import DTypePolicy
from graftax.layers.random_image import RandomImage, bounds_of

_FILLS = ("reflect", "wrap", "constant", "nearest")


class RandomAffine(RandomImage):
    """The base of `RandomTranslation`, `RandomRotation` and `RandomZoom`, which describe the arguments."""

    def __init__(
        self,
        fill_mode: str,
        interpolation: str,
        fill_value: float,
        seed: int | None,
        name: str | None,
        dtype: str | DTypePolicy | None,
    ) -> None:
        super().__init__(seed, name, dtype)
        self.fill_mode = check_choice("fill_mode", fill_mode, _FILLS)
        self.interpolation = check_choice("interpolation", interpolation, ("bilinear", "nearest"))
        self.fill_value = check_range("fill_value", fill_value, -float("inf"), float("inf"))
        if self.fill_value and self.fill_mode != "constant":
            raise ArgumentError(
                f"fill_mode={fill_mode!r}, fill_value={fill_value}",
                "pixels of the image fill the gap, and nothing would use the value",
                f'fill_mode="constant", fill_value={fill_value}',
            )

    def transform_images(self, images: Array) -> Array:
        if not images.shape[0]:
            return images
        zero = ops.zeros((images.shape[0],), str(images.dtype))
        rows = [part + zero for part in self.numbers(images)]
        transform = ops.stack([*rows, zero, zero], axis=1)
        return ops.image.affine_transform(images, transform, self.interpolation, self.fill_mode, self.fill_value)

    def numbers(self, images: Array) -> tuple[Array | float, ...]:
        """Return ``a, b, c, d, e, f``: the pixel (x, y) is taken from (a x + b y + c, d x + e y + f)."""
        raise undefined_error(self, "numbers(images)")


class RandomTranslation(RandomAffine):
    """Moves each image by a random part of its size while training.

    Args:
        height_factor: How far down, as a part of the height: a number ``f`` for ``(-f, f)``, or two bounds.
        width_factor: How far to the right, as a part of the width.
        fill_mode: What stands where the image has moved away: ``"reflect"``, ``"wrap"``, ``"constant"`` or
            ``"nearest"``. Defaults to ``"reflect"``.
        interpolation: ``"bilinear"`` or ``"nearest"``. Defaults to ``"bilinear"``.
        seed: Fixes the draws, as for `Dropout`. Defaults to None: a stream of the layer's own.
        fill_value: The value of ``"constant"``. Defaults to 0.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, height, width, channels) -> (batch, height, width, channels)``, or the same without the batch

    Raises:
        ArgumentError: a setting is out of range.
        ShapeError: the input has other axes.

    Example:
        >>> import numpy as np
        >>> x = np.float32([[[[1], [2], [3], [4]]]])
        >>> RandomTranslation(0.0, (0.25, 0.25), "constant")(x, training=True)[0, 0, :, 0].tolist()
        [0.0, 1.0, 2.0, 3.0]
    """

    def __init__(
        self,
        height_factor: float | Sequence[float],
        width_factor: float | Sequence[float],
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(fill_mode, interpolation, fill_value, seed, name, dtype)
        self.height_factor = bounds_of("height_factor", height_factor, -1, 1)
        self.width_factor = bounds_of("width_factor", width_factor, -1, 1)

    def numbers(self, images: Array) -> tuple[Array | float, ...]:
        down = self.draw_factors(images, self.height_factor) * images.shape[1]
        right = self.draw_factors(images, self.width_factor) * images.shape[2]
        return 1.0, 0.0, -right, 0.0, 1.0, -down


class RandomRotation(RandomAffine):
    """Turns each image around its middle by a random angle while training.

    Args:
        factor: The angle, as a part of a full turn, counter-clockwise: a number ``f`` for ``(-f, f)``, or two bounds.
        fill_mode: What stands in the corners: ``"reflect"``, ``"wrap"``, ``"constant"`` or ``"nearest"``. Defaults to
            ``"reflect"``.
        interpolation: ``"bilinear"`` or ``"nearest"``. Defaults to ``"bilinear"``.
        seed: Fixes the draws, as for `Dropout`. Defaults to None: a stream of the layer's own.
        fill_value: The value of ``"constant"``. Defaults to 0.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, height, width, channels) -> (batch, height, width, channels)``, or the same without the batch

    Raises:
        ArgumentError: a setting is out of range.
        ShapeError: the input has other axes.

    Example:
        >>> import numpy as np
        >>> x = np.float32([[1, 2], [3, 4]]).reshape(1, 2, 2, 1)
        >>> RandomRotation((0.25, 0.25))(x, training=True)[0, :, :, 0].round().tolist()
        [[2.0, 4.0], [1.0, 3.0]]
    """

    def __init__(
        self,
        factor: float | Sequence[float],
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(fill_mode, interpolation, fill_value, seed, name, dtype)
        self.factor = bounds_of("factor", factor)

    def numbers(self, images: Array) -> tuple[Array | float, ...]:
        angle = self.draw_factors(images, self.factor) * (2 * math.pi)
        cos, sin = ops.cos(angle), ops.sin(angle)
        height, width = (n - 1 for n in images.shape[1:3])
        right = (width - (cos * width - sin * height)) / 2
        down = (height - (sin * width + cos * height)) / 2
        return cos, -sin, right, sin, cos, down


class RandomZoom(RandomAffine):
    """Zooms each image around its middle by a random factor while training.

    Args:
        height_factor: How much more of the height is seen: 0.2 zooms out by 20 %, -0.2 zooms in. A number ``f`` for
            ``(-f, f)``, or two bounds above -1.
        width_factor: The same for the width. Defaults to None: that of the height, so that proportions stay.
        fill_mode: What stands around a smaller image: ``"reflect"``, ``"wrap"``, ``"constant"`` or ``"nearest"``.
            Defaults to ``"reflect"``.
        interpolation: ``"bilinear"`` or ``"nearest"``. Defaults to ``"bilinear"``.
        seed: Fixes the draws, as for `Dropout`. Defaults to None: a stream of the layer's own.
        fill_value: The value of ``"constant"``. Defaults to 0.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, height, width, channels) -> (batch, height, width, channels)``, or the same without the batch

    Raises:
        ArgumentError: a setting is out of range.
        ShapeError: the input has other axes.

    Example:
        >>> import numpy as np
        >>> x = np.float32([0, 1, 2]).reshape(1, 1, 3, 1)
        >>> RandomZoom(0.0, (-0.5, -0.5))(x, training=True)[0, 0, :, 0].tolist()
        [0.5, 1.0, 1.5]
    """

    def __init__(
        self,
        height_factor: float | Sequence[float],
        width_factor: float | Sequence[float] | None = None,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(fill_mode, interpolation, fill_value, seed, name, dtype)
        self.height_factor = bounds_of("height_factor", height_factor, -0.999)
        self.width_factor = None if width_factor is None else bounds_of("width_factor", width_factor, -0.999)

    def numbers(self, images: Array) -> tuple[Array | float, ...]:
        tall = 1 + self.draw_factors(images, self.height_factor)
        broad = tall if self.width_factor is None else 1 + self.draw_factors(images, self.width_factor)
        height, width = (n - 1 for n in images.shape[1:3])
        return broad, 0.0, width / 2 * (1 - broad), 0.0, tall, height / 2 * (1 - tall)
