"""What saves beside the program, as a ``with`` block: it ends when all is saved, and raises if that has failed."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from graftax.core.errors import AsyncSaveFailed
from graftax.core.undefined import undefined


class Awaited:
    """A block of this waits at its end, so that a program whose last save has failed does not end as if all was well.

    Python tells a failure that nobody waited for when it ends, too; but the exit status is settled by then, and to
    change it, one would have to end the process at once: without what other libraries do at its end, and without the
    last lines of files that are still open.
    """

    def wait(self) -> Any:
        """Wait for the save beside the program."""
        raise undefined(self, "wait()")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        try:
            self.wait()
        except AsyncSaveFailed as failed:
            if error is None:
                raise
            error.add_note(f"besides, {failed}")  # what the block has raised comes first
