"""GELU: the input times the normal distribution function at it."""

from __future__ import annotations

from graftax.core.typedefs import Array
from graftax.layers import activations
from graftax.layers.arguments import array_shape, check_flag, to_floating
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy


class GELU(Layer):
    r"""The input times the normal distribution function at it.

    .. math:: y = x \Phi(x)

    Args:
        approximate: True for the approximation by tanh. Defaults to False, exact.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(...) -> (...)``

    Raises:
        ArgumentError: ``approximate`` is no truth value.

    Example:
        >>> import numpy as np
        >>> [round(y, 4) for y in GELU()(np.float32([-1, 1])).tolist()]
        [-0.1587, 0.8413]

    Source: Hendrycks and Gimpel, arXiv 1606.08415.
    """

    supports_masking = True
    compiles_call = True

    def __init__(
        self, approximate: bool = False, name: str | None = None, dtype: str | DTypePolicy | None = None
    ) -> None:
        super().__init__(name, dtype=dtype)
        self.approximate = check_flag("approximate", approximate)

    def call(self, x: Array) -> Array:
        array_shape(x)
        return activations.gelu(to_floating(x, self.compute_dtype), self.approximate)
