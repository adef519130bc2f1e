"""RandomErasing: a rectangle of each image filled."""

from __future__ import annotations

from collections.abc import Sequence

from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array
from graftax.layers.arguments import check_range
from graftax.layers.policy import DTypePolicy
from graftax.layers.random_image import RandomImage, bounds_of, range_of
from graftax.variables import random


class RandomErasing(RandomImage):
    """Fills a rectangle of each image at a random place with a probability while training.

    Args:
        factor: The probability that an image has one. Defaults to 1.
        scale: Bounds of the sides of the rectangle, each as a part of that of the image. Defaults to ``(0.02, 0.33)``.
        fill_value: What it is filled with. Defaults to None: normal noise around the middle of ``value_range``, a
            quarter of it wide, limited to it.
        value_range: The lowest and the highest value of a pixel, for the noise. Defaults to ``(0, 255)``.
        seed: Fixes the draws, as for `Dropout`. Defaults to None: a stream of the layer's own.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, height, width, channels) -> (batch, height, width, channels)``, or the same without the batch

    Raises:
        ArgumentError: a setting is out of range, or there is a ``value_range`` and no noise.
        ShapeError: the input has other axes.

    Example:
        >>> import numpy as np
        >>> out = RandomErasing(scale=(0.5, 0.5), fill_value=0.0)(np.ones((1, 8, 8, 1), "float32"), training=True)
        >>> int((out == 0).sum())
        16

    Source: Zhong et al., arXiv 1708.04896.
    """

    def __init__(
        self,
        factor: float = 1.0,
        scale: Sequence[float] = (0.02, 0.33),
        fill_value: float | None = None,
        value_range: Sequence[float] = (0, 255),
        seed: int | None = None,
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(seed, name, dtype)
        self.factor = check_range("factor", factor, 0, 1)
        self.scale = bounds_of("scale", scale, 0, 1)
        self.fill_value = (
            None if fill_value is None else check_range("fill_value", fill_value, -float("inf"), float("inf"))
        )
        self.value_range = range_of(value_range)
        if self.fill_value is not None and self.value_range != (0, 255):
            raise ArgumentError(
                f"fill_value={fill_value}, value_range={tuple(value_range)}",
                "the range is that of the noise, and there is none",
                f"fill_value={fill_value} alone; value_range={tuple(value_range)} alone for noise",
            )

    def transform_images(self, images: Array) -> Array:
        inside = rectangle(self, images, self.draw_factors(images, self.scale), self.draw_factors(images, self.scale))
        chosen = random.bernoulli((images.shape[0], 1, 1, 1), self.factor, seed=self.seed_generator)
        filling: Array | float
        if self.fill_value is None:
            low, high = self.value_range
            noise = random.normal(images.shape, (low + high) / 2, (high - low) / 4, seed=self.seed_generator)
            filling = ops.cast(ops.clip(noise, low, high), images.dtype)
        else:
            filling = self.fill_value
        return ops.where(ops.logical_and(inside, chosen), filling, images)


def rectangle(layer: RandomImage, images: Array, tall: Array, broad: Array) -> Array:
    """Return True in a rectangle of each image, at a random place, whose sides are parts of those of the image."""
    inside = []
    for axis, part in ((1, tall), (2, broad)):
        n = images.shape[axis]
        size = ops.round(part * n)
        start = ops.floor(layer.draw_factors(images, (0.0, 1.0)) * (n - size + 1))
        place = ops.arange(n, dtype=str(images.dtype))[None]
        start, size = start[:, None], size[:, None]
        inside.append(ops.logical_and(place >= start, place < start + size))
    return ops.logical_and(inside[0][:, :, None, None], inside[1][:, None, :, None])
