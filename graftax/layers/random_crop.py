"""RandomCrop: a part of each image, at a random place."""

from __future__ import annotations

from graftax import ops
from graftax.core.typedefs import Array
from graftax.layers.arguments import check_positive
from graftax.layers.policy import DTypePolicy
from graftax.layers.random_image import RandomImage
from graftax.layers.resizing import crop_to_fit, resize, same_proportions
from graftax.variables import random


class RandomCrop(RandomImage):
    """A part of each image: at a random place while training, the middle otherwise.

    Of images that are too small, the part is the largest one in the proportions of the output, and made larger; its
    place is drawn while training as that of any other, where Keras takes one part, which may be distorted.

    Args:
        height: Height of the output.
        width: Width of the output.
        seed: Fixes the draws, as for `Dropout`. Defaults to None: a stream of the layer's own.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, h, w, channels) -> (batch, height, width, channels)``, or the same without the batch

    Raises:
        ArgumentError: a size is not above 0.
        ShapeError: the input has other axes.

    Example:
        >>> import numpy as np
        >>> RandomCrop(4, 5)(np.ones((2, 8, 8, 3), "float32"), training=True).shape
        (2, 4, 5, 3)
    """

    def __init__(
        self,
        height: int,
        width: int,
        seed: int | None = None,
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(seed, name, dtype)
        self.height, self.width = check_positive("height", height, 224), check_positive("width", width, 224)

    def transform_images(self, images: Array) -> Array:
        part = self.height, self.width
        if images.shape[1] < self.height or images.shape[2] < self.width:
            part = same_proportions(images.shape, self.height, self.width)
        for axis, size in zip((1, 2), part, strict=True):
            start = random.randint((images.shape[0], 1), 0, images.shape[axis] - size + 1, seed=self.seed_generator)
            places = start + ops.arange(size)
            places = ops.reshape(places, (*places.shape, 1, 1) if axis == 1 else (places.shape[0], 1, size, 1))
            images = ops.take_along_axis(images, places, axis)
        return resize(images, self.height, self.width)

    def resize_only(self, images: Array) -> Array:
        return crop_to_fit(images, self.height, self.width)
