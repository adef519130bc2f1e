"""ELU: exponential below 0."""

from __future__ import annotations

from graftax.core.typedefs import Array
from graftax.layers import activations
from graftax.layers.arguments import array_shape, check_range, to_floating
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy


class ELU(Layer):
    """``x`` where positive, else ``alpha * (exp(x) - 1)``.

    Args:
        alpha: Minus the value far on the left, at least 0. Defaults to 1.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(...) -> (...)``

    Raises:
        ArgumentError: ``alpha`` is below 0.

    Example:
        >>> import numpy as np
        >>> [round(y, 4) for y in ELU()(np.float32([-1, 2])).tolist()]
        [-0.6321, 2.0]

    Source: Clevert et al., arXiv 1511.07289.
    """

    supports_masking = True
    compiles_call = True

    def __init__(self, alpha: float = 1.0, name: str | None = None, dtype: str | DTypePolicy | None = None) -> None:
        super().__init__(name, dtype=dtype)
        self.alpha = check_range("alpha", alpha, 0, float("inf"))

    def call(self, x: Array) -> Array:
        array_shape(x)
        return activations.elu(to_floating(x, self.compute_dtype), self.alpha)
