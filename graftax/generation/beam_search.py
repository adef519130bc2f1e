"""BeamSearch: the likeliest sequence, as far as it shows while several are followed at once."""

from __future__ import annotations

from dataclasses import dataclass

from graftax.core import hyperparameters
from graftax.core.typedefs import Array


@dataclass(frozen=True)
class BeamSearch:
    r"""Follows several continuations of each prompt at once, and gives the one with the highest score.

    .. math:: \text{score} = \frac{\log p(\text{tokens})}{\text{length}^{\text{length\_penalty}}}

    A search ends when all beams have their stop tokens, or no other could have a higher score any more. The cache of
    the step must have the batch as the first axis of each array in it; numbers alone serve all rows.

    Args:
        num_beams: How many sequences are followed. Defaults to 4.
        length_penalty: From 0 up; 0 compares probabilities, which favours short sequences. Defaults to 1.0.
        return_all: Whether all beams are returned, in place of the best one. Defaults to False.

    Raises:
        ArgumentError: a number is out of range.

    Example:
        >>> import numpy as np, graftax as gx
        >>> def step(tokens, count):
        ...     return gx.ops.one_hot((tokens + 1) % 8, 8) * 9.0, count + 1
        >>> write = gx.generation.Generator(step, 3, BeamSearch(2, return_all=True), stop_tokens=6)
        >>> write([[3]], np.int32(0)).tokens.shape
        (1, 2, 3)

    Source: Graves, arXiv 1211.3711; lengths: Wu et al., arXiv 1609.08144.
    """

    num_beams: int = 4
    length_penalty: float = 1.0
    return_all: bool = False

    def __post_init__(self) -> None:
        hyperparameters.check_positive("num_beams", self.num_beams, "it counts sequences, from 1 up", 4)
        hyperparameters.check_not_negative("length_penalty", self.length_penalty, "it is a power, from 0 up", 1.0)
        hyperparameters.check_flag("return_all", self.return_all)

    def score(self, log_probability: Array, length: Array | float) -> Array:
        """Return the score of sequences.

        Args:
            log_probability: The logarithms of their probabilities.
            length: How many tokens they have, from 1 up.
        """
        return log_probability / length**self.length_penalty
