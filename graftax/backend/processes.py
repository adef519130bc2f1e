"""What a backend offers that runs one program in several processes: who there is, and what they tell each other.

Nothing here needs the devices to agree: processes that wait for each other may be waiting in different places of the
program, in threads, or not be there any more. Arrays may be spread over the devices of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from graftax.core.typedefs import Array, Shape

if TYPE_CHECKING:
    from typing import Any

    import numpy as np


class Joining(NamedTuple):
    """How a process joins the others. What is None is found out from who started the process."""

    coordinator: str | None = None
    """Where process 0 listens: ``"host:port"``."""
    processes: int | None = None
    number: int | None = None
    local_devices: tuple[int, ...] | None = None
    heartbeat: float = 20
    """Seconds without a sign of life after which a process counts as dead."""
    timeout: float = 300
    """Seconds to wait for others."""


class Started(NamedTuple):
    """Who started a process as one of several, and which one it is."""

    launcher: str
    number: int
    processes: int | None
    """How many there are, where that is known."""
    evidence: str
    """What says so, such as ``"WORLD_SIZE=4"``."""
    own_devices: str
    """How a program writes the devices of its own process."""


class Held(NamedTuple):
    """A box of an array, and the processes that have it."""

    start: Shape
    extent: Shape
    holders: tuple[int, ...]


class Processes(Protocol):
    """The processes of a run, and the parts of arrays that each has."""

    timeout: float
    """The default number of seconds that a process waits for others."""

    def join(self, how: Joining) -> bool:
        """Join the other processes; return False, without an effect, if no others were started.

        Raises:
            ProcessError: it is too late, since devices are in use; or the others cannot be reached.
        """
        ...

    def started(self) -> Started | None:
        """Return who started this process as one of several, joined or not; None where nothing says so."""
        ...

    def index(self) -> int:
        """Return the number of this process."""
        ...

    def count(self) -> int:
        """Return how many there are; 1 for one that has joined nobody."""
        ...

    def put(self, key: str, value: bytes) -> None:
        """Tell all processes a value, under a key that nobody has used."""
        ...

    def get(self, key: str, timeout: float) -> bytes:
        """Return the value of a key, once somebody has told it.

        Raises:
            TimeoutError: nobody has, within so many seconds.
            ConnectionError: process 0, which keeps the values, cannot be reached.
        """
        ...

    def list_values(self, folder: str) -> dict[str, bytes]:
        """Return the values of all keys that begin with ``folder/``, by the rest of the key.

        Raises:
            ConnectionError: as for `get`.
        """
        ...

    def forget(self, folder: str) -> None:
        """Forget the values of all keys that begin with ``folder/``."""
        ...

    def barrier(self, name: str, timeout: float) -> None:
        """Return once all processes have called it with this name, which nobody has used.

        Raises:
            TimeoutError: some have not, within so many seconds after the first.
            ConnectionError: one is dead, or cannot be reached.
        """
        ...

    def preempted(self, step: int) -> bool:
        """Tell whether to save and end at this step, as some process was asked to; all are told the same step."""
        ...

    def is_spread(self, array: Array) -> bool:
        """Tell whether an array lies on more than one device."""
        ...

    def boxes(self, array: Array) -> Sequence[Held] | None:
        """Return the boxes of an array that is spread over several processes; None for one that is all here."""
        ...

    def part(self, array: Array, start: Shape, extent: Shape) -> np.ndarray[Any, Any]:
        """Return a box of an array, which lies within one that this process has, on the host."""
        ...

    def fill(self, like: Array, read: Callable[[Shape, Shape], np.ndarray[Any, Any]]) -> Array:
        """Make an array that lies as another does; ``read`` gives each box that is needed here, by start and extent."""
        ...
