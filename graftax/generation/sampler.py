"""Sampler: how one next token is chosen for each row."""

from __future__ import annotations

from typing import Any, ClassVar

from graftax.core.promises import withdraw
from graftax.core.typedefs import Array
from graftax.core.undefined import undefined_error


class Sampler:
    """How a `Generator` chooses the next token of each row from its logits; the base of your own.

    Example:
        >>> import numpy as np, graftax as gx
        >>> class SecondBest(Sampler):
        ...     def sample(self, logits, seed):
        ...         return gx.ops.argsort(logits, descending=True)[:, 1]
        >>> int(SecondBest().sample(np.float32([[0, 2, 1]]), None)[0])
        2
    """

    draws: ClassVar[bool] = True
    """False for one that draws nothing: no random stream moves on. A subclass with another `sample` says so itself."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        withdraw(cls, Sampler, "draws", "sample")

    def sample(self, logits: Array, seed: Array | None) -> Array:
        """Return one token for each row.

        Args:
            logits: In float32, -inf for what may not come.
            seed: A key of this step's own, for functions of `graftax.random`; None where nothing is drawn.

        Shape:
            ``(batch, vocabulary) -> (batch,)``
        """
        raise undefined_error(self, "sample(logits, seed)")
