"""All file system calls of a save in one small class, so that tests can record them, and let any of them fail."""

import ctypes
import errno
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from threading import Thread

from graftax.core.errors import SaveError, StorageFailure, StorageFull

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_SUCH_CALL = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP})
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_CREATE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
_BUFFERS = 1024  # the most buffers that one pwritev accepts
_BATCH = 8 << 20  # bytes per write: large enough for the device, and still in the CPU cache after the checksum


class FileSystem:
    """The calls of the operating system that a save makes, and nothing else."""

    def exists(self, path: str) -> bool:
        """Return True if anything, a dangling link included, is there."""
        return os.path.lexists(path)

    def is_directory(self, path: str) -> bool:
        """Return True if a directory, and no link to one, is there."""
        return os.path.isdir(path) and not os.path.islink(path)

    def listdir(self, path: str) -> list[str]:
        """Return names in a directory."""
        return os.listdir(path)

    def free(self, path: str) -> int:
        """Return the number of bytes that this user may still write there."""
        status = os.statvfs(path)
        return status.f_bavail * status.f_frsize

    def mkdir(self, path: str) -> None:
        """Create a directory."""
        os.mkdir(path)

    def hide(self, path: str) -> int:
        """Make a directory private to this user, and return the mode that it would have otherwise, for `reveal`."""
        mode = stat.S_IMODE(os.stat(path).st_mode)
        os.chmod(path, 0o700)
        return mode

    def reveal(self, path: str, mode: int) -> None:
        """Give a directory its normal mode."""
        os.chmod(path, mode)

    def create(self, path: str) -> int:
        """Create a new file and open it for writing."""
        return os.open(path, _CREATE, 0o666)

    def allocate(self, descriptor: int, size: int) -> None:
        """Reserve disk space, so that a full disk is reported before anything is written."""
        try:
            os.posix_fallocate(descriptor, 0, size)
        except OSError as error:
            if error.errno not in _NO_SUCH_CALL:
                raise

    def pwritev(self, descriptor: int, buffers: Sequence[memoryview | bytes], offset: int) -> int:
        """Write some of the buffers, and return the number of bytes written."""
        return os.pwritev(descriptor, buffers, offset)

    def fsync(self, descriptor: int) -> None:
        """Wait until the content of a file is on the device."""
        os.fsync(descriptor)

    def fsync_beside(self, descriptor: int) -> Callable[[], None]:
        """Start an fsync in a thread, and return a function that waits for it and raises its exception."""
        failed: list[BaseException] = []

        def work() -> None:
            try:
                self.fsync(descriptor)
            except BaseException as error:  # noqa: BLE001 - raised by who waits
                failed.append(error)

        thread = Thread(target=work, name="graftax-fsync", daemon=True)
        thread.start()

        def wait() -> None:
            thread.join()
            if failed:
                raise failed[0]

        return wait

    def close(self, descriptor: int) -> None:
        """Close a file."""
        os.close(descriptor)

    def fsync_dir(self, path: str) -> None:
        """Wait until the entries of a directory are on the device."""
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def rename(self, source: str, target: str) -> None:
        """Rename a directory."""
        os.rename(source, target)

    def exchange(self, first: str, second: str) -> bool:
        """Swap two directories in one step; return False if the system cannot."""
        call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
        if call is None:
            return False
        if call(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0:
            return True
        number = ctypes.get_errno()
        if number in _NO_SUCH_CALL:
            return False
        raise OSError(number, os.strerror(number), first, None, second)

    def modified(self, path: str) -> float:
        """Return when a file or directory last changed, in seconds since the epoch."""
        return os.stat(path, follow_symlinks=False).st_mtime

    def read(self, path: str) -> bytes:
        """Return the content of a small file."""
        with open(path, "rb") as file:
            return file.read(1 << 16)

    def read_whole(self, path: str) -> bytes:
        """Return the content of a file."""
        with open(path, "rb") as file:
            return file.read()

    def unlink(self, path: str) -> None:
        """Delete a file."""
        os.unlink(path)

    def rmdir(self, path: str) -> None:
        """Delete an empty directory."""
        os.rmdir(path)


def write_all(fs: FileSystem, descriptor: int, buffers: Sequence[memoryview], offset: int) -> None:
    """Write all of the buffers, in as many calls as it takes."""
    for first in range(0, len(buffers), _BUFFERS):
        waiting = list(buffers[first : first + _BUFFERS])
        left = sum(map(len, waiting))
        while left:
            count = fs.pwritev(descriptor, waiting, offset)
            if count == 0:
                raise OSError(errno.EIO, "the device took no bytes")
            offset, left = offset + count, left - count
            if left:
                done = 0
                while count >= len(waiting[done]):
                    count -= len(waiting[done])
                    done += 1
                waiting = [waiting[done][count:], *waiting[done + 1 :]]


def write_file(
    fs: FileSystem, path: str, pieces: Iterable[memoryview], size: int = 0, syncs: bool = False
) -> Callable[[], None] | None:
    """Write pieces to a new file, and return a function that waits for its fsync (in a thread, if ``syncs``)."""
    descriptor = fs.create(path)
    try:
        if size:
            fs.allocate(descriptor, size)
        offset = waiting = 0
        batch: list[memoryview] = []
        for piece in pieces:
            batch.append(piece)
            waiting += len(piece)
            if waiting >= _BATCH or len(batch) == _BUFFERS:
                write_all(fs, descriptor, batch, offset)
                offset, waiting, batch = offset + waiting, 0, []
        write_all(fs, descriptor, batch, offset)
        synced = fs.fsync_beside(descriptor) if syncs else None
    except BaseException:
        with suppress(OSError):
            fs.close(descriptor)
        raise
    if synced is None:
        fs.close(descriptor)
        return None

    def finish() -> None:
        try:
            synced()
        except BaseException:
            with suppress(OSError):
                fs.close(descriptor)
            raise
        fs.close(descriptor)

    return finish


def remove_tree(fs: FileSystem, path: str) -> None:
    """Delete a directory of files, such as a checkpoint. Another process may be deleting it at the same time."""
    with suppress(FileNotFoundError):
        for name in fs.listdir(path):
            with suppress(FileNotFoundError):
                fs.unlink(os.path.join(path, name))
        fs.rmdir(path)


def storage_error(error: OSError, doing: str) -> SaveError:
    """Return the graftax error for a failed system call."""
    if error.errno in _FULL:
        return StorageFull(
            f"{doing}: {error}",
            "there is no space, quota or file size left; nothing was published",
            "free some space, save to another disk, or save less with only=",
        )
    return StorageFailure(
        f"{doing}: {error}",
        "the system refused, or the device failed to keep what was written; nothing was published",
        "check the path and the device, then save again: the whole save is repeated, no write is trusted",
    )
