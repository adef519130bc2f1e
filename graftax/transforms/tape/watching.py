"""The frame of the tapes that record at one level: it hands out Variables such that a tape can tell them apart."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Protocol, cast

from graftax.backend import registry
from graftax.core.typedefs import Array
from graftax.variables.state.storage import Frame, Storage, frames


class Watcher(Protocol):
    """A tape, as reads of Variables see it."""

    def starts(self, storage: Storage, value: Array) -> bool:
        """Return True if a gradient with respect to the Variable is one with respect to this value of it."""
        ...

    def assigned(self, storage: Storage, value: Array) -> None:
        """Note that it was given that value while the tape records."""
        ...

    def saw(self, storage: Storage, value: Array) -> None:
        """Note that a value that it starts with was read, as this array."""
        ...

    def tracks(self, values: Sequence[Array]) -> bool:
        """Return True if one of the arrays is watched, or was computed from what is."""
        ...

    def follows(self, storage: Storage, value: Array) -> bool:
        """Return True if the value is on its record because it was assigned to the Variable while the tape records."""
        ...

    def note_copy(self, value: Array, copy: Array) -> None:
        """Note that the one array is the other, for gradients, too."""
        ...

    def note_conversion(self, value: object, name: str) -> None:
        """Note that the value was turned into a NumPy array."""
        ...


def _references_of_a_lone_buffer() -> int:
    storage = Storage.__new__(Storage)
    storage.place = [cast(Any, object())], 0
    return sys.getrefcount(storage.buffer)


_LONE = _references_of_a_lone_buffer()


class Watching(Frame):
    """Reads and writes go through; arrays are told apart by identity, so what a Variable starts with is one of its own.

    A Variable that shares its first array with somebody (another Variable, a local name of the user) gets a copy when a
    tape first reads it. What is assigned while a tape records is read as the very array that was assigned: it carries
    its gradient.
    """

    def __init__(self, level: object) -> None:
        super().__init__()
        self.parent = frames.top
        self.level = level
        self._before = frames.items
        self._stack = (*self._before, self)
        self._watchers: tuple[Watcher, ...] = ()
        self._given: dict[Storage, tuple[Array, Array]] = {}  # what was found, what was handed out

    def add(self, watcher: Watcher) -> None:
        """Let a tape see reads."""
        self.memo.clear()  # what was computed before is on no record
        self._watchers = (*self._watchers, watcher)

    def remove(self, watcher: Watcher) -> None:
        """Let a tape see no more; the frame goes with the last one, as soon as it is on top."""
        self.memo.clear()
        self._watchers = tuple(w for w in self._watchers if w is not watcher)
        if not self._watchers:
            self._given.clear()
        # tapes may end in any order: a frame below one that goes on stays until that is gone
        while isinstance(top := frames.top, Watching) and not top._watchers and frames.items is top._stack:
            frames.put(top._before)
            top._stack = ()

    def read(self, storage: Storage) -> Array:
        """Return the value now; one that a gradient may be taken with respect to, as an array that nobody else has."""
        now = storage.concrete() if self.parent is None else self.parent.read(storage)
        starting = [watcher for watcher in self._watchers if watcher.starts(storage, now)]
        known = self._given.get(storage)
        if known is None or known[0] is not now:
            if not starting and not self._is_recorded_otherwise(storage, now):
                return now
            del now  # so that the count below is that of others
            known = self._given[storage] = self._give(storage)
        for watcher in starting:
            watcher.saw(storage, known[1])
        return known[1]

    def _is_recorded_otherwise(self, storage: Storage, value: Array) -> bool:
        """Return True if a tape has the array on its record for another reason than that it was assigned there."""
        return any(one.tracks((value,)) and not one.follows(storage, value) for one in self._watchers)

    def _give(self, storage: Storage) -> tuple[Array, Array]:
        lone = self.parent is None and sys.getrefcount(storage.buffer) <= _LONE
        found = storage.buffer if self.parent is None else self.parent.read(storage)
        if lone and not self._is_recorded_otherwise(storage, found):
            return found, found
        own = registry.current().gradients.copy_unrecorded(found, self.level)
        following = [watcher for watcher in self._watchers if watcher.follows(storage, found)]
        for watcher in following:
            watcher.note_copy(found, own)
        if self.parent is not None:
            return found, own
        storage.buffer = own
        for watcher in following:
            watcher.assigned(storage, own)
        return own, own

    def write(self, storage: Storage, value: Array) -> None:
        """Do what the frame around does."""
        with frames.replaced(self._before):  # a tape never keeps an assignment back: the code is eager
            storage.write(value)
        self._given.pop(storage, None)
        for watcher in self._watchers:
            watcher.assigned(storage, value)

    def note_conversion(self, value: object, name: str) -> None:
        """Note that the value of a Variable became a NumPy array."""
        for watcher in self._watchers:
            watcher.note_conversion(value, name)
        super().note_conversion(value, name)

    def tracks(self, value: Array) -> bool:
        """Return True if a tape that sees reads here, or around, follows the array."""
        return any(watcher.tracks((value,)) for watcher in self._watchers) or super().tracks(value)


def watch_reads(watcher: Watcher, level: object) -> Watching:
    """Let a tape that records at a level see the reads of Variables there."""
    frame = frames.top
    if not isinstance(frame, Watching) or frame.level is not level:
        frame = Watching(level)
        frames.put(frame._stack)
    frame.add(watcher)
    return frame
