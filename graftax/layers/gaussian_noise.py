"""Normal noise while training: added, or multiplied."""

from __future__ import annotations

import math

from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array, Shape
from graftax.layers.arguments import array_shape, check_range, narrow, require_real, to_floating, widen
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.variables import random
from graftax.variables.random import SeedGenerator


class GaussianNoise(Layer):
    """Adds normal noise of mean 0 while training.

    Args:
        stddev: The standard deviation of the noise, at least 0.
        seed: Fixes the draws, as for `Dropout`. Defaults to None: a stream of the layer's own.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(...) -> (...)``

    Raises:
        ArgumentError: the standard deviation is below 0.

    Example:
        >>> import numpy as np
        >>> layer, x = GaussianNoise(0.1, seed=0), np.ones((1, 1000), "float32")
        >>> float(layer(x).std()), round(float(layer(x, training=True).std()), 1)
        (0.0, 0.1)

    Source: Bishop 1995, Training with Noise is Equivalent to Tikhonov Regularization, Neural Computation 7.
    """

    supports_masking = True
    compiles_call = True

    def __init__(
        self, stddev: float, seed: int | None = None, name: str | None = None, dtype: str | DTypePolicy | None = None
    ) -> None:
        super().__init__(name, dtype=dtype)
        self.stddev = check_range("stddev", stddev, 0, float("inf"))
        self.seed = seed
        self.seed_generator = SeedGenerator(seed)

    def build(self, input_shape: Shape) -> None:
        self.seed_generator.build()

    def call(self, x: Array, training: bool | None = None) -> Array:
        shape = array_shape(x)
        x = to_floating(require_real(x), self.compute_dtype)
        if not training or self.stddev == 0:
            return x
        return narrow(
            widen(x) + random.normal(shape, 0.0, self.stddev, seed=self.seed_generator), x, self.compute_dtype
        )


class GaussianDropout(Layer):
    """Multiplies each value by normal noise of mean 1 while training, as strong as a `Dropout` of that rate.

    The variance of the factors is ``rate / (1 - rate)``, that of a dropout's.

    Args:
        rate: The rate of the dropout, from 0 and below 1.
        seed: Fixes the draws, as for `Dropout`. Defaults to None: a stream of the layer's own.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(...) -> (...)``

    Raises:
        ArgumentError: the rate is not in ``[0, 1)``.

    Example:
        >>> import numpy as np
        >>> layer, x = GaussianDropout(0.5, seed=0), np.ones((1, 1000), "float32")
        >>> float(layer(x).std()), round(float(layer(x, training=True).std()))
        (0.0, 1)

    Source: Srivastava et al. 2014, Dropout, JMLR 15.
    """

    supports_masking = True
    compiles_call = True

    def __init__(
        self, rate: float, seed: int | None = None, name: str | None = None, dtype: str | DTypePolicy | None = None
    ) -> None:
        super().__init__(name, dtype=dtype)
        self.rate = check_range("rate", rate, 0, 1)
        if self.rate == 1:
            raise ArgumentError(f"rate={rate!r}", "noise as strong as a dropout of everything has no bound", "rate=0.9")
        self.seed = seed
        self.seed_generator = SeedGenerator(seed)

    def build(self, input_shape: Shape) -> None:
        self.seed_generator.build()

    def call(self, x: Array, training: bool | None = None) -> Array:
        shape = array_shape(x)
        x = to_floating(x, self.compute_dtype)
        if not training or self.rate == 0:
            return x
        stddev = math.sqrt(self.rate / (1 - self.rate))
        return narrow(widen(x) * random.normal(shape, 1.0, stddev, seed=self.seed_generator), x, self.compute_dtype)
