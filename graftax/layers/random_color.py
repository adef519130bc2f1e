"""Contrast and brightness of images changed at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array
from graftax.layers.policy import DTypePolicy
from graftax.layers.random_image import RandomImage, bounds_of, is_number, range_of


class RandomContrast(RandomImage):
    """Changes the contrast of each image by a random factor while training: ``(x - mean) * factor + mean``.

    The mean is that of each channel of each image.

    Args:
        factor: How far the factor is from 1: a number ``f`` for ``(1 - f, 1 + f)``, or two numbers ``(l, u)`` for
            ``(1 - l, 1 + u)``; from 0 to 1.
        value_range: The lowest and the highest value of a pixel, to which the result is limited. Defaults to
            ``(0, 255)``.
        seed: Fixes the draws, as for `Dropout`. Defaults to None: a stream of the layer's own.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, height, width, channels) -> (batch, height, width, channels)``, or the same without the batch

    Raises:
        ArgumentError: a setting is out of range.
        ShapeError: the input has other axes.

    Example:
        >>> import numpy as np
        >>> x = np.float32([[[[100], [200]]]])
        >>> out = RandomContrast(0.5, seed=0)(x, training=True)
        >>> round(float(out.mean()), 3), bool(abs(out[0, 0, 1, 0] - out[0, 0, 0, 0] - 100) <= 50)
        (150.0, True)
    """

    def __init__(
        self,
        factor: float | Sequence[float],
        value_range: Sequence[float] = (0, 255),
        seed: int | None = None,
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(seed, name, dtype)
        both: tuple[Any, ...] = tuple(factor) if isinstance(factor, list | tuple) else (factor, factor)
        if len(both) != 2 or not all(is_number(n) and 0 <= n <= 1 for n in both):
            raise ArgumentError(
                f"factor={factor!r:.60}", "it is a number, or one below and one above, from 0 to 1", "factor=(0.2, 0.2)"
            )
        self.factor = (1 - float(both[0]), 1 + float(both[1]))
        self.value_range = range_of(value_range)

    def transform_images(self, images: Array) -> Array:
        mean = ops.mean(images, axis=(1, 2), keepdims=True)
        factor = ops.reshape(self.draw_factors(images, self.factor), (-1, 1, 1, 1))
        return ops.clip((images - mean) * factor + mean, *self.value_range)


class RandomBrightness(RandomImage):
    """Adds a random number to each image while training.

    Args:
        factor: The number, as a part of the range of values: a number ``f`` for ``(-f, f)``, or two bounds from -1
            to 1.
        value_range: The lowest and the highest value of a pixel, to which the result is limited. Defaults to
            ``(0, 255)``.
        seed: Fixes the draws, as for `Dropout`. Defaults to None: a stream of the layer's own.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, height, width, channels) -> (batch, height, width, channels)``, or the same without the batch

    Raises:
        ArgumentError: a setting is out of range.
        ShapeError: the input has other axes.

    Example:
        >>> import numpy as np
        >>> RandomBrightness((0.1, 0.1))(np.float32([[[[100], [250]]]]), training=True)[0, 0, :, 0].tolist()
        [125.5, 255.0]
    """

    def __init__(
        self,
        factor: float | Sequence[float],
        value_range: Sequence[float] = (0, 255),
        seed: int | None = None,
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(seed, name, dtype)
        self.factor = bounds_of("factor", factor, -1, 1)
        self.value_range = range_of(value_range)

    def transform_images(self, images: Array) -> Array:
        low, high = self.value_range
        added = ops.reshape(self.draw_factors(images, self.factor), (-1, 1, 1, 1)) * (high - low)
        return ops.clip(images + added, low, high)
