"""RandomImage: what layers share that change images at random while training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array, Shape
from graftax.core.undefined import undefined_error
from graftax.layers.arguments import array_shape, single_shape, widen
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.variables import random
from graftax.variables.random import SeedGenerator


class RandomImage(Layer):
    """The base of layers that change each image of a batch at random while training, and leave it as it is otherwise.

    Args:
        seed: Fixes the draws, as for `Dropout`.
        name: As for `Layer`.
        dtype: As for `Layer`; the arithmetic is in float32 at least.
    """

    _gx_takes_wide = True
    compiles_call = True

    def __init__(self, seed: int | None, name: str | None, dtype: str | DTypePolicy | None) -> None:
        super().__init__(name, dtype=dtype)
        self.seed = seed
        self.seed_generator = SeedGenerator(seed)

    def build(self, input_shape: Shape) -> None:
        self.seed_generator.build()

    def call(self, x: Array, training: bool | None = None) -> Array:
        shape = single_shape(array_shape(x), 3, 4)
        images = ops.cast(widen(x), self._gx_dtypes.wide_dtype)
        images = images if len(shape) == 4 else images[None]
        out = self.transform_images(images) if training else self.resize_only(images)
        return ops.cast(out if len(shape) == 4 else out[0], self.compute_dtype)

    def transform_images(self, images: Array) -> Array:
        """Return a batch of images, each changed at random; subclasses must define it."""
        raise undefined_error(self, "transform_images(images)")

    def resize_only(self, images: Array) -> Array:
        """Return what comes out where this is no training."""
        return images

    def draw_factors(self, images: Array, bounds: tuple[float, float]) -> Array:
        """Draw a number for each image, uniform between bounds."""
        if bounds[0] == bounds[1]:
            return ops.full((images.shape[0],), bounds[0], str(images.dtype))
        return ops.cast(random.uniform((images.shape[0],), *bounds, seed=self.seed_generator), images.dtype)


def bounds_of(name: str, value: Any, least: float = -math.inf, most: float = math.inf) -> tuple[float, float]:
    """Lower and upper bound: a number stands for minus itself and itself.

    Raises:
        ArgumentError: it is something else, or out of range.
    """
    pair: tuple[Any, ...] = tuple(value) if isinstance(value, list | tuple) else (None, None)
    if is_number(value):
        size = abs(float(value))  # pyright: ignore[reportArgumentType]  # it is a number
        pair = (-size if least else 0, size)
    if len(pair) != 2 or not all(is_number(n) for n in pair) or not least <= pair[0] <= pair[1] <= most:
        within = (
            ""
            if math.isinf(least) and math.isinf(most)
            else f", from {least} to {most}"
            if math.isfinite(most)
            else f"; the lower one is above {math.floor(least)}"
        )
        raise ArgumentError(
            f"{name}={value!r:.60}", f"it is a number, or a lower and an upper bound{within}", f"{name}=(-0.2, 0.2)"
        )
    return float(pair[0]), float(pair[1])


def range_of(value: Sequence[float]) -> tuple[float, float]:
    """Return the lowest and the highest value of a pixel.

    Raises:
        ArgumentError: it is something else.
    """
    pair: tuple[Any, ...] = tuple(value) if isinstance(value, list | tuple) and len(value) == 2 else (None, None)
    low, high = pair
    if not (is_number(low) and is_number(high)) or not low < high:
        raise ArgumentError(
            f"value_range={value!r:.60}", "it is the lowest and the highest value of a pixel", "value_range=(0, 255)"
        )
    return float(low), float(high)


def is_number(value: object) -> bool:
    """Return True for a finite number."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)
