"""RandomSampler: a token drawn by its probability, of all or of the likeliest."""

from __future__ import annotations

from dataclasses import dataclass

from graftax.core import hyperparameters
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array
from graftax.generation import sampling_filters
from graftax.generation.sampler import Sampler
from graftax.variables import random


@dataclass(frozen=True)
class RandomSampler(Sampler):
    r"""Draws a token by its probability, :math:`\mathrm{softmax}(\text{logits} / \text{temperature})`.

    What ``top_k`` leaves, ``top_p`` looks at. Equal logits are kept or left out together.

    Args:
        temperature: Above 0; below 1 it prefers what is likely. Defaults to 1.0.
        top_k: Only so many of the likeliest tokens may come. Defaults to None, all.
        top_p: Only the likeliest tokens may come, the fewest whose probabilities add up to this share. Defaults to
            None, all.

    Raises:
        ArgumentError: a number is out of range.

    Example:
        >>> import numpy as np
        >>> RandomSampler(top_k=1).sample(np.float32([[0, 2, 1]]), 0).tolist()
        [1]

    Source: top-p: Holtzman et al., arXiv 1904.09751; top-k: Fan et al., arXiv 1805.04833.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None

    def __post_init__(self) -> None:
        if self.temperature == 0:
            raise ArgumentError(
                f"temperature={self.temperature}",
                "logits are divided by it, and towards 0 the likeliest token alone is left",
                "GreedySampler()",
            )
        hyperparameters.check_distance("temperature", self.temperature)
        if self.top_k is not None:
            hyperparameters.check_positive("top_k", self.top_k, "it is a number of tokens, from 1 up", 50)
        if self.top_p is not None:
            reason = "it is a share of the probability, in (0, 1]"
            hyperparameters.check_number("top_p", self.top_p, lambda share: 0 < share <= 1, reason, 0.9)

    def sample(self, logits: Array, seed: Array | None) -> Array:
        """Return one token for each row."""
        return random.categorical(self.filtered(logits), seed=seed)

    def filtered(self, logits: Array) -> Array:
        """Return the logits that a token is drawn by: divided by the temperature, -inf for what may not come.

        Shape:
            ``(batch, vocabulary) -> (batch, vocabulary)``
        """
        logits = logits / self.temperature
        if self.top_k is not None:
            logits = sampling_filters.top_k(logits, self.top_k)
        return logits if self.top_p is None else sampling_filters.top_p(logits, self.top_p)
