"""AttentionCache: keys and values of the positions so far."""

from __future__ import annotations

from typing import NamedTuple

from graftax.core.typedefs import Array


class AttentionCache(NamedTuple):
    """Keys and values of the positions so far; what `MultiHeadAttention.make_cache` gives.

    A call beyond its room raises in eager code; compiled code finds it with ``graftax.jit(..., checked=True)``, and
    without writes over the last positions.

    Example:
        >>> import numpy as np, graftax as gx
        >>> layer = gx.layers.MultiHeadAttention(num_heads=2, key_dim=4)
        >>> out = layer(np.ones((1, 3, 8), "float32"))
        >>> cache = layer.make_cache(batch_size=1, length=5)
        >>> isinstance(cache, AttentionCache), cache.key.shape, int(cache.position)
        (True, (1, 5, 2, 4), 0)
    """

    key: Array
    """``(batch, length, key_value_heads, key_dim)``."""
    value: Array
    """``(batch, length, key_value_heads, value_dim)``."""
    position: Array
    """How many positions are filled: an integer."""
    visible: Array | None = None
    """``(batch, length)``: False where a mask of the input hid what was added. Defaults to None, nothing hidden."""
