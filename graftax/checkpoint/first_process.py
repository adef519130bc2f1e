"""What process 0 does for all where several run one program: deleting files, looking into folders."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from graftax.backend.rendezvous import Rendezvous, several


def is_first() -> bool:
    """Return True in process 0, and in one that is alone."""
    processes = several()
    return processes is None or processes.index() == 0


def told_by_first(what: str, look: Callable[[], str | None]) -> str | None:
    """Return what process 0 sees: others may see a folder as it was a moment ago.

    Raises:
        ProcessError: it tells nothing in time.
    """
    processes = several()
    if processes is None:
        return look()
    meeting = Rendezvous(processes, what)
    if meeting.index == 0:
        meeting.announce("seen", (look() or "").encode())
    return meeting.heard("seen").decode() or None


@contextmanager
def all_around(what: str) -> Iterator[None]:
    """Wait for all processes before the block and after it."""
    processes = several()
    if processes is not None:
        Rendezvous(processes, what).meet()
    yield
    if processes is not None:
        Rendezvous(processes, what).meet()
