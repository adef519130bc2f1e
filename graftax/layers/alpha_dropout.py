"""AlphaDropout: a dropout that keeps mean and variance, for layers with SELU."""

from __future__ import annotations

from collections.abc import Sequence

from graftax import ops
from graftax.core.typedefs import Array
from graftax.layers.arguments import array_shape, require_real, to_floating
from graftax.layers.dropout import Dropout
from graftax.layers.policy import DTypePolicy
from graftax.variables import random

_DROPPED = -1.6732632423543772 * 1.0507009873554805
"""The value of `graftax.activations.selu` far on the left."""


class AlphaDropout(Dropout):
    r"""Replaces values by the lower limit of SELU, with a probability, while training; mean and variance stay the same.

    .. math:: y = a (x \cdot \text{kept} + \alpha' (1 - \text{kept})) + b

    with :math:`\alpha' = -1.758`, and :math:`a` and :math:`b` such that values of mean 0 and variance 1 keep these.

    Args:
        rate: The probability, from 0 to 1.
        noise_shape: Shape of the random choice, as for `Dropout`. Defaults to None, that of the input.
        seed: Fixes the draws, as for `Dropout`. Defaults to None: a stream of the layer's own.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(...) -> (...)``

    Raises:
        ArgumentError: the rate is not from 0 to 1.
        ShapeError: the noise shape does not fit the input.

    Example:
        >>> import numpy as np
        >>> layer, x = AlphaDropout(0.3, seed=0), np.random.default_rng(0).normal(size=(1, 10000)).astype("float32")
        >>> round(float(layer(x, training=True).std()), 1)
        1.0

    Source: Klambauer et al., arXiv 1706.02515.
    """

    supports_masking = True

    def __init__(
        self,
        rate: float,
        noise_shape: Sequence[int | None] | None = None,
        seed: int | None = None,
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(rate, noise_shape, seed, name, dtype)

    def call(self, x: Array, training: bool | None = None) -> Array:
        shape = array_shape(x)
        x = to_floating(require_real(x), self.compute_dtype)
        if not training or self.rate == 0:
            return x
        if self.rate == 1:
            return ops.zeros_like(x)
        keep = random.bernoulli(self._noise_shape(shape), 1 - self.rate, seed=self.seed_generator)
        factor = ((1 - self.rate) * (1 + self.rate * _DROPPED**2)) ** -0.5
        return ops.subtract(ops.where(keep, x, _DROPPED) * factor, factor * _DROPPED * self.rate)
