"""IterableSource: batches from anything that can be iterated over."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from graftax.core.errors import DataError, GraftaxError
from graftax.training.batch import Batch, unpack
from graftax.training.class_weights import ClassWeights
from graftax.training.sources.host_batches import Alike, host_batch
from graftax.training.sources.on_device import OnDevice


class IterableSource:
    """Batches from an iterable: a list or loader starts anew each epoch, an iterator or generator goes on.

    Args:
        batches: Yields ``x``, ``(x, y)`` or ``(x, y, sample_weight)``; lists do as well as tuples.
        steps: Batches in an epoch; all there are, unless told.
        class_weights: Weights for the rows, by the class of their target.
    """

    def __init__(
        self, batches: Iterable[Any], steps: int | None = None, class_weights: ClassWeights | None = None
    ) -> None:
        self._batches = batches
        self.goes_on = isinstance(batches, Iterator)
        self._class_weights = class_weights
        self.steps = steps or _length(batches)
        self._stream: Iterator[Any] | None = None
        self._alike = Alike()
        self._read = 0  # from an iterator that goes on, in all epochs together
        self._waiting: dict[str, Any] | None = None  # a state to go on from

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """The batches of an epoch, from a batch on; fewer than ``steps``, or none, once the iterable has ended."""
        if self._stream is None or not self.goes_on:
            self._stream = iter(self._batches)
        at = self._skip(self._stream, start)
        left = None if self.steps is None else max(self.steps - at, 0)
        for i, batch in enumerate(itertools.islice(self._stream, left), at):
            self._read += 1
            try:
                found = batch if isinstance(batch, OnDevice) else host_batch(*unpack(batch), self._class_weights)
                self._alike.require(found, i)
            except GraftaxError as error:
                error.add_context(f"batch {i} of epoch {number + 1} of the {type(self._batches).__name__}")
                raise
            yield found

    def _skip(self, stream: Iterator[Any], start: int) -> int:
        """Go to where a run that resumes stood: by the state of the loader, else by reading what came before."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None and waiting["stream"] is not None:
            restore = getattr(stream, "set_state", None) or getattr(self._batches, "load_state_dict", None)
            if restore is not None:
                restore(waiting["stream"])
                if not hasattr(stream, "set_state"):
                    self._stream = iter(self._batches)  # a loader that has a state gives it to its next iterator
                self._read = waiting["read"]
                return start
        behind = waiting["read"] if waiting is not None and self.goes_on else start
        for _ in itertools.islice(stream, behind):
            self._read += 1
        return start

    def get_state(self) -> dict[str, Any]:
        """How many batches were read, and what the loader says of itself, as those of grain and torchdata do."""
        tell = getattr(self._stream, "get_state", None) or getattr(self._batches, "state_dict", None)
        return {"read": self._read, "stream": tell() if tell is not None else None}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on after these batches with the next epoch.

        Raises:
            DataError: the order of the loader follows from a generator that nobody saved.
        """
        if state["stream"] is None:
            require_same_order(self._batches)
        self._waiting = state


def require_same_order(loader: Any) -> None:
    """Raise for a loader of torch that shuffles by the global generator of torch: its order cannot be had again.

    Raises:
        DataError: says how to give the loader a generator.
    """
    sampler = getattr(loader, "sampler", None)
    if type(sampler).__name__ == "RandomSampler":
        raise DataError(
            f"a run is resumed with a {type(loader).__name__} that shuffles",
            "its order comes from a generator of torch that no checkpoint holds: rows would be left out or come twice",
            "torchdata's StatefulDataLoader; arrays or a torch Dataset itself, fit(dataset, batch_size=32), which keep "
            "their place; or shuffle=False",
        )


def _length(batches: Any) -> int | None:
    try:
        return len(batches)
    except TypeError:  # it has none, or a loader over a stream says that it does not know
        return None
