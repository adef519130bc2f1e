"""Asynchronous work in a thread: one save at a time, whose failure is raised at the next call."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from threading import Thread
from typing import Generic, TypeVar

from graftax.core.errors import AsyncSaveFailed

T = TypeVar("T")

_unreported: set[Background[object]] = set()
"""Instances whose last work was not waited for."""


class Background(Generic[T]):
    """A background thread that runs at most one piece of work at a time."""

    def __init__(self) -> None:
        self._thread: Thread | None = None
        self._error: BaseException | None = None
        self._result: T | None = None

    def __reduce__(self) -> tuple[type[Background[T]], tuple[()]]:
        return Background, ()  # a copy has nothing in flight

    def submit(self, task: str, work: Callable[[], T]) -> None:
        """Begin some work, after the one in flight has ended.

        Args:
            task: What the work is, for the error message if it fails.
            work: The function to run.

        Raises:
            AsyncSaveFailed: the work before has failed; this one is not started.
        """
        self.wait()
        self._task = task
        self._result = None
        self._thread = Thread(target=self._run, args=(work,), name="graftax-save")  # Python waits for it at exit
        _unreported.add(self)  # type: ignore[arg-type]
        self._thread.start()

    def _run(self, work: Callable[[], T]) -> None:
        try:
            self._result = work()
        except BaseException as error:  # noqa: BLE001 - raised by who waits
            self._error = error

    @property
    def is_busy(self) -> bool:
        """Return True while work is running."""
        return self._thread is not None and self._thread.is_alive()

    def check(self) -> None:
        """Raise if the work has ended with a failure, without waiting for it."""
        if not self.is_busy:
            self.wait()

    def wait(self) -> T | None:
        """Wait until no work is running, and return the result of the last one; None if there was none.

        Raises:
            AsyncSaveFailed: the work failed. Each failure is raised once.
        """
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        _unreported.discard(self)
        error, self._error = self._error, None
        if error is not None:
            raise AsyncSaveFailed(
                f"{self._task} failed beside the program: {type(error).__name__}: {error}",
                "it went on after save() had returned, so this is the first moment to tell",
                "see the cause, then save again: nothing was published",
            ) from error
        return self._result


@atexit.register
def _print_unreported_failures() -> None:
    for background in list(_unreported):
        background.wait()
