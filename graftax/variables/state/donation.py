"""Donation: a compiled step gives the buffers of Variables away while it runs, and threads that want one wait for it.

A buffer that is given to a program is gone as soon as the program starts, and the new one is there when the call comes
back. In between nobody may find the old one. So a step first puts its `Donation` where the buffers were. Whoever took a
buffer before that holds a reference to it, which the step sees: it copies such a buffer rather than give it away.
Whoever comes later finds the donation, and waits. What is read is the value before the step or the one after it.

Where buffers are changes under `lock`; nobody waits for a step while holding it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock, get_ident
from typing import Any, Protocol

from graftax.core.errors import StateError

lock = RLock()
"""Held while buffers move from one place to another."""

_ALL = slice(None)
_PATIENCE = 0.2  # seconds that a step waits at most, since whoever waits for it may need it to begin
_waiting: list[int] = []
"""The threads that wait for steps to end. New ones let them go first: steps that follow upon each other would leave
them no moment."""


class Placed(Protocol):
    """What has a buffer in a list: a Storage, or several in one array."""

    place: tuple[Any, int]

    @property
    def buffer(self) -> Any:
        """Return the array that is there now."""
        ...


class Donation:
    """Stands in the places of the buffers that one run of a compiled function has taken."""

    __slots__ = ("_answers", "_over", "_places", "_returning", "_thread", "_wanted", "buffers")

    def __init__(self) -> None:
        self.buffers: list[Any] = []
        self._places: list[tuple[list[Any], slice, slice]] = []  # and where in `buffers` is what stood there
        self._thread = get_ident()
        if _waiting:
            self._let_by()
        self._returning = False
        self._over = False
        # A thread that waits is served by the step that it waits for: when its turn comes, the next one may have begun.
        self._wanted: list[Placed] = []
        self._answers: dict[Placed, Any] = {}

    def _let_by(self) -> None:
        end = time.monotonic() + _PATIENCE
        while any(thread != self._thread for thread in _waiting) and time.monotonic() < end:
            time.sleep(1e-5)

    def take_list(self, buffers: list[Any]) -> None:
        """Take all buffers of a list."""
        self.buffers = buffers[:]
        self._places.append((buffers, _ALL, _ALL))  # before it is done: an interrupt may come at any time
        buffers[:] = [self] * len(buffers)

    def take(self, cells: Iterable[Placed]) -> None:
        """Take the buffers of cells. Buffers that a pack has split stay in place too, so the step copies them."""
        for cell in cells:
            holder, index = cell.place
            self.buffers.append(holder[index])
            if type(holder) is list:
                # where, and not what: a second list that holds the buffer would keep it from being given away
                last = slice(len(self.buffers) - 1, len(self.buffers))
                self._places.append((holder, slice(index, index + 1), last))
                holder[index] = self

    def give_back(self) -> None:
        """Put the buffers where they were: the program did not run."""
        for holder, where, which in self._places:
            if any(one is self for one in holder[where]):
                holder[where] = self.buffers[which]

    def begin_return(self) -> None:
        """Let this thread assign what it has taken, from here on: the new values are there."""
        self._returning = True

    def end(self) -> None:
        """Let waiting threads continue."""
        if self._wanted:
            places = [(cell, cell.place) for cell in self._wanted]
            self._answers = {cell: holder[index] for cell, (holder, index) in places if type(holder) is list}
        self._over = True

    def wait(self, cell: Placed | None = None) -> Any:
        """Wait for the end of the step; the buffer that the cell then had, or None where one has to look again.

        Raises:
            StateError: this thread itself runs the step.
        """
        if self._thread == get_ident():
            raise StateError(
                "a Variable was used by Python that runs while its thread starts a compiled step that changes it",
                "its memory has been given to the step, and the new value is there when the step comes back",
                "use it after the call of the compiled function; code in __del__ and signal handlers runs at any time",
            )
        if cell is not None:
            self._wanted.append(cell)
        pause = 1e-5
        while not self._over:
            if sys.is_finalizing():
                raise StateError(
                    "Python ends while a compiled step runs in another thread",
                    "the step will not come back",
                    "thread.join() for each thread before the program ends",
                )
            time.sleep(pause)
            pause = min(2 * pause, 1e-3)
        found = self._answers.get(cell) if cell is not None else None
        return None if type(found) is Donation else found


def donation_at(cell: Placed) -> Donation | None:
    """Return the donation that has the buffer of a cell; None without one, or where this thread is assigning again."""
    holder, index = cell.place
    if type(holder) is not list:  # a pack, which has a place of its own
        holder, index = holder.place
    donation = holder[index]
    if type(donation) is not Donation or (donation._returning and donation._thread == get_ident()):
        return None
    return donation


def wait_for_buffer(cell: Placed) -> Any:
    """Return the buffer of a cell, after the step that has it has ended."""
    while True:
        with lock:
            holder, index = cell.place
            buffer = holder[index]
        if type(buffer) is not Donation:
            return buffer
        if (value := buffer.wait(cell)) is not None:
            return value


@contextmanager
def at_rest(cells: Sequence[Placed]) -> Iterator[None]:
    """Let this thread alone move buffers in the block, while none of these is given to a step."""
    me, is_waiting = get_ident(), False
    try:
        while True:
            with lock:  # and not `acquire`: a Ctrl-C right after it would leave the lock held for ever
                if is_waiting:
                    _waiting.remove(me)
                    is_waiting = False
                busy = next((found for cell in cells if (found := donation_at(cell)) is not None), None)
                if busy is None:
                    yield
                    return
            is_waiting = True
            _waiting.append(me)  # until it has the lock again: it looks before the next step begins
            busy.wait()
    finally:
        if is_waiting and me in _waiting:
            _waiting.remove(me)
