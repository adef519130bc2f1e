"""A checkpoint's directory on a local disk, opened for reading. Names cannot lead out of it; links are not followed."""

import errno
import mmap
import os
import stat

from graftax.checkpoint.storage import is_a_file
from graftax.core.errors import NotACheckpoint, PathViolation, StorageFailure

_REGULAR = "only regular files are read, and no links"
_COPY = "a copy of the checkpoint in which it is a regular file (cp -rL copies what links point to)"

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_AT_ONCE = 1 << 30  # the most bytes of one read


class LocalFolder:
    """An open directory. Its files are opened once, so that they can be read even after they are deleted.

    Raises:
        FileNotFoundError: there is nothing at the path.
        PathViolation: the path is a link.
        NotACheckpoint: it is not a directory, or not readable.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._files: dict[str, int] = {}
        self._directory = _open_directory(path)
        self._seen = os.fstat(self._directory)

    def names(self) -> list[str]:
        """Return the names in the directory, sorted."""
        return sorted(os.listdir(self._directory))

    def size(self, name: str) -> int:
        """Return the size of a file in bytes."""
        return os.fstat(self._descriptor(name)).st_size

    def allocated_bytes(self, name: str) -> int:
        """Return the number of bytes that the file occupies on the device."""
        return os.fstat(self._descriptor(name)).st_blocks * 512

    def read_into(self, view: memoryview, name: str, offset: int) -> int:
        """Fill ``view`` from a file, and return the number of bytes that were there."""
        descriptor = self._descriptor(name)
        done = 0
        while done < len(view):
            try:
                count = os.preadv(descriptor, [view[done : done + _AT_ONCE]], offset + done)
            except OSError as error:
                raise _failure(f"reading {name}", error) from error
            if not count:
                break
            done += count
        return done

    def map_file(self, name: str) -> memoryview:
        """Return a file mapped into memory. The mapping stays valid after the directory is closed."""
        descriptor = self._descriptor(name)
        try:
            return memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
        except OSError as error:
            raise _failure(f"mapping {name}", error) from error

    def is_current(self) -> bool:
        """Return True if the path still leads to this directory."""
        try:
            return os.path.samestat(self._seen, os.stat(self.path, follow_symlinks=False))
        except OSError:
            return False

    def close(self) -> None:
        """Close the directory and its files."""
        descriptors, self._files, self._directory = [*self._files.values(), self._directory], {}, -1
        for descriptor in descriptors:
            os.close(descriptor)

    def _descriptor(self, name: str) -> int:
        if name not in self._files:
            self._files[name] = self._open(name)
        return self._files[name]

    def _open(self, name: str) -> int:
        try:
            descriptor = os.open(name, _FLAGS, dir_fd=self._directory)
        except FileNotFoundError:
            raise
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):  # ELOOP for a link, ENXIO for a socket
                raise PathViolation(f"{name} is no regular file", _REGULAR, _COPY) from error
            raise _failure(f"opening {name}", error) from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise PathViolation(f"{name} is no regular file", _REGULAR, _COPY)
        return descriptor


def _failure(doing: str, error: OSError) -> StorageFailure:
    hints = {
        errno.EACCES: "give yourself the right to read it",
        errno.EPERM: "give yourself the right to read it",
        errno.EMFILE: "raise the limit of open files: ulimit -n 4096",
        errno.ENFILE: "close some files",
    }
    return StorageFailure(
        f"{doing}: {os.strerror(error.errno or 0)}",
        "the system refused it, so nothing is known of what it holds",
        hints.get(error.errno or 0, "check the device, then try again"),
    )


def _open_directory(path: str) -> int:
    plain = os.path.abspath(path)  # with a slash at the end, a link would be followed
    if os.path.islink(plain):
        raise PathViolation(
            f"{path} is a symbolic link", "a checkpoint is read without following links", os.path.realpath(path)
        )
    try:
        return os.open(plain, _FLAGS | _DIRECTORY)
    except FileNotFoundError:
        raise
    except NotADirectoryError:
        raise is_a_file(path) from None
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.EIO):
            raise _failure(f"opening {path}", error) from error
        raise NotACheckpoint(
            f"{path!r} cannot be opened: {error}",
            "it must be a readable directory",
            f"ls -ld {path}, which shows who may read it",
        ) from error
