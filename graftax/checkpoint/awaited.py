"""The base of objects that save asynchronously: as a ``with`` block, they wait for the save and raise if it failed."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from graftax.core.errors import AsyncSaveFailed
from graftax.core.undefined import undefined_error


class Awaited:
    """Base class: a ``with`` block waits for the last asynchronous save, and raises if that save failed.

    A failure that nobody waited for is also printed when Python exits. But the exit status can no longer change at that
    point, except by killing the process, which would skip the exit handlers of other libraries and lose the unflushed
    content of open files.
    """

    def wait(self) -> Any:
        """Wait for the asynchronous save."""
        raise undefined_error(self, "wait()")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        try:
            self.wait()
        except AsyncSaveFailed as failed:
            if error is None:
                raise
            error.add_note(f"besides, {failed}")  # an exception that the block has raised takes precedence
