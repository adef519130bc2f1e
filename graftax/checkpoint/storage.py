"""What a checkpoint needs of the place where it lies: list, read ranges, write so that it appears as a whole.

`LocalStorage` has it from the operating system, `RemoteStorage` from any file system of fsspec. Savers, readers,
folders and exports know nothing else.
"""

from collections.abc import Iterable
from typing import Protocol


class Folder(Protocol):
    """A checkpoint's directory that was opened once, and stays the same whatever is renamed meanwhile."""

    path: str

    def names(self) -> list[str]:
        """Return what it holds, sorted."""
        ...

    def size(self, name: str) -> int:
        """Return bytes of a file.

        Raises:
            FileNotFoundError: there is no such file.
            PathViolation: it is no regular file.
        """
        ...

    def allocated(self, name: str) -> int:
        """Return bytes that the file takes on the device; its size where that is not known."""
        ...

    def read_into(self, view: memoryview, name: str, offset: int) -> int:
        """Fill ``view`` from a file; returns how many bytes there were."""
        ...

    def mapped(self, name: str) -> memoryview | None:
        """Return a file mapped into memory, to be read only; None where files cannot be mapped."""
        ...

    def is_current(self) -> bool:
        """Return True if the path still leads here; False once another checkpoint has taken its place."""
        ...

    def close(self) -> None:
        """Give back what the operating system lent."""
        ...


class Writing(Protocol):
    """A checkpoint that is being written. No reader takes it for one before `publish`."""

    first_file: int
    """The lowest number that its data files may have."""

    def put(self, name: str, size: int, pieces: Iterable[memoryview]) -> None:
        """Write a file; it need not be durable when the call returns."""
        ...

    @property
    def ticket(self) -> str:
        """What other processes need to write their shares."""
        ...

    def collect(self, name: str) -> bytes:
        """Return what another process has put, and delete it.

        Raises:
            FileNotFoundError: it is not here.
        """
        ...

    def publish(self, index: bytes) -> None:
        """Make all durable and let readers find it, in one step."""
        ...

    def abandon(self) -> None:
        """Leave nothing behind."""
        ...


class Share(Protocol):
    """What another process than the first writes of a checkpoint."""

    first_file: int
    """The lowest number that its data files may have."""

    def put(self, name: str, size: int, pieces: Iterable[memoryview]) -> None:
        """Write a file; it need not be durable when the call returns."""
        ...

    def finish(self) -> None:
        """Make all durable."""
        ...


class Storage(Protocol):
    """A place for checkpoints; paths are text, as `absolute` gives it."""

    def absolute(self, path: str) -> str:
        """Return the path in full."""
        ...

    def split(self, path: str) -> tuple[str, str]:
        """Return the folder around a path, and its name there."""
        ...

    def join(self, folder: str, name: str) -> str:
        """Return the path of a name in a folder."""
        ...

    def names(self, folder: str) -> list[str]:
        """Return names in a folder; raises OSError where there is none."""
        ...

    def is_checkpoint(self, path: str) -> bool:
        """Return True if there is a directory with an index; the index is not read."""
        ...

    def is_there(self, path: str) -> bool:
        """Return True if anything is there, a dangling link included."""
        ...

    def is_directory(self, path: str) -> bool:
        """Return True if a directory is there."""
        ...

    def open(self, path: str) -> Folder:
        """Open a directory for reading.

        Raises:
            FileNotFoundError: nothing is there.
            NotACheckpoint, PathViolation: something is there that is no directory, or a link.
        """
        ...

    def is_being_replaced(self, path: str) -> bool:
        """Return True if nothing is at the path because a living process is just replacing what was there."""
        ...

    def begin(self, path: str, overwrite: bool, needed: int) -> Writing:
        """Begin to write a checkpoint of ``needed`` bytes.

        Raises:
            DestinationExists: something is there, and ``overwrite`` is off or it is no checkpoint.
            StorageFull: there is not that much space.
        """
        ...

    def take_part(self, path: str, ticket: str) -> Share:
        """Write a share of a checkpoint that process 0 has begun, as the ticket says."""
        ...

    def remove(self, path: str) -> None:
        """Delete a checkpoint: at no moment is it there in part."""
        ...

    def sweep(self, folder: str) -> list[str]:
        """Delete what dead processes left in a folder; returns the names."""
        ...
