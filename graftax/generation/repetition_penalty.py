"""RepetitionPenalty: less of what stands there already."""

from __future__ import annotations

from dataclasses import dataclass

from graftax import ops
from graftax.core import hyperparameters
from graftax.core.typedefs import Array


@dataclass(frozen=True)
class RepetitionPenalty:
    """Makes tokens that prompt or result have already less likely; an ``adjust=`` of `Generator`.

    A logit above 0 is divided by the penalty, one below 0 multiplied.

    Args:
        penalty: Above 0; 1 changes nothing. Defaults to 1.2.

    Raises:
        ArgumentError: it is no number above 0.

    Example:
        >>> import numpy as np
        >>> seen = np.array([[0, 1]]), np.array([[True, True]])
        >>> RepetitionPenalty(2.0)(np.float32([[4, -1, 4]]), *seen).tolist()
        [[2.0, -2.0, 4.0]]

    Source: Keskar et al., arXiv 1909.05858.
    """

    penalty: float = 1.2

    def __post_init__(self) -> None:
        hyperparameters.check_distance("penalty", self.penalty)

    def __call__(self, logits: Array, tokens: Array, present: Array) -> Array:
        """Return the logits, changed.

        Shape:
            ``(rows, vocabulary), (rows, length), (rows, length) -> (rows, vocabulary)``
        """
        rows = ops.broadcast_to(ops.arange(tokens.shape[0])[:, None], tokens.shape)
        counts = ops.scatter(ops.stack([rows, tokens], axis=-1), ops.cast(present, "float32"), tuple(logits.shape))
        lower = ops.where(logits > 0, logits / self.penalty, logits * self.penalty)
        return ops.where(counts > 0, lower, logits)
