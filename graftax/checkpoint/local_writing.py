"""The commit protocol on a local disk: after an interrupted save, the target is completely new or old, or absent.

Files are written and synced in a hidden staging directory beside the target, the index last; one rename publishes it
and the parent directory is synced before the save returns. If a call fails, the whole save is undone: after a failed
write or fsync, no file is trusted. A record beside the staging directory says which process is using it.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress

from graftax.checkpoint.files import FileSystem, remove_tree, write_file
from graftax.checkpoint.names import GRAPH, STAGING, is_part
from graftax.checkpoint.owner import own_record
from graftax.core.errors import ArgumentError, DestinationExists, StorageFull


class LocalWriting:
    """A staging directory, until it is published."""

    first_file = 0

    def __init__(self, fs: FileSystem, final: str, overwrite: bool, needed: int) -> None:
        self._fs = fs
        self._final = final
        self._overwrite = overwrite
        self._parent, name = os.path.split(final)
        if not name or STAGING.fullmatch(name):
            raise ArgumentError(f"a checkpoint at {final}", "that name is reserved, or no name", "choose another name")
        check_target(fs, final, overwrite)
        self._nonce = os.urandom(8).hex()
        self._staging = os.path.join(self._parent, f".{name}.tmp-{self._nonce}")
        self._owner = os.path.join(self._parent, f".owner-{self._nonce}")
        self._made: list[str] = []
        self._synced: Callable[[], None] | None = None
        try:
            self._make_parents()
            if needed > (free := fs.free(self._parent)):
                raise StorageFull(f"{needed:,} bytes to save at {final}", f"{free:,} are free", "make room")
            write_file(fs, self._owner, [memoryview(own_record())])
            fs.mkdir(self._staging)
            self._mode = fs.hide(self._staging)
        except BaseException:
            self.abandon()
            raise

    def put(self, name: str, size: int, pieces: Iterable[memoryview]) -> None:
        """Write a file of the staging directory. Its fsync runs in a thread until the next call."""
        self._wait()
        self._synced = write_file(self._fs, os.path.join(self._staging, name), pieces, size, syncs=True)

    @property
    def ticket(self) -> str:
        """Return what other processes need to write into the same staging directory."""
        return self._staging

    def collect(self, name: str) -> bytes:
        """Return the content of a file that another process has written, and delete the file."""
        path = os.path.join(self._staging, name)
        content = self._fs.read_whole(path)
        self._fs.unlink(path)
        return content

    def publish(self, index: bytes) -> None:
        """Write the index, make everything durable, and rename the staging directory to the target."""
        fs = self._fs
        self.put(GRAPH, len(index), [memoryview(index)])
        self._wait()
        fs.reveal(self._staging, self._mode)
        fs.fsync_dir(self._staging)
        check_target(fs, self._final, self._overwrite)
        if self._overwrite and fs.exists(self._final):
            self._replace()
        else:
            publish(fs, self._staging, self._final)
        self._disown()

    def abandon(self) -> None:
        """Delete the staging directory, and the parent folders that were created for it."""
        with suppress(OSError):
            self._wait()
        with suppress(OSError):
            remove_tree(self._fs, self._staging)
        self._disown()
        for directory in reversed(self._made):
            with suppress(OSError):  # another process uses the folder by now
                self._fs.rmdir(directory)

    def _disown(self) -> None:
        for _ in range(2):  # the call may succeed at the second attempt
            with suppress(OSError):
                self._fs.unlink(self._owner)
                return

    def _wait(self) -> None:
        waiting, self._synced = self._synced, None
        if waiting is not None:
            waiting()

    def _make_parents(self) -> None:
        missing = []
        parent = self._parent
        while not self._fs.exists(parent):
            missing.append(parent)
            parent = os.path.dirname(parent)
        for directory in reversed(missing):
            try:
                self._fs.mkdir(directory)
            except FileExistsError:
                continue
            self._made.append(directory)
            self._fs.fsync_dir(os.path.dirname(directory))

    def _replace(self) -> None:
        """Swap old and new in one step if the system can; otherwise the old one has another name for a moment."""
        fs, staging, final = self._fs, self._staging, self._final
        if fs.exchange(staging, final):
            try:
                fs.fsync_dir(self._parent)
            except BaseException:
                fs.exchange(staging, final)
                raise
            old = staging
        else:
            old = os.path.join(self._parent, f".{os.path.basename(final)}.old-{self._nonce}")
            fs.rename(final, old)
            try:
                publish(fs, staging, final)
            except BaseException:
                fs.rename(old, final)
                raise
        with suppress(OSError):  # the new checkpoint is complete; files that cannot be deleted are only garbage
            discard(fs, old, os.path.join(self._parent, f".trash-{self._nonce}"))


class LocalShare:
    """The share that a process other than process 0 writes into the staging directory."""

    def __init__(self, fs: FileSystem, staging: str) -> None:
        self.first_file = 0
        self._fs = fs
        self._staging = staging
        self._synced: Callable[[], None] | None = None

    def put(self, name: str, size: int, pieces: Iterable[memoryview]) -> None:
        """Write a file. Its fsync runs in a thread until the next call."""
        self._wait()
        self._synced = write_file(self._fs, os.path.join(self._staging, name), pieces, size, syncs=True)

    def finish(self) -> None:
        """Make all files durable."""
        self._wait()
        self._fs.fsync_dir(self._staging)

    def _wait(self) -> None:
        waiting, self._synced = self._synced, None
        if waiting is not None:
            waiting()


def check_target(fs: FileSystem, final: str, overwrite: bool) -> None:
    """Raise unless a save may write to this path.

    Raises:
        DestinationExists: it would replace something that it must not.
    """
    if not fs.exists(final):
        return
    if not overwrite:
        raise DestinationExists(
            f"{final} exists", "a save replaces nothing by default", "overwrite=True, or a new path"
        )
    names = fs.listdir(final) if fs.is_directory(final) else []
    check_replaceable(final, names)


def check_replaceable(final: str, names: list[str]) -> None:
    """Raise unless a directory has only files of a checkpoint."""
    others = [name for name in names if not is_part(name)]
    if GRAPH not in names or others:
        raise DestinationExists(
            f"{final} is no checkpoint" if GRAPH not in names else f"{final} holds {others[0]!r}",
            "overwrite=True replaces a checkpoint, and nothing that a save did not make",
            "another path, or remove it yourself",
        )


def publish(fs: FileSystem, staging: str, final: str) -> None:
    """Rename a directory to its final name, durably or not at all."""
    fs.rename(staging, final)
    try:
        fs.fsync_dir(os.path.dirname(final))
    except BaseException:  # nobody knows whether the rename is durable, so it is undone
        fs.rename(final, staging)
        raise


def discard(fs: FileSystem, path: str, trash: str) -> None:
    """Delete a directory: it is renamed first, so that no reader finds an incomplete one."""
    fs.rename(path, trash)
    fs.fsync_dir(os.path.dirname(trash))
    remove_tree(fs, trash)
