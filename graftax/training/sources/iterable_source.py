"""IterableSource: batches from anything that can be iterated over."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from graftax.backend.rendezvous import several
from graftax.core.errors import GraftaxError
from graftax.training.batch import Batch, unpack
from graftax.training.class_weights import ClassWeights
from graftax.training.sources import fingerprint
from graftax.training.sources.host_batches import Alike, host_batch
from graftax.training.sources.lockstep import in_lockstep
from graftax.training.sources.on_device import OnDevice, host_of
from graftax.training.sources.wrapper import require_end, require_same_order


class IterableSource:
    """Batches from an iterable: a list or loader starts anew each epoch, an iterator or generator goes on.

    Args:
        batches: Yields ``x``, ``(x, y)`` or ``(x, y, sample_weight)``; lists do as well as tuples.
        steps: Batches in an epoch; all there are, unless told.
        class_weights: Weights for the rows, by the class of their target.
        are_local: Whether the rows are those of this process, and others have others.

    Raises:
        DataError: the batches never end, and no number of steps was given.
    """

    def __init__(
        self,
        batches: Iterable[Any],
        steps: int | None = None,
        class_weights: ClassWeights | None = None,
        are_local: bool = False,
    ) -> None:
        if steps is None:
            require_end(batches)
        self._batches: Any = batches
        self.are_local = are_local
        self.goes_on = isinstance(batches, Iterator)
        self.remembers = False  # whether the state after each batch is kept, for a checkpoint
        self._class_weights = class_weights
        self._steps = steps or (_length(batches) if self.goes_on else None)
        self._stream: Iterator[Any] | None = None
        self._alike = Alike()
        self._read = 0  # from an iterator that goes on, in all epochs together
        self._pass: Any = None  # what the loader said of itself before the pass that is under way
        self._places: deque[tuple[int, Any]] = deque(maxlen=_REMEMBERED)  # after how many batches which state
        self._marks: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED)  # and which fingerprint of all of them
        self._waiting: dict[str, Any] | None = None  # a state to go on from

    @property
    def steps(self) -> int | None:
        """Batches in an epoch: as many as were asked for, else as there are now, since data may grow between epochs."""
        return self._steps or _length(self._batches)

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """The batches of an epoch, from a batch on; fewer than ``steps``, or none, once the iterable has ended."""
        found, others = self._of_this_process(number, start), several()
        if others is None:
            return found
        return in_lockstep(found, others, number, start, self.are_local, ahead=not self.goes_on)

    def _of_this_process(self, number: int, start: int) -> Iterator[Batch]:
        waiting, self._waiting = self._waiting, None
        stream = self._opened(waiting)
        behind = start if waiting is None else _behind(waiting, start, self.goes_on)
        mark = self._passed_over(stream, behind, waiting)
        self._places.clear()
        self._marks.clear()
        steps = self.steps
        left = None if steps is None else max(steps - start, 0)
        for i, batch in enumerate(itertools.islice(stream, left), start):
            self._read += 1
            self._remember(stream, i + 1)
            try:
                found = self._host_batch(batch)
                self._alike.require(found, i)
            except GraftaxError as error:
                error.add_context(f"batch {i} of epoch {number + 1} of the {type(self._batches).__name__}")
                raise
            if self.remembers:
                mark = fingerprint.followed(mark, host_of(found))
                self._marks.append((i + 1, mark))
            yield found

    def _host_batch(self, batch: Any) -> Batch:
        return batch if isinstance(batch, OnDevice) else host_batch(*unpack(batch), self._class_weights)

    def _passed_over(self, stream: Iterator[Any], count: int, waiting: dict[str, Any] | None) -> int:
        """Read batches that were trained on before; return the fingerprint of all up to here."""
        if waiting is None:
            return self._marks[-1][1] if self._marks and self.goes_on else 0
        saved = waiting.get("mark")  # not in checkpoints of earlier versions
        if saved is None or count == 0:
            self._read += sum(1 for _ in itertools.islice(stream, count))
            return saved or 0
        mark = 0
        for batch in itertools.islice(stream, count):
            self._read += 1
            mark = fingerprint.followed(mark, host_of(self._host_batch(batch)))
        fingerprint.require_same(mark, saved, count, type(self._batches).__name__)
        return mark

    def _opened(self, waiting: dict[str, Any] | None) -> Iterator[Any]:
        """The stream to read from, at the place of a state if there is one."""
        if waiting is not None and waiting["pass"] is not None:
            self._batches.set_state(waiting["pass"])
        if waiting is not None and waiting["place"] is not None and hasattr(self._batches, "load_state_dict"):
            self._batches.load_state_dict(waiting["place"])
        if self._stream is None or not self.goes_on:
            if not self.goes_on and hasattr(self._batches, "get_state"):
                self._pass = self._batches.get_state()
            self._stream = iter(self._batches)
        go_on = getattr(self._stream, "set_state", None)
        if waiting is not None and waiting["place"] is not None and go_on is not None:
            go_on(waiting["place"])
        return self._stream

    def _remember(self, stream: Iterator[Any], done: int) -> None:
        """Keep where the loader stands, if somebody will ask and it says so: batches are read before they are used."""
        if self.remembers:
            tell = getattr(stream, "get_state", None) or getattr(self._batches, "state_dict", None)
            self._places.append((done, None if tell is None else tell()))

    def example(self) -> Batch:
        """A batch of a pass by itself; of an iterator the first one, which is put back."""
        if not self.goes_on:
            kept = self._batches.get_state() if hasattr(self._batches, "get_state") else None
            first = next(iter(self._batches))
            if kept is not None:
                self._batches.set_state(kept)
        elif hasattr(self._batches, "get_state") and hasattr(self._batches, "set_state"):
            kept = self._batches.get_state()
            first = next(iter(self._batches))
            self._batches.set_state(kept)
        else:
            first = next(iter(self._batches))
            self._stream = itertools.chain([first], self._batches)
        return self._host_batch(first)

    def row_order(self) -> list[int] | None:
        """The numbers of the rows as the batches of the last pass had them, if that is another order than theirs."""
        tell = getattr(self._batches, "row_order", None)
        return None if tell is None else list(tell())

    def get_state(self, index: int = 0) -> dict[str, Any]:
        """Where the loader stands after so many batches of the epoch, as it says itself, or how many were read."""
        ahead = self._places[-1][0] - index if self._places and index else 0
        place = next((state for done, state in self._places if done == index), None) if index else None
        if index == 0 and self.goes_on and hasattr(self._batches, "get_state"):
            place = self._batches.get_state()
        begin = self._pass if index or self._pass is None else self._batches.get_state()
        if index or not self.goes_on:
            mark = next((mark for done, mark in self._marks if done == index), None)
        else:
            mark = self._marks[-1][1] if self._marks else None
        mark = None if self.are_local else mark  # of this process alone
        return {"read": self._read - ahead, "place": place, "pass": begin, "mark": mark}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on after these batches with the next epoch.

        Raises:
            DataError: the order of the loader follows from a generator that nobody saved.
        """
        if state["place"] is None:
            require_same_order(self._batches)
        self._waiting = state


_REMEMBERED = 64
"""How many batches may be read before the first of them is used."""


def _behind(waiting: dict[str, Any], start: int, goes_on: bool) -> int:
    """How many batches are to be read again: none where the loader took its place back."""
    if waiting["place"] is not None:
        return 0
    return int(waiting["read"]) if goes_on else start


def _length(batches: Any) -> int | None:
    try:
        return len(batches)
    except TypeError:  # it has none, or a loader over a stream says that it does not know
        return None
