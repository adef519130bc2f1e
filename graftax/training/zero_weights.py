"""An epoch, or an evaluation, in which every sample has the weight 0: its loss of 0 says nothing, and this is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graftax.backend.rendezvous import process_group
from graftax.core import tree, user_line
from graftax.training.batch import Batch, unpack
from graftax.training.unused_targets import STEPS


class ZeroWeights:
    """Looks at the weights of batches on the host until there is one that is not 0.

    Steps of the user's may mean something else by weights, and where there are several processes, others have more of
    them: nothing is looked at there.

    Args:
        model: The model.

    Example:
        >>> import graftax as gx
        >>> weights = ZeroWeights(gx.Sequential([]))
        >>> weights.look([(np.ones(2), np.ones(2), np.zeros(2))])
        >>> weights.are_open
        True
        >>> weights.look([(np.ones(2), np.ones(2), np.array([0.0, 1.0]))])
        >>> weights.are_open
        False
    """

    def __init__(self, model: Any) -> None:
        self.are_open = process_group() is None and not any(map(model._gx_has_own, STEPS))
        """Whether all weights so far were 0, so that it still looks."""
        self._name, self._batches = f"{type(model).__name__} {model.name!r}", 0

    def look(self, batches: Sequence[Batch]) -> None:
        """Look at batches."""
        for batch in batches:
            weights = [leaf for leaf in tree.flatten(unpack(batch)[2]) if leaf is not None]
            self._batches += 1
            if not weights or any(np.any(np.asarray(leaf)) for leaf in weights):
                self.are_open = False
                return

    def warn(self, logs: Mapping[str, Any]) -> None:
        """Warn if there were none but 0, and the loss is 0, which layers may add to.

        Args:
            logs: The numbers after the last batch.
        """
        if self.are_open and self._batches and float(logs.get("loss", 1.0)) == 0.0:
            self.are_open = False
            user_line.warn(
                f"all sample weights in the {self._batches} batches of {self._name} are 0: nothing counts, so that the "
                "loss is 0, and nothing is learned from it. Instead: sample_weight= (or class_weight=) with numbers "
                "above 0 for the rows that count; without it, all count alike"
            )
