"""Checkpoints on a local disk, or on a mounted file system."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from graftax.checkpoint.files import FileSystem, storage_error
from graftax.checkpoint.local_folder import LocalFolder
from graftax.checkpoint.local_writing import LocalShare, LocalWriting, check_replaceable, discard, publish
from graftax.checkpoint.names import GRAPH, OWNER, STAGING
from graftax.checkpoint.owner import is_alive
from graftax.core.errors import CheckpointError


class LocalStorage:
    """The operating system's files.

    Args:
        fs: The system calls; tests replace them.
    """

    def __init__(self, fs: FileSystem | None = None) -> None:
        self.fs = fs or FileSystem()

    def absolute(self, path: str) -> str:
        """Return the absolute path."""
        return os.path.abspath(path)

    def split(self, path: str) -> tuple[str, str]:
        """Return the parent folder of a path, and its name there."""
        return os.path.split(os.path.abspath(path))

    def join(self, folder: str, name: str) -> str:
        """Return the path of a name in a folder."""
        return os.path.join(folder, name)

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder."""
        return self.fs.listdir(folder)

    def is_checkpoint(self, path: str) -> bool:
        """Return True if there is a directory with an index, which is not read."""
        return self.fs.exists(os.path.join(path, GRAPH)) and self.fs.is_directory(path)

    def is_there(self, path: str) -> bool:
        """Return True if anything is there, a dangling link included."""
        return self.fs.exists(path)

    def is_directory(self, path: str) -> bool:
        """Return True if a directory is there."""
        return self.fs.is_directory(path)

    def open(self, path: str) -> LocalFolder:
        """Open a directory for reading."""
        return LocalFolder(path)

    def is_being_replaced(self, path: str) -> bool:
        """Return True if a running process has moved the old checkpoint away, where directories cannot be swapped."""
        folder, name = self.split(path)
        with suppress(OSError):
            for other in self.names(folder):
                match = STAGING.fullmatch(other)
                if match and match["name"] == name and match["state"] == "old":
                    return is_alive(self.fs.read(os.path.join(folder, f".owner-{match['nonce']}")), 0)
        return False

    def begin(self, path: str, overwrite: bool, needed: int) -> LocalWriting:
        """Start writing a checkpoint."""
        with storage_errors(f"saving {path}"):
            return LocalWriting(self.fs, path, overwrite, needed)

    def take_part(self, path: str, ticket: str) -> LocalShare:
        """Write a share of the checkpoint that process 0 has started."""
        return LocalShare(self.fs, ticket)

    def remove(self, path: str) -> None:
        """Delete a checkpoint, if it is still there: renamed first, durably, so that nobody finds half of it."""
        with storage_errors(f"deleting {path}"):
            try:
                check_replaceable(path, self.fs.listdir(path))
                trash = os.path.join(os.path.dirname(path), f".trash-{os.urandom(8).hex()}")
                discard(self.fs, path, trash)
            except FileNotFoundError:  # another process was first
                if self._is_there(path):
                    raise

    def _is_there(self, path: str) -> bool:
        try:
            self.fs.listdir(path)
        except FileNotFoundError:
            return False
        return True

    def sweep(self, folder: str) -> list[str]:
        """Delete the files that killed processes have left in a folder.

        A checkpoint that a killed overwrite had moved away gets its name back if nothing else has it.
        """
        try:
            names = self.fs.listdir(folder)
        except OSError:
            return []
        swept = []
        for name in sorted(names):
            # a directory that is marked as trash may be deleted by any process
            if (match := STAGING.fullmatch(name)) and (
                match["trash"] or not self._is_owned(folder, name, match["nonce"])
            ):
                with suppress(OSError):
                    self._sweep_one(folder, name, match["name"] if match["state"] == "old" else None)
                    swept.append(name)
        left = self.fs.listdir(folder) if swept or any(map(OWNER.fullmatch, names)) else []
        busy = {match["nonce"] or match["trash"] for name in left if (match := STAGING.fullmatch(name))}
        for name in left:
            if (owner := OWNER.fullmatch(name)) and owner["nonce"] not in busy:
                self._sweep_owner(folder, name, owner["nonce"])
        return swept

    def _sweep_one(self, folder: str, name: str, displaced: str | None) -> None:
        path = os.path.join(folder, name)
        if displaced is not None and self.is_checkpoint(path) and not self.fs.exists(os.path.join(folder, displaced)):
            publish(self.fs, path, os.path.join(folder, displaced))
            return
        discard(self.fs, path, os.path.join(folder, f".trash-{os.urandom(8).hex()}"))

    def _sweep_owner(self, folder: str, name: str, nonce: str) -> None:
        with suppress(OSError):
            if not self._is_owned(folder, name, nonce):
                self.fs.unlink(os.path.join(folder, name))

    def _is_owned(self, folder: str, name: str, nonce: str) -> bool:
        """Return True if a running process is using it, or may be."""
        try:
            age = time.time() - self.fs.modified(os.path.join(folder, name))
        except OSError:
            return True  # it was deleted just now
        try:
            record = self.fs.read(os.path.join(folder, f".owner-{nonce}"))
        except OSError:
            record = None
        return is_alive(record, age)


@contextmanager
def storage_errors(doing: str) -> Iterator[None]:
    """Translate errors of system calls into errors of graftax."""
    try:
        yield
    except CheckpointError:
        raise
    except OSError as error:
        raise storage_error(error, doing) from error
