"""What a backend that traces offers to find out what went wrong inside a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol


class Checking(Protocol):
    """Checks inside of programs, and names for their parts."""

    def note_check(self, explain: Callable[..., Any], bad: object, looked_at: Sequence[Any]) -> None:
        """Write down that it is an error if ``bad`` is true; ``explain(*looked_at)``, with arrays of NumPy, makes it.

        Where operations run at once it is raised now. A program that has checks raises after it has run; inside of
        another program they become that one's.
        """
        ...

    def named(self, name: str) -> AbstractContextManager[Any]:
        """Make operations that are traced in the block belong to a part of that name, below those around it."""
        ...
