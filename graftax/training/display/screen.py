"""Where lines go: a terminal or a notebook, where the last line is written over, or a file, where lines follow."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from typing import Any


class Screen:
    """The standard output, as it is when the first line is written.

    Args:
        verbose: ``"auto"``, 0, 1 or 2, see `graftax.callbacks.Progress`.
    """

    def __init__(self, verbose: int | str) -> None:
        self._terminal = _is_terminal()
        self.is_moving = verbose in (1, "auto") and (self._terminal or _is_notebook())
        self.prints = verbose != 0
        self.seconds_between = 0.1 if self._terminal else 0.5
        self._open = 0  # columns of the line that can be written over
        # a notebook keeps every line of a stream, also those that were written over; of a display, its last state
        self._display = _display() if self.is_moving and not self._terminal else None
        self._shown: Any = None

    @property
    def width(self) -> int | None:
        """How many columns a line has; None in a file, where there is no end."""
        if self._terminal:
            return max(shutil.get_terminal_size().columns - 1, 20)  # in the last column some terminals begin a new line
        return 100 if self.is_moving else None

    @property
    def is_plain(self) -> bool:
        """Whether only ASCII characters can be shown."""
        try:
            "━─".encode(getattr(sys.stdout, "encoding", None) or "ascii")
        except (UnicodeEncodeError, LookupError):
            return True
        return False

    def show(self, line: str) -> None:
        """Write a line that the next one replaces."""
        if self._display is not None:
            self._update(line)
            return
        self._write(f"\r{line}{' ' * (self._open - len(line))}")
        self._open = len(line)

    def finish(self, line: str) -> None:
        """Write a line that stays."""
        if self._display is not None:
            self._update(line)
            self._shown = None
            return
        over = f"\r{line}{' ' * (self._open - len(line))}" if self._open else line
        self._write(f"{over}\n")
        self._open = 0

    def clear(self) -> None:
        """Take away the line that would be replaced, since somebody else may write now."""
        if self._open:
            self._write(f"\r{' ' * self._open}\r")
            self._open = 0

    def close(self) -> None:
        """Leave the line that would be replaced; what comes next begins a new one."""
        if self._open:
            self._write("\n")
            self._open = 0
        self._shown = None

    def _update(self, line: str) -> None:
        if self._shown is None and self._display is not None:
            self._shown = self._display(_Line(line), display_id=True)
        elif self._shown is not None:
            self._shown.update(_Line(line))

    def _write(self, text: str) -> None:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except (BrokenPipeError, ValueError):  # nobody reads any more, which is no reason to stop training
            self.prints = self.is_moving = False


class _Line:
    """A line as a notebook shows it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _display() -> Callable[..., Any] | None:
    """Return what shows an output in a notebook, which gives a handle that changes it."""
    return getattr(sys.modules.get("IPython.display"), "display", None)


def _is_terminal() -> bool:
    try:
        return bool(sys.stdout.isatty())
    except (AttributeError, ValueError):  # replaced, or closed
        return False


def _is_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
