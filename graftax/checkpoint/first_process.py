"""Work that process 0 does for all processes of a program: deleting files and listing folders."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from graftax.backend.rendezvous import Rendezvous, process_group


def is_first() -> bool:
    """Return True in process 0, and in a program of a single process."""
    processes = process_group()
    return processes is None or processes.index() == 0


def result_of_first_process(name: str, look: Callable[[], str | None]) -> str | None:
    """Return the result of process 0 in all processes, since others may see an outdated state of a folder.

    Raises:
        ProcessError: process 0 does not answer in time.
    """
    processes = process_group()
    if processes is None:
        return look()
    meeting = Rendezvous(processes, name)
    if meeting.index == 0:
        meeting.announce("seen", (look() or "").encode())
    return meeting.heard("seen").decode() or None


@contextmanager
def barriers_around(name: str) -> Iterator[None]:
    """Wait for all processes before the block and after it."""
    processes = process_group()
    if processes is not None:
        Rendezvous(processes, name).meet()
    yield
    if processes is not None:
        Rendezvous(processes, name).meet()
