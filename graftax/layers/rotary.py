"""RotaryEmbedding: positions as rotations, so that products depend on distances."""

from __future__ import annotations

import math

import numpy as np

from graftax import ops
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array, ArrayLike
from graftax.layers.arguments import array_shape, narrow, single_shape, widen
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.layers.position_embedding import check_start


class RotaryEmbedding(Layer):
    r"""Turns pairs of features by angles that grow with the position; for queries and keys of attention.

    Feature :math:`i` of the first half and feature :math:`i` of the second are turned, at position :math:`p`, by

    .. math:: p \cdot \text{base}^{-2 i / \text{size}}

    Args:
        base: How slow the slowest pair turns. Defaults to 10000.0.
        name: As for `Layer`. Defaults to None.
        dtype: As for `Layer`; angles are in float32 at least. Defaults to None.

    A call takes ``start=``, the position of the first row, by default 0; it may be traced.

    Shape:
        ``(batch, length, heads, size) -> (batch, length, heads, size)``

    Raises:
        ArgumentError: ``base`` is no number above 1.
        ShapeError: the size is odd, or the input has other than 4 axes.
        DTypeError: ``start`` is no integer.

    Example:
        >>> import numpy as np
        >>> out = RotaryEmbedding()(np.ones((1, 2, 1, 2), "float32"))
        >>> [[round(v, 2) for v in row] for row in out[0, :, 0].tolist()]
        [[1.0, 1.0], [-0.3, 1.38]]

    Source: Su et al., arXiv 2104.09864.
    """

    supports_masking = True
    compiles_call = True

    def __init__(self, base: float = 10000.0, name: str | None = None, dtype: str | DTypePolicy | None = None) -> None:
        super().__init__(name, dtype=dtype)
        if isinstance(base, bool) or not isinstance(base, int | float | np.number) or not 1 < base < math.inf:
            raise ArgumentError(f"base={base!r}", "the slowest pair turns base times slower than the first", "base=1e4")
        self.base = float(base)

    def call(self, x: Array, start: ArrayLike = 0) -> Array:
        size = single_shape(array_shape(x), 4, 4)[-1]
        if size % 2:
            raise ShapeError(
                f"an input of shape {tuple(x.shape)}",
                f"features are turned in pairs, and {size} is odd",
                "an even size of heads",
            )
        start = check_start(start)
        length, half = x.shape[1], x.shape[3] // 2
        x, given = widen(x), x
        speeds = ops.power(self.base, -ops.arange(half, dtype=x.dtype) / half)
        positions = ops.cast(start, x.dtype) + ops.arange(length, dtype=x.dtype)
        angles = (positions[:, None] * speeds)[:, None, :]
        cos, sin = ops.cos(angles), ops.sin(angles)
        left, right = x[..., :half], x[..., half:]
        turned = ops.concatenate([left * cos - right * sin, left * sin + right * cos], axis=-1)
        return narrow(turned, given, self.compute_dtype)
