"""Dropout: a random part of the values set to zero while training."""

from __future__ import annotations

from collections.abc import Sequence

from graftax import ops
from graftax.core.errors import ShapeError
from graftax.core.typedefs import Array, Shape
from graftax.layers.arguments import array_shape, check_range, sizes_or_none, to_floating
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.variables import random
from graftax.variables.random import SeedGenerator


class Dropout(Layer):
    """Sets each value to 0 with a probability while training, and scales the others so that the mean stays.

    Args:
        rate: The probability, from 0 to 1.
        noise_shape: Shape of the random choice, broadcast to the input; None stands for the size of the input's axis.
            ``(None, 1, None)`` drops channels for all steps together.
        seed: Fixes the draws: two layers with one seed agree call by call. Unless told, every layer has a stream of its
            own, which follows from the global seed and the layer's path. Defaults to None.
        name: As for `Layer`. Defaults to None.
        dtype: As for `Layer`. Defaults to None.

    Shape:
        ``(...) -> (...)``

    Raises:
        ArgumentError: the rate is not from 0 to 1, or the noise shape has something else than sizes and None.
        ShapeError: the noise shape does not fit the input.

    Example:
        >>> import numpy as np
        >>> layer, x = Dropout(0.5, seed=0), np.ones((1, 4), "float32")
        >>> layer(x).tolist(), sorted(set(layer(x, training=True)[0].tolist()) | {0.0, 2.0})
        ([[1.0, 1.0, 1.0, 1.0]], [0.0, 2.0])

    Source: Srivastava et al. 2014, Dropout, JMLR 15.
    """

    supports_masking = True
    compiles_call = True

    def __init__(
        self,
        rate: float,
        noise_shape: Sequence[int | None] | None = None,
        seed: int | None = None,
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, dtype=dtype)
        self.rate = check_range("rate", rate, 0, 1)
        self.noise_shape = None if noise_shape is None else sizes_or_none("noise_shape", noise_shape)
        self.seed = seed
        self.seed_generator = SeedGenerator(seed)

    def build(self, input_shape: Shape) -> None:
        self.seed_generator.build()

    def call(self, x: Array, training: bool | None = None) -> Array:
        shape = array_shape(x)
        x = to_floating(x, self.compute_dtype)
        if not training or self.rate == 0:
            return x
        if self.rate == 1:
            return ops.zeros_like(x)
        keep = random.bernoulli(self._noise_shape(shape), 1 - self.rate, seed=self.seed_generator)
        return ops.where(keep, x / (1 - self.rate), 0)

    def _noise_shape(self, shape: Shape) -> Shape:
        if self.noise_shape is None:
            return shape
        noise = tuple(n if m is None else m for m, n in zip(self.noise_shape, shape, strict=False))
        if len(self.noise_shape) != len(shape) or any(m not in (1, n) for m, n in zip(noise, shape, strict=True)):
            raise ShapeError(
                f"noise_shape={self.noise_shape} for an input of shape {shape}",
                "each of its sizes is 1, None or that of the input",
                f"noise_shape={(None, *[1] * (len(shape) - 2), None) if len(shape) > 1 else (None,)}",
            )
        return noise
