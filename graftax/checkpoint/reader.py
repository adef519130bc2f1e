"""Opening a checkpoint: directory, index, data files, checked in this order; then any range of bytes, checked too.

Needs neither NumPy nor a backend.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from graftax.checkpoint.checksums import FUNCTIONS
from graftax.checkpoint.decode import decode
from graftax.checkpoint.envelope import LIMIT, opened
from graftax.checkpoint.index import Chunk, Index
from graftax.core.errors import (
    CheckpointError,
    CorruptData,
    IncompleteCheckpoint,
    LimitExceeded,
    NotACheckpoint,
    PathViolation,
    TruncatedFile,
)

GRAPH = "graph.msgpack"
STAGING = re.compile(r"\.(?P<name>.+)\.(?P<state>tmp|old)-[0-9a-f]{16}|\.trash-[0-9a-f]{16}", re.DOTALL)
"""Names of what a save or a deletion leaves behind if it is killed."""

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)


@contextmanager
def located(path: str) -> Iterator[None]:
    """Say in every checkpoint error from the block where it happened."""
    try:
        yield
    except CheckpointError as error:
        error.add_context(path)
        raise


class Reader:
    """An open checkpoint; close it, or use it in a ``with`` block.

    Args:
        path: The directory of the checkpoint.
        limit: Largest size of its index in bytes.

    Raises:
        NotACheckpoint: nothing, or something else, is there.
        IncompleteCheckpoint: a save that was not finished.
        CorruptCheckpoint, UnsafeCheckpoint, FormatTooNew: its index must not be used.
    """

    def __init__(self, path: str | os.PathLike[str], limit: int = LIMIT) -> None:
        self.path = os.fspath(path)
        self._files: dict[int, int] = {}
        self._directory = _open_directory(self.path)
        try:
            with located(self.path):
                self.index: Index = decode(opened(self._read_graph(limit)))
                self._function = FUNCTIONS[self.index.sum]
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the directory and its files."""
        for descriptor in (*self._files.values(), self._directory):
            os.close(descriptor)
        self._files, self._directory = {}, -1

    def names(self) -> list[str]:
        """What the directory holds."""
        return sorted(os.listdir(self._directory))

    def _open(self, name: str) -> int:
        try:
            descriptor = os.open(name, _FLAGS, dir_fd=self._directory)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise PathViolation(f"{name} cannot be opened: {error.strerror}", "links are not followed") from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise PathViolation(f"{name} is no regular file", "only regular files are read")
        return descriptor

    def _read_graph(self, limit: int) -> bytes:
        try:
            descriptor = self._open(GRAPH)
        except FileNotFoundError:
            raise _without_graph(self.path, self.names()) from None
        try:
            size = os.fstat(descriptor).st_size
            if size > limit:
                raise LimitExceeded(f"{GRAPH} of {size:,} bytes", f"at most {limit:,} are read")
            parts = []
            while size > 0 and (part := os.read(descriptor, size)):
                parts.append(part)
                size -= len(part)
            return b"".join(parts)
        finally:
            os.close(descriptor)

    def check_files(self) -> None:
        """Raise unless every data file is there with the size that the index says."""
        for file in range(len(self.index.files)):
            self.check_file(file)

    def check_file(self, file: int) -> None:
        """Raise unless this data file is there with the size that the index says."""
        record = self.index.files[file]
        with located(self.path):
            found = os.fstat(self._descriptor(file)).st_size
            if found != record.size:
                raise TruncatedFile(f"{record.name} has {found:,} bytes", f"the index says {record.size:,}")

    def _descriptor(self, file: int) -> int:
        if file not in self._files:
            record = self.index.files[file]
            try:
                self._files[file] = self._open(record.name)
            except FileNotFoundError:
                raise TruncatedFile(f"{record.name} is missing", f"the index says {record.size:,} bytes") from None
        return self._files[file]

    def read_into(self, view: memoryview, file: int, offset: int) -> None:
        """Fill ``view`` from a data file."""
        descriptor, name = self._descriptor(file), self.index.files[file].name
        while len(view):
            count = os.preadv(descriptor, [view[: 1 << 30]], offset)
            if not count:
                raise TruncatedFile(f"{name} ends at byte {offset:,}, {len(view):,} bytes too early", "it was cut")
            view, offset = view[count:], offset + count

    def check_block(self, data: memoryview, chunk: Chunk, block: int, name: str) -> None:
        """Raise unless ``data`` is block number ``block`` of the chunk as it was written."""
        found = self._function(data)
        expected = int.from_bytes(chunk.sums[8 * block : 8 * block + 8], "little")
        if found != expected:
            offset = chunk.offset + block * self.index.block
            raise CorruptData(
                f"{name}: checksum {found:016x}, expected {expected:016x}, "
                f"of bytes {offset:,} to {offset + len(data):,} of {self.index.files[chunk.file].name}",
                "the bytes on disk are not those that were written",
                "restore from another checkpoint, or skip=[...] this array",
            )

    def check(self, data: memoryview, chunk: Chunk, name: str) -> None:
        """Raise unless ``data`` is the whole chunk as it was written."""
        size = self.index.block
        if len(data) <= size:
            if data:
                self.check_block(data, chunk, 0, name)
            return
        for block in range(len(chunk.sums) // 8):
            self.check_block(data[block * size : (block + 1) * size], chunk, block, name)


def _open_directory(path: str) -> int:
    if os.path.islink(path):
        raise PathViolation(
            f"{path} is a symbolic link", "a checkpoint is read without following links", os.path.realpath(path)
        )
    try:
        return os.open(path, _FLAGS | _DIRECTORY)
    except FileNotFoundError:
        raise _not_there(path) from None
    except NotADirectoryError:
        raise NotACheckpoint(
            f"{path} is a file", "a checkpoint is a directory", "give the directory that holds graph.msgpack"
        ) from None
    except (OSError, ValueError) as error:
        raise NotACheckpoint(f"{path!r} cannot be opened: {error}", "it must be a readable directory") from error


def _not_there(path: str) -> NotACheckpoint:
    """Name what does lie there: the copy that an interrupted overwrite left, else the checkpoints beside it."""
    folder, name = os.path.split(os.path.abspath(path))
    beside = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    displaced = [entry for entry in beside if (m := STAGING.fullmatch(entry)) and m["name"] == name]
    whole = [entry for entry in displaced if f".{name}.old-" in entry and is_checkpoint(os.path.join(folder, entry))]
    if len(whole) == 1:
        return NotACheckpoint(
            f"nothing at {path}",
            "a save that was to overwrite it was killed at the last moment; the old one is complete",
            f"rename {os.path.join(folder, whole[0])} to {name}",
        )
    siblings = [entry for entry in beside if not entry.startswith(".") and is_checkpoint(os.path.join(folder, entry))]
    if siblings:
        shown = ", ".join(siblings[:8]) + (", ..." if len(siblings) > 8 else "")
        return NotACheckpoint(f"nothing at {path}", f"checkpoints in {folder} are: {shown}", "one of these")
    return NotACheckpoint(f"nothing at {path}", f"there are no checkpoints in {folder} either", "check the path")


def _without_graph(path: str, names: list[str]) -> CheckpointError:
    if STAGING.fullmatch(os.path.basename(os.path.abspath(path))) or any(n.startswith("data-") for n in names):
        return IncompleteCheckpoint(
            f"no {GRAPH}, which is written last",
            "the save that made this directory was not finished",
            "use another checkpoint",
        )
    inner = [name for name in names if is_checkpoint(os.path.join(path, name))]
    return NotACheckpoint(
        f"a directory without {GRAPH}",
        f"checkpoints inside it are: {', '.join(inner[:8])}" if inner else "no checkpoint was saved there",
        os.path.join(path, inner[-1]) if inner else "give the path that was saved to",
    )


def is_checkpoint(path: str) -> bool:
    """True if there is a directory with an index; the index is not read."""
    return os.path.isfile(os.path.join(path, GRAPH))
