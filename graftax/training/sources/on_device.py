"""Batches that were already moved to the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax import ops
from graftax.core import tree
from graftax.training.batch import Batch, unpack
from graftax.training.class_weights import ClassWeights


class OnDevice(tuple[Any, ...]):
    """A batch on the device. ``host`` is the same batch on the host, for checks before a step.

    Example:
        >>> import numpy as np
        >>> batch = OnDevice.of((np.ones((2, 3), "float32"),))
        >>> batch[0].shape, batch.host[0].shape
        ((2, 3), (2, 3))
    """

    host: Batch
    place: Any = None
    """The position of the loader behind it, where that was asked for."""

    @classmethod
    def of(cls, batch: Batch) -> OnDevice:
        """Move a batch to the device."""
        made = cls(tree.map_structure(lambda leaf: None if leaf is None else ops.asarray(leaf), tuple(batch)))
        # for checks and fingerprints that come later: by then a loader may have written the next one into its arrays
        made.host = tree.map_structure(_copy_array, tuple(batch))
        return made

    def multiply_weights(self, class_weights: ClassWeights) -> OnDevice:
        """Return the batch with the weights of classes, multiplied by its own weights if it has some.

        Raises:
            DataError: the targets are no classes.
        """
        _, y, sample_weight = unpack(self.host)
        weights = class_weights.times(y, sample_weight)
        made = OnDevice((*self[:2], ops.asarray(weights)))
        made.host, made.place = (*self.host[:2], weights), self.place
        return made


def _copy_array(leaf: Any) -> Any:
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


def host_of(batch: Batch) -> Batch:
    """Return the batch on the host."""
    return batch.host if isinstance(batch, OnDevice) else batch


def as_tuple(batch: Batch) -> Batch:
    """Return the batch in the form for a step."""
    return tuple(batch) if isinstance(batch, OnDevice) else batch
