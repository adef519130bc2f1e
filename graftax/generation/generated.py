"""Generated: what a run of generation gives."""

from __future__ import annotations

from typing import NamedTuple

from graftax.core.typedefs import Array


class Generated(NamedTuple):
    """What a `Generator` gives: the new tokens, how many there are, and how likely they are.

    With ``BeamSearch(return_all=True)`` each has an axis of the beams behind that of the batch, the best one first.

    Example:
        >>> import numpy as np
        >>> Generated(np.array([[4, 2, 0]]), np.array([2]), np.float32([-1.5])).tokens.shape
        (1, 3)
    """

    tokens: Array
    """``(batch, max_new_tokens)``: the new tokens, the stop token among them, then the padding."""
    lengths: Array
    """``(batch,)``: how many of them count."""
    scores: Array
    """``(batch,)``: the logarithm of their probability, by logits that ``adjust`` gave; a `BeamSearch` divides it."""
