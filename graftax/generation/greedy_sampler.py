"""GreedySampler: the likeliest token."""

from __future__ import annotations

from graftax import ops
from graftax.core.typedefs import Array
from graftax.generation.sampler import Sampler


class GreedySampler(Sampler):
    """Chooses the likeliest token, the first one of several that are equal.

    Example:
        >>> import numpy as np
        >>> GreedySampler().sample(np.float32([[0, 2, 1]]), None).tolist()
        [1]
    """

    draws = False

    def sample(self, logits: Array, seed: Array | None) -> Array:
        """Return one token for each row."""
        return ops.argmax(logits, axis=-1)
