"""Ctrl-C during a loop: it is not lost where Python ignores exceptions."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Any


class Interrupts:
    """Keeps a Ctrl-C that comes where Python ignores exceptions, until it can be raised. Use it in a ``with`` block.

    Python prints and forgets an exception in a callback of the garbage collector, such as the one of JAX, in one of a
    weak reference, or in ``__del__``. Loops call `raise_if_came` between two steps, which raises it then. The same goes
    for what other signal handlers raise, such as SystemExit; anything that is an error is printed as ever. Handlers of
    signals stay as they are, so notebooks and debuggers see no difference. In other threads than the main one, which
    is where Python handles signals, nothing changes.

    Example:
        >>> with Interrupts() as interrupts:
        ...     for step in range(3):
        ...         interrupts.raise_if_came()
    """

    def __init__(self) -> None:
        self._usual: Any = None
        self._came: list[BaseException] = []

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._usual, sys.unraisablehook = sys.unraisablehook, self._note
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if sys.unraisablehook == self._note:  # somebody may have put another one in place, which is to stay then
            sys.unraisablehook = self._usual
        if error is None:
            self.raise_if_came()

    def raise_if_came(self) -> None:
        """Raise what came where it would have been lost."""
        if self._came:
            raise self._came.pop()

    def _note(self, unraisable: sys.UnraisableHookArgs) -> None:
        found = unraisable.exc_value
        if found is None or isinstance(found, Exception | GeneratorExit):
            self._usual(unraisable)
        else:
            self._came[:] = [found.with_traceback(None)]  # a traceback would keep all that its frames refer to
