"""The interface of storages of checkpoints: listing, reading ranges, and writing a checkpoint as a whole or not.

`LocalStorage` implements it with the operating system, `RemoteStorage` with any file system of fsspec. All other
modules use only this interface.
"""

from collections.abc import Iterable
from typing import Protocol

from graftax.checkpoint.names import DATA, GRAPH
from graftax.core.errors import NotACheckpoint


class Folder(Protocol):
    """An open directory of a checkpoint, which stays the same if the path is renamed or replaced meanwhile."""

    path: str

    def names(self) -> list[str]:
        """Return the names in the directory, sorted."""
        ...

    def size(self, name: str) -> int:
        """Return the size of a file in bytes.

        Raises:
            FileNotFoundError: there is no such file.
            PathViolation: it is not a regular file.
        """
        ...

    def allocated_bytes(self, name: str) -> int:
        """Return the number of bytes that the file occupies on the device; its size if that is not known."""
        ...

    def read_into(self, view: memoryview, name: str, offset: int) -> int:
        """Fill ``view`` from a file, and return the number of bytes that were there."""
        ...

    def map_file(self, name: str) -> memoryview | None:
        """Return a file mapped into memory, read-only; None if files cannot be mapped."""
        ...

    def is_current(self) -> bool:
        """Return True if the path still leads to this directory; False after another checkpoint has replaced it."""
        ...

    def close(self) -> None:
        """Close the directory and its files."""
        ...


class Writing(Protocol):
    """A checkpoint that is being written. Readers do not find it before `publish`."""

    first_file: int
    """The lowest number that data files may have."""

    def put(self, name: str, size: int, pieces: Iterable[memoryview]) -> None:
        """Write a file. It may not be durable yet when the call returns."""
        ...

    @property
    def ticket(self) -> str:
        """Return what other processes need to write their shares."""
        ...

    def collect(self, name: str) -> bytes:
        """Return the content of a file that another process has written, and delete the file.

        Raises:
            FileNotFoundError: there is no such file.
        """
        ...

    def publish(self, index: bytes) -> None:
        """Make everything durable, and publish the checkpoint in one step."""
        ...

    def abandon(self) -> None:
        """Delete everything that was written."""
        ...


class Share(Protocol):
    """The share of a checkpoint that a process other than process 0 writes."""

    first_file: int
    """The lowest number that data files may have."""

    def put(self, name: str, size: int, pieces: Iterable[memoryview]) -> None:
        """Write a file. It may not be durable yet when the call returns."""
        ...

    def finish(self) -> None:
        """Make all files durable."""
        ...


class Storage(Protocol):
    """A storage of checkpoints. Paths are text, as returned by `absolute`."""

    def absolute(self, path: str) -> str:
        """Return the absolute path."""
        ...

    def split(self, path: str) -> tuple[str, str]:
        """Return the parent folder of a path, and its name there."""
        ...

    def join(self, folder: str, name: str) -> str:
        """Return the path of a name in a folder."""
        ...

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder; raise OSError if there is no folder."""
        ...

    def is_checkpoint(self, path: str) -> bool:
        """Return True if there is a directory with an index, which is not read."""
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
            FileNotFoundError: there is nothing at the path.
            NotACheckpoint, PathViolation: there is something that is not a directory, or a link.
        """
        ...

    def is_being_replaced(self, path: str) -> bool:
        """Return True if there is nothing at the path because a running process is just replacing the checkpoint."""
        ...

    def begin(self, path: str, overwrite: bool, needed: int) -> Writing:
        """Start writing a checkpoint of ``needed`` bytes.

        Raises:
            DestinationExists: something exists at the path, and ``overwrite`` is False or it is not a checkpoint.
            StorageFull: there is not enough space.
        """
        ...

    def take_part(self, path: str, ticket: str) -> Share:
        """Write a share of the checkpoint that process 0 has started; ``ticket`` says where."""
        ...

    def remove(self, path: str) -> None:
        """Delete a checkpoint. No reader finds an incomplete one meanwhile."""
        ...

    def sweep(self, folder: str) -> list[str]:
        """Delete the files that killed processes have left in a folder, and return their names."""
        ...


def is_a_file(path: str) -> NotACheckpoint:
    """Return the error for the path of a file, where that of a directory was expected.

    Example:
        >>> is_a_file("runs/step_3/graph.msgpack").instead, is_a_file("model.pt").instead
        ("'runs/step_3'", "gx.checkpoint.load_foreign('model.pt', model), for weights of another library")
    """
    folder, _, name = path.replace("\\", "/").rpartition("/")
    is_inside = name == GRAPH or DATA.fullmatch(name) is not None
    other = f"gx.checkpoint.load_foreign({path!r}, model), for weights of another library"
    return NotACheckpoint(
        f"{path} is a file",
        "a checkpoint of graftax is a directory with graph.msgpack and data files",
        repr(folder or ".") if is_inside else other,
    )
