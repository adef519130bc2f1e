"""RandomFlip: images mirrored at random."""

from __future__ import annotations

from graftax import ops
from graftax.core.typedefs import Array
from graftax.layers.arguments import check_choice
from graftax.layers.policy import DTypePolicy
from graftax.layers.random_image import RandomImage
from graftax.variables import random


class RandomFlip(RandomImage):
    """Mirrors each image with probability 1/2 while training, along each axis that is asked for.

    Args:
        mode: ``"horizontal"``, ``"vertical"`` or ``"horizontal_and_vertical"``. Defaults to the last one.
        seed: Fixes the draws, as for `Dropout`. Defaults to None: a stream of the layer's own.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, height, width, channels) -> (batch, height, width, channels)``, or the same without the batch

    Raises:
        ArgumentError: there is no such mode.
        ShapeError: the input has other axes.

    Example:
        >>> import numpy as np
        >>> x = np.arange(3, dtype="float32").reshape(1, 1, 3, 1).repeat(8, 0)
        >>> rows = RandomFlip("horizontal", seed=0)(x, training=True)[:, :, :, 0].reshape(8, 3).tolist()
        >>> sorted(set(map(tuple, rows)))
        [(0.0, 1.0, 2.0), (2.0, 1.0, 0.0)]
    """

    def __init__(
        self,
        mode: str = "horizontal_and_vertical",
        seed: int | None = None,
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(seed, name, dtype)
        self.mode = check_choice("mode", mode, ("horizontal", "vertical", "horizontal_and_vertical"))

    def transform_images(self, images: Array) -> Array:
        for word, axis in (("vertical", 1), ("horizontal", 2)):
            if word in self.mode:
                chosen = random.bernoulli((images.shape[0], 1, 1, 1), 0.5, seed=self.seed_generator)
                images = ops.where(chosen, ops.flip(images, axis), images)
        return images
