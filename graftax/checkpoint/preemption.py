"""Signals that ask the program to terminate: recorded when they arrive, handled between two steps."""

import signal
import threading
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Any

from graftax.backend.rendezvous import process_group
from graftax.core.errors import StateError


class Preemption:
    """Records that a signal has arrived. Use it in a ``with`` block, in the main thread.

    With several processes, the one that gets the signal tells the others, and `comes_at` returns the same in all.

    A signal handler can run at any time, also while a compiled step owns the memory of Variables, when nothing can be
    saved. So it only records the signal, and the loop checks between two steps. A second signal has its normal effect.

    Args:
        signals: The signals. Defaults to SIGTERM, which clusters send before they take a machine away.

    Raises:
        StateError: it is entered in another thread, where Python receives no signals.

    Example:
        >>> with Preemption() as preemption:
        ...     for step in range(3):
        ...         if preemption.came:
        ...             break  # after a save
        >>> preemption.came
        False
    """

    def __init__(self, signals: Sequence[int] = (signal.SIGTERM,)) -> None:
        self._signals = tuple(signals)
        self._before: dict[int, Any] = {}
        self._came = threading.Event()

    @property
    def came(self) -> bool:
        """Return True after a signal has arrived.

        Raises:
            StateError: there are several processes, of which one may know earlier than the others.
        """
        if process_group() is not None:
            raise StateError(
                "preemption.came in one of several processes",
                "the others would go on, and wait for this one in the next step",
                "preemption.comes_at(step), which gives all the same answer at the same step",
            )
        return self._came.is_set()

    def comes_at(self, step: int) -> bool:
        """Return True at the step at which to save and stop, which is the same in all processes. Call it once a step.

        Args:
            step: The number of the next step.

        Example:
            >>> with Preemption() as preemption:
            ...     preemption.comes_at(1)
            False
        """
        processes = process_group()
        return self._came.is_set() if processes is None else processes.preempted(step)

    def __enter__(self) -> "Preemption":
        if (
            process_group() is not None
        ):  # with several processes, their coordination service receives the signal for all
            return self
        if threading.current_thread() is not threading.main_thread():
            raise StateError(
                f"a block that waits for signals in the thread {threading.current_thread().name!r}",
                "Python receives signals only in its main thread",
                "enter it in the main thread, and look at preemption.came anywhere",
            )
        for number in self._signals:
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._restore()

    def _restore(self) -> None:
        before, self._before = self._before, {}
        for number, handler in before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came.set()
        self._restore()
