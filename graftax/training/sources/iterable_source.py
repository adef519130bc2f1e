"""IterableSource: batches from anything that can be iterated over."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from graftax.backend.rendezvous import process_group
from graftax.core.errors import DataError, GraftaxError
from graftax.training.batch import Batch, unpack, weighing_arguments
from graftax.training.class_weights import ClassWeights
from graftax.training.sources import fingerprint
from graftax.training.sources.host_batches import Alike, host_batch
from graftax.training.sources.lockstep import in_lockstep
from graftax.training.sources.on_device import OnDevice, host_of
from graftax.training.sources.source import Source
from graftax.training.sources.wrapper import (
    InOrder,
    as_they_are,
    innermost,
    put_in_order,
    require_end,
    require_same_order,
)


class IterableSource:
    """Batches from an iterable: a list or loader restarts in each epoch, an iterator or generator continues.

    Args:
        batches: Yields ``x``, ``(x, y)`` or ``(x, y, sample_weight)``, as tuples or lists.
        steps: The number of batches in an epoch; None for all.
        class_weights: Weights of rows by the class of their target.
        are_local: Whether each process has its own rows.

    Raises:
        DataError: the batches never end, and the number of steps is not given.
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
        self.remembers = False  # whether the state of the loader after each batch is kept, for a checkpoint
        self.in_order: InOrder = as_they_are
        self.class_weights = class_weights
        self.weighted_by = weighing_arguments(None, class_weights)
        self._steps = steps or (_length(batches) if self.goes_on else None)
        self._stream: Iterator[Any] | None = None
        self._alike = Alike()
        self._read = 0  # batches read from an iterator, in all epochs together
        self._pass: Any = None  # the state of the loader before the present pass
        # by batches of the epoch: the states of the loader behind them, and how many were read in all
        self._places: deque[tuple[int, Any, int]] = deque(maxlen=_REMEMBERED)
        self._marks: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED)  # fingerprints of all batches, likewise
        self._waiting: dict[str, Any] | None = None  # the state to resume from
        # of the latest pass: epoch, first batch; state of the loader, how many were read, and their fingerprint
        self._opening: tuple[int, int, Any, int, int | None] | None = None
        self._fresh: list[Any] = []  # the state of a loader before it got a saved one, until that has given a batch
        self._begun: set[int] = set()  # fingerprints of the first batches of passes

    def put_in_order(self, by: InOrder) -> None:
        """Let a function put the columns of tables in order, before they become arrays."""
        self.in_order = by
        put_in_order(self._batches, by)

    @property
    def steps(self) -> int | None:
        """Return the number of batches in an epoch: the given one, else the present one, since data may grow."""
        return self._steps or _length(self._batches)

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """Yield the batches of an epoch, from batch ``start`` on; fewer than ``steps`` if the iterable ends."""
        found, others = self._of_this_process(number, start), process_group()
        if others is None:
            return found
        return in_lockstep(found, others, number, start, self.are_local, ahead=not self.goes_on)

    def _of_this_process(self, number: int, start: int) -> Iterator[Batch]:
        waiting, self._waiting = self._waiting, None
        self._load(waiting)
        steps = self.steps
        left = None if steps is None else max(steps - start, 0)
        if left == 0 and waiting is not None and self._fresh:  # saved between the last step and the end of the epoch
            self._opening = number, start, waiting["place"], int(waiting["read"]), waiting.get("mark")
            return
        stream = self._open_stream(waiting)
        behind = start if waiting is None else _batches_to_skip(waiting, start, self.goes_on)
        mark = self._skip_batches(stream, behind, waiting)
        self._places.clear()
        self._opening = number, start, self._loader_state(stream) if self.remembers else None, self._read, mark
        self._marks.clear()
        if start == 0 and self._fresh and not self.goes_on:
            stream = self._not_at_end(stream)
        for i, batch in enumerate(itertools.islice(stream, left), start):
            self._fresh.clear()
            if self.remembers:  # batches are read before they are used
                self._places.append((i + 1, self._loader_state(stream), self._read + 1))
            self._read += 1
            try:
                found = self._host_batch(batch)
                found = self._alike.take(found, i)
            except GraftaxError as error:
                error.add_context(f"batch {i} of epoch {number + 1} of the {type(self._batches).__name__}")
                raise
            if i == 0:
                self._compare_passes(found, is_resumed=waiting is not None)
            if self.remembers:
                mark = fingerprint.extend(mark, host_of(found))
                self._marks.append((i + 1, mark))
            yield found

    def _compare_passes(self, first: Batch, is_resumed: bool) -> None:
        """Look whether a loader that restarts has another first batch in each pass.

        Raises:
            DataError: it does, and a run is resumed with it: how many passes came before is not known to it.
        """
        if self.goes_on or not (self.remembers or is_resumed) or self._has_state():
            return
        self._begun.add(fingerprint.extend(0, host_of(first)))
        if is_resumed and len(self._begun) > 1:
            raise fingerprint.changing_error(type(self._batches).__name__)

    def _has_state(self) -> bool:
        """Tell whether the loader, or the iterator of a pass, says where it is."""
        return any(hasattr(one, name) for one in (self._batches, self._stream) for name in ("get_state", "state_dict"))

    def _host_batch(self, batch: Any) -> Batch:
        if not isinstance(batch, OnDevice):
            return host_batch(*self.in_order(unpack(batch)), self.class_weights)
        return batch if self.class_weights is None else batch.multiply_weights(self.class_weights)

    def _skip_batches(self, stream: Iterator[Any], count: int, waiting: dict[str, Any] | None) -> int:
        """Skip batches that were trained on before; return the fingerprint of all up to here."""
        if waiting is None:
            return self._marks[-1][1] if self._marks and self.goes_on else 0
        saved = waiting.get("mark")  # checkpoints of earlier versions have no fingerprint
        if saved is None or count == 0:
            self._read += sum(1 for _ in itertools.islice(stream, count))
            return saved or 0
        mark = 0
        for batch in itertools.islice(stream, count):
            self._read += 1
            mark = fingerprint.extend(mark, host_of(self._host_batch(batch)))
        fingerprint.require_same(mark, saved, count, type(self._batches).__name__)
        return mark

    def _load(self, waiting: dict[str, Any] | None) -> None:
        """Give the loader its saved state, if there is one."""
        if waiting is None:
            return
        if waiting["pass"] is not None:
            self._batches.set_state(waiting["pass"])
        if waiting["place"] is not None and hasattr(self._batches, "load_state_dict"):
            if not self._fresh and hasattr(self._batches, "state_dict"):
                self._fresh.append(self._batches.state_dict())
            self._batches.load_state_dict(waiting["place"])
            self._stream = None  # the one that an example was put back into

    def _open_stream(self, waiting: dict[str, Any] | None) -> Iterator[Any]:
        """Return the iterator to read from, at the position of a saved state if there is one."""
        if self._stream is None or not self.goes_on:
            if not self.goes_on and hasattr(self._batches, "get_state"):
                self._pass = self._batches.get_state()
            self._stream = iter(self._batches)
        go_on = getattr(self._stream, "set_state", None)
        if waiting is not None and waiting["place"] is not None and go_on is not None:
            go_on(waiting["place"])
        return self._stream

    def _not_at_end(self, stream: Iterator[Any]) -> Iterator[Any]:
        """Return the iterator of a pass that begins; a loader may have got the state of the end of the pass before.

        It then gives nothing once, or again and again until it gets another state.
        """
        for loads in (False, True, None):
            first = next(stream, _NONE)
            if first is not _NONE or loads is None:
                return stream if first is _NONE else itertools.chain([first], stream)
            if loads:
                self._batches.load_state_dict(self._fresh[0])
            self._stream = stream = iter(self._batches)
        return stream

    def _loader_state(self, stream: Iterator[Any]) -> Any:
        """Return where the loader is, if it says so."""
        tell = getattr(stream, "get_state", None) or getattr(self._batches, "state_dict", None)
        return None if tell is None else tell()

    def example(self) -> Batch:
        """Return a batch of a separate pass, or the first one of an iterator, which is put back.

        Raises:
            DataError: there is none.
        """
        tells = hasattr(self._batches, "get_state") and hasattr(self._batches, "set_state")
        kept = self._batches.get_state() if tells else None
        if not self.goes_on and not self._fresh and hasattr(self._batches, "state_dict"):
            self._fresh.append(self._batches.state_dict())
        first = next(iter(self._batches), _NONE)
        if first is _NONE:
            raise DataError(
                f"a {type(self._batches).__name__} that yields no batch", "there is nothing to compute", "at least one"
            )
        if tells:
            self._batches.set_state(kept)
        elif self.goes_on:
            self._stream = itertools.chain([first], self._batches)
        found = self._host_batch(first)
        if not self.goes_on:
            self._begun.add(fingerprint.extend(0, host_of(found)))
        return found

    def row_order(self) -> list[int] | None:
        """Return the numbers of the rows in the order of the last pass, if the loader has changed the order."""
        tell = getattr(self._batches, "row_order", None)
        return None if tell is None else list(tell())

    def get_state(self, index: int = 0, epoch: int | None = None) -> dict[str, Any]:
        """Return the position after ``index`` batches of the epoch: the loader's state, or the number of batches."""
        read, place = self._place_of(index, epoch)
        opening = self._opening if self._opening is not None and self._opening[:2] == (epoch, index) else None
        begin = self._pass if index or opening is not None or self._pass is None else self._batches.get_state()
        if opening is not None:
            mark = opening[4] if index or self.goes_on else None
        elif index or not self.goes_on:
            mark = next((mark for done, mark in self._marks if done == index), None)
        else:
            mark = self._marks[-1][1] if self._marks else None
        mark = None if self.are_local else mark  # fingerprints of local rows differ between processes
        changes = len(self._begun) > 1 and not self.are_local
        return {"read": read, "place": place, "pass": begin, "mark": mark, "changes": changes}

    def _place_of(self, index: int, epoch: int | None) -> tuple[int, Any]:
        """Return how many batches were read up to a place, and the state of the loader there."""
        for done, place, read in self._places:
            if done == index:
                return read, place
        if self._opening is not None and self._opening[:2] == (epoch, index):  # read ahead, but no step was taken
            return self._opening[3], self._opening[2]
        if index:
            return self._read - (self._places[-1][0] - index if self._places else 0), None
        tells_itself = self.goes_on and hasattr(self._batches, "get_state")
        tell = self._batches.get_state if tells_itself else getattr(self._batches, "state_dict", None)
        return self._read, None if tell is None else tell()

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a position for the next epoch.

        Raises:
            DataError: the loader shuffles with a generator that is not saved.
        """
        if state["place"] is None:
            require_same_order(self._batches)
        if state.get("changes") and not self._has_state():
            raise fingerprint.changing_error(type(self._batches).__name__)
        self._waiting = state

    def continue_at(self, state: dict[str, Any]) -> None:
        """Restore a position as `set_state` does, if that is one of data of this kind, in whatever order these are."""
        says = hasattr(self._batches, "set_state") or hasattr(self._batches, "load_state_dict")
        if (state["pass"] is None and state["place"] is None) or says:
            self._waiting = state


def position_of(validation: Source, beside: Source) -> dict[str, Any] | None:
    """Return where the next validation begins; None for data that begin anew each time.

    Args:
        validation: The source of the validation.
        beside: The source of the training: of a loader that serves both, its own position is that of both.
    """
    if not isinstance(validation, IterableSource):
        return None
    if isinstance(beside, IterableSource) and innermost(beside._batches) is innermost(validation._batches):
        return None
    found = validation.get_state()
    moves = validation.goes_on or found["pass"] is not None
    return {**found, "mark": None} if moves else None


def go_to(validation: Source, place: dict[str, Any]) -> None:
    """Let the next validation begin at a result of `position_of`; other data than then begin at their own start."""
    if isinstance(validation, IterableSource):
        validation.continue_at(place)


_NONE = object()

_REMEMBERED = 64
"""The number of batches that may be read before the first of them is used."""


def _batches_to_skip(waiting: dict[str, Any], start: int, goes_on: bool) -> int:
    """Return the number of batches to skip: none if the loader has restored its own position."""
    if waiting["place"] is not None:
        return 0
    return int(waiting["read"]) if goes_on else start


def _length(batches: Any) -> int | None:
    try:
        return len(batches)
    except TypeError:  # it has no length, or is a loader of a stream of unknown length
        return None
