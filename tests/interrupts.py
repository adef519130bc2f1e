"""Ctrl-C at each place where Python looks for one, or at some lines of a program that is too long for all places."""

import dis
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

LOOKS = ("CALL", "CALL_FUNCTION_EX", "CALL_KW", "RESUME", "JUMP_BACKWARD")
"""Instructions after which Python sees that a signal has come."""


def interrupts(run: Callable[[], Any], file: str | None) -> Iterator[int]:
    """Run again and again, each time with a Ctrl-C at the next place in a file; yield its number after each."""
    number = 1
    while interrupted(run, file, number):
        yield number
        number += 1


def interrupted(run: Callable[[], Any], file: str | None, number: int, by_line: bool = False) -> bool:
    """Run with a Ctrl-C at that place, or line, of files whose names hold this; whether there were so many."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with _Places(file, by_line, number).counted():
            run()
    except KeyboardInterrupt:
        return True
    finally:
        signal.signal(signal.SIGINT, before)
    return False


def lines(run: Callable[[], Any], file: str) -> int:
    """How many lines of files whose names hold this are run."""
    places = _Places(file, by_line=True)
    with places.counted():
        run()
    return places.count


class _Places:
    """The places, or lines, that were passed so far; at one of them a Ctrl-C comes."""

    def __init__(self, file: str | None, by_line: bool, number: int | None = None) -> None:
        self.count = 0
        self._file = file
        self._by_line = by_line
        self._number = number
        self._previous: dict[FrameType, str] = {}

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count in the block."""
        outer = sys.gettrace()
        sys.settrace(self._trace)
        try:
            yield
        finally:
            sys.settrace(outer)
            self._previous.clear()

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if self._file is None or self._file not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = not self._by_line
        if event == ("line" if self._by_line else "opcode"):
            self.count += (passed := self._by_line or self._has_looked(frame))
            if passed and self.count == self._number:
                signal.raise_signal(signal.SIGINT)
        return self._trace

    def _has_looked(self, frame: FrameType) -> bool:
        """Whether Python has just looked for a signal in the frame."""
        before = self._previous.get(frame)
        self._previous[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
        return before in LOOKS
