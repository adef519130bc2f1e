"""Identity: a layer that changes nothing."""

from __future__ import annotations

from graftax.core.typedefs import Array
from graftax.layers.arguments import array_shape
from graftax.layers.layer import Layer


class Identity(Layer):
    """Returns its input: a place holder where a layer may or may not be.

    Shape:
        ``(...) -> (...)``

    Example:
        >>> import numpy as np
        >>> Identity()(np.float32([-1, 2])).tolist()
        [-1.0, 2.0]
    """

    supports_masking = True

    def call(self, x: Array) -> Array:
        array_shape(x)
        return x
