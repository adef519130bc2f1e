"""Batches of a model that lies over several devices: each device gets its share of the rows."""

from __future__ import annotations

from typing import Any

from graftax.distribution.distribution import Distribution
from graftax.distribution.of_module import distribution_of
from graftax.training.trained import Trained
from graftax.variables.graph.structure import structure
from graftax.variables.state.home import HomesMoved


class Spread:
    """Spreads batches as the distribution of a model does, if it has one.

    Args:
        model: The model.
    """

    def __init__(self, model: Trained) -> None:
        self._model = model
        self._seen: tuple[int, int] | None = None
        self._distribution: Distribution | None = None

    def __call__(self, batch: Any, steps: bool = False) -> Any:
        """Return a batch, each device with its share; ``steps`` says that its first axis counts steps."""
        if not Distribution.any_made:
            return batch
        now = structure.version, HomesMoved.count
        if now != self._seen:  # the first step may have built the model
            self._distribution, self._seen = distribution_of(self._model), now
        return batch if self._distribution is None else self._distribution._gx_shard(batch, steps)
