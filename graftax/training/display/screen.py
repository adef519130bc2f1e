"""The output of lines: a terminal or a notebook, where the last line is overwritten, or a file."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from typing import Any


class Screen:
    """The standard output at the time of the first line.

    Args:
        verbose: ``"auto"``, 0, 1 or 2, see `graftax.callbacks.Progress`.
    """

    def __init__(self, verbose: int | str) -> None:
        self._terminal = _is_terminal()
        self.is_moving = verbose in (1, "auto") and (self._terminal or _is_notebook())
        self.prints = verbose != 0
        self.seconds_between = 0.1 if self._terminal else 0.5
        self._open = 0  # columns of the line that can be overwritten
        # a notebook saves every line of a stream, also overwritten ones, but only the last state of a display
        self._display = _display() if self.is_moving and not self._terminal else None
        self._shown: Any = None

    @property
    def width(self) -> int | None:
        """Return the number of columns of a line; None for a file, which has no limit."""
        if self._terminal:
            return max(shutil.get_terminal_size().columns - 1, 20)  # some wrap after the last one
        return 100 if self.is_moving else None

    @property
    def is_plain(self) -> bool:
        """Return whether only ASCII characters can be shown."""
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
        """Write a permanent line."""
        if self._display is not None:
            self._update(line)
            self._shown = None
            return
        over = f"\r{line}{' ' * (self._open - len(line))}" if self._open else line
        self._write(f"{over}\n")
        self._open = 0

    def clear(self) -> None:
        """Clear the line that would be replaced, since other output may follow."""
        if self._open:
            self._write(f"\r{' ' * self._open}\r")
            self._open = 0

    def close(self) -> None:
        """Keep the line that would be replaced; further output starts a new one."""
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
        except (BrokenPipeError, ValueError):  # the pipe was closed, which is no reason to stop training
            self.prints = self.is_moving = False


class _Line:
    """A line in a notebook."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _display() -> Callable[..., Any] | None:
    """Return the function of IPython that displays an output and returns a handle to update it."""
    return getattr(sys.modules.get("IPython.display"), "display", None)


def _is_terminal() -> bool:
    try:
        return bool(sys.stdout.isatty())
    except (AttributeError, ValueError):  # stdout was replaced or closed
        return False


def _is_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
