"""IterableSource: batches from anything that can be iterated over."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from graftax.backend.rendezvous import process_group
from graftax.checkpoint import values
from graftax.core.errors import DataError, GraftaxError
from graftax.distribution.processes import process_count
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
    length_of,
    put_in_order,
    require_end,
    require_same_order,
)


class _Place(NamedTuple):
    """A place behind some batches of an epoch.

    Args:
        done: How many batches of the epoch came before.
        loader: What the loader says of the place, if it does.
        read: How many batches were read up to here, in all epochs together.
        in_pass: How many of these belong to the present pass.
        begin: The state of the loader before that pass, if it tells it.
        after: Its state before the epoch, if the pass was open then: another pass may have begun since, a validation.
        mark: The fingerprint of the batches of the pass; of an iterator, of all.
    """

    done: int
    loader: Any
    read: int
    in_pass: int
    begin: Any
    after: Any
    mark: int


class IterableSource:
    """Batches from an iterable: a list or loader restarts in each epoch, an iterator or generator continues.

    A list or loader continues, too, where an epoch has a given number of batches; at its end it restarts.

    Args:
        batches: Yields ``x``, ``(x, y)`` or ``(x, y, sample_weight)``, as tuples or lists.
        steps: The number of batches in an epoch; None for all.
        class_weights: Weights of rows by the class of their target.
        are_local: Whether each process has its own rows.
        carries_on: Whether, with ``steps``, an epoch goes on in the data where the one before ended. Defaults to False.

    Raises:
        DataError: the batches never end, and the number of steps is not given.
    """

    def __init__(
        self,
        batches: Iterable[Any],
        steps: int | None = None,
        class_weights: ClassWeights | None = None,
        are_local: bool = False,
        carries_on: bool = False,
    ) -> None:
        if steps is None:
            require_end(batches)
        self._batches: Any = batches
        self.are_local = are_local
        self.goes_on = isinstance(batches, Iterator)
        self.carries_on = carries_on and steps is not None and not self.goes_on
        self.remembers = False  # whether the state of the loader after each batch is kept, for a checkpoint
        self.in_order: InOrder = as_they_are
        self.class_weights = class_weights
        self.weighted_by = weighing_arguments(None, class_weights)
        self._steps = steps or (length_of(batches) if self.goes_on else None)
        self._stream: Iterator[Any] | None = None
        self._alike = Alike()
        self._read = 0  # batches read from an iterator, in all epochs together
        self._in_pass = 0  # those of the present pass
        self._mark = 0  # their fingerprint
        self._pass: Any = None  # the state of the loader before the present pass
        self._after: Any = None  # its state before the epoch, if the pass was open then
        self._places: deque[_Place] = deque(maxlen=_REMEMBERED)  # behind the batches of the epoch
        self._waiting: dict[str, Any] | None = None  # the state to resume from
        self._opening: tuple[int, _Place] | None = None  # the latest epoch, and where it began
        self._fresh: list[Any] = []  # the state of a loader before it got a saved one, until that has given a batch
        self._begun: set[int] = set()  # fingerprints of the first batches of passes

    def put_in_order(self, by: InOrder) -> None:
        """Let a function put the columns of tables in order, before they become arrays."""
        self.in_order = by
        put_in_order(self._batches, by)

    @property
    def steps(self) -> int | None:
        """Return the number of batches in an epoch: the given one, else the present one, since data may grow."""
        return self._steps or length_of(self._batches)

    def steps_in(self, epoch: int, start: int = 0) -> int | None:
        """Return the number of batches in an epoch; a resumed one may be the rest of a pass that began before it."""
        steps, waiting = self.steps, self._waiting or {}
        if steps is None or self._steps is not None:
            return steps
        used, length = int(waiting.get("in_pass", start)), int(waiting.get("length") or steps)
        if start == 0 and used >= length:
            return steps
        if length != steps and waiting["place"] is not None:  # it goes on there, with batches of other sizes
            return start if used >= length else None
        return start + max(steps - used, 0)

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """Yield the batches of an epoch, from batch ``start`` on; fewer than ``steps`` if the iterable ends."""
        found, others = self._of_this_process(number, start), process_group()
        if others is None:
            return found
        return in_lockstep(found, others, number, start, self.are_local, ahead=not self.goes_on)

    def _of_this_process(self, number: int, start: int) -> Iterator[Batch]:
        steps = self.steps_in(number, start)
        waiting, self._waiting = self._waiting, None
        self._load(waiting)
        left = None if steps is None else max(steps - start, 0)
        if left == 0 and waiting is not None and self._fresh:  # saved between the last step and the end of the epoch
            self._in_pass = int(waiting.get("in_pass", start))
            self._read, self._mark, self._pass = int(waiting["read"]), waiting.get("mark") or 0, waiting["pass"]
            self._opening = number, self._here(start, waiting["place"])
            return
        stream = self._open_stream(waiting)
        self._skip_batches(stream, 0 if waiting is None else _batches_to_skip(waiting, start, self.goes_on), waiting)
        if waiting is not None:
            self._in_pass = int(waiting.get("in_pass", start))
            self._end_of_other_passes(waiting.get("after"))
        self._after = self._state_between_passes() if self.carries_on and self._in_pass else None
        self._places.clear()
        self._opening = number, self._here(start, self._loader_state() if self.remembers else None)
        for i, batch in enumerate(itertools.islice(self._iterate_passes(stream, start), left), start):
            self._fresh.clear()
            place = self._loader_state() if self.remembers else None  # batches are read before they are used
            self._read += 1
            try:
                found = self._host_batch(batch)
                found = self._alike.take(found, i)
            except GraftaxError as error:
                error.add_context(f"batch {i} of epoch {number + 1} of the {type(self._batches).__name__}")
                raise
            if self._in_pass == 0:
                self._compare_passes(found, is_resumed=waiting is not None and i == start)
            self._in_pass += 1
            if self.remembers:
                self._mark = self._extended(found)
                self._places.append(self._here(i + 1, place))
            yield found

    def _iterate_passes(self, stream: Iterator[Any], start: int) -> Iterator[Any]:
        """Yield the rest of the open pass, or the next one if nothing is left; of data that carry on, the next ones."""
        if self._fresh and not self.goes_on and (start == 0 or self.carries_on):
            stream = self._not_at_end(stream)
        came = start > 0 or self.goes_on
        while True:
            for batch in stream:
                came = True
                yield batch
            if (came and not self.carries_on) or self._in_pass == 0:
                return
            stream = self._begin_pass()

    def _here(self, done: int, loader: Any) -> _Place:
        return _Place(done, loader, self._read, self._in_pass, self._pass, self._after, self._mark)

    def _state_between_passes(self) -> Any:
        return self._batches.get_state() if hasattr(self._batches, "get_state") else None

    def _end_of_other_passes(self, state: Any) -> None:
        """Let the next pass begin as it would after those of a validation that had the same loader."""
        if state is None:
            return
        there, here = (values.pack(values.encode(one, "data")) for one in (state, self._batches.get_state()))
        if there != here:
            self._batches.set_state(state)

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

    def _skip_batches(self, stream: Iterator[Any], count: int, waiting: dict[str, Any] | None) -> None:
        """Skip batches that were trained on before, and note the fingerprint of all up to here."""
        if waiting is None:
            return
        saved = waiting.get("mark")  # checkpoints of earlier versions have no fingerprint
        if (saved is None and not self.remembers) or count == 0:
            self._read += sum(1 for _ in itertools.islice(stream, count))
            self._mark = saved or 0
            return
        self._mark = 0
        for batch in itertools.islice(stream, count):
            self._read += 1
            self._mark = self._extended(self._host_batch(batch))
        if saved is not None:
            fingerprint.require_same(self._mark, saved, count, type(self._batches).__name__)

    def _extended(self, batch: Batch) -> int:
        """Return the fingerprint up to a batch; of rows that each process has for itself, that of their shapes."""
        if self.are_local:
            return fingerprint.extend_shapes(self._mark, host_of(batch), process_count())
        return fingerprint.extend(self._mark, host_of(batch))

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
        if self._stream is None and self.goes_on:
            self._stream = iter(self._batches)
        is_open = self.goes_on or (self.carries_on and waiting is None)
        stream = self._begin_pass() if self._stream is None or not is_open else self._stream
        go_on = getattr(stream, "set_state", None)
        if waiting is not None and waiting["place"] is not None and go_on is not None:
            go_on(waiting["place"])
        return stream

    def _begin_pass(self) -> Iterator[Any]:
        """Begin a pass of a loader that restarts."""
        self._pass, self._after = self._state_between_passes(), None
        self._in_pass = self._mark = 0
        self._stream = iter(self._batches)
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
            stream = self._begin_pass()
        return stream

    def _loader_state(self) -> Any:
        """Return where the loader is, if it says so."""
        tell = getattr(self._stream, "get_state", None) or getattr(self._batches, "state_dict", None)
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
        if self._waiting is not None:  # nothing was read since it was set
            return self._waiting
        place, is_marked = self._place_of(index, epoch)
        mark = place.mark if is_marked else None
        changes = len(self._begun) > 1 and not self.are_local  # the processes must save the same
        found = {"read": place.read, "place": place.loader, "pass": place.begin, "mark": mark, "changes": changes}
        return {**found, "in_pass": place.in_pass, "after": place.after, "length": length_of(self._batches)}

    def _place_of(self, index: int, epoch: int | None) -> tuple[_Place, bool]:
        """Return a place of the epoch, and whether it has the fingerprint of the batches before."""
        for place in self._places:
            if place.done == index:
                return place, True
        if self._opening is not None and (self._opening[0], self._opening[1].done) == (epoch, index):
            return self._opening[1], bool(index) or self.goes_on or self.carries_on  # read ahead, but no step was taken
        if index:
            read = self._read - (self._places[-1].done - index if self._places else 0)
            return _Place(index, None, read, index, self._pass, None, 0), False
        if self.carries_on and self._in_pass:
            here = self._here(0, self._loader_state())
            return here._replace(after=self._state_between_passes()), self.remembers
        tells_itself = self.goes_on and hasattr(self._batches, "get_state")
        tell = self._batches.get_state if tells_itself else getattr(self._batches, "state_dict", None)
        begin = None if self._pass is None else self._batches.get_state()
        loader = None if tell is None else tell()
        return _Place(0, loader, self._read, 0, begin, None, self._mark), self.goes_on and bool(self._places)

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
    return int(waiting["read"]) if goes_on else int(waiting.get("in_pass", start))  # which earlier versions do not have
