"""Ctrl-C at each place where Python looks for one."""

import dis
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

LOOKS = ("CALL", "CALL_FUNCTION_EX", "CALL_KW", "RESUME", "JUMP_BACKWARD")
"""Instructions after which Python sees that a signal has come."""


def interrupts(run: Callable[[], Any], file: str | None) -> Iterator[int]:
    """Run again and again, each time with a Ctrl-C at the next place in a file; yield its number after each."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        number = 1
        while _interrupted(run, file, number):
            yield number
            number += 1
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupted(run: Callable[[], Any], file: str | None, number: int) -> bool:
    """Run with a Ctrl-C at that place; whether there were so many."""
    count, previous = 0, dict[FrameType, str]()

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename != file:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            before, previous[frame] = previous.get(frame), dis.opname[frame.f_code.co_code[frame.f_lasti]]
            count += (looks := before in LOOKS)
            if looks and count == number:
                signal.raise_signal(signal.SIGINT)
        return trace

    outer = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(outer)
        previous.clear()
    return False
