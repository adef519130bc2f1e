"""Opening a checkpoint: directory, index and data files are checked in this order; then checked ranges can be read.

Needs neither NumPy nor a backend.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from graftax.checkpoint.checksums import FUNCTIONS, digest
from graftax.checkpoint.chunk_tables import ChunkTable, open_table
from graftax.checkpoint.damaged import AGAIN, FORGED
from graftax.checkpoint.decode import decode, decode_lazily
from graftax.checkpoint.envelope import LIMIT, open_envelope
from graftax.checkpoint.index import Chunk, FileRecord, Index
from graftax.checkpoint.names import GRAPH, STAGING
from graftax.checkpoint.places import place_of
from graftax.checkpoint.storage import Folder, Storage
from graftax.core.errors import (
    CheckpointError,
    CorruptData,
    ForeignFile,
    IncompleteCheckpoint,
    LimitExceeded,
    NotACheckpoint,
    TruncatedFile,
)

_TRIES = 20  # attempts; each one fails only if another overwrite happens at the same time
_PATIENCE = 2.0  # seconds to wait for a running process that is replacing the checkpoint
_AHEAD = 64  # files that are opened in advance, so that they stay readable if they are deleted
_SPARSE = 1 << 30  # files with at least this many bytes must occupy space on their device
_SPARSEST = 1024


@contextmanager
def with_path_in_errors(path: str) -> Iterator[None]:
    """Add the path of the checkpoint to every checkpoint error from the block."""
    try:
        yield
    except CheckpointError as error:
        error.add_context(path)
        raise


class Reader:
    """An open checkpoint. Close it, or use it in a ``with`` block.

    If an overwrite replaces the checkpoint meanwhile, the one that was opened is still read.

    Args:
        path: The directory of the checkpoint, or a URL of one.
        limit: The largest accepted size of the index in bytes.
        lazily: Decode each record of the index at its first access, until `complete` is called. Defaults to False: all
            at once.

    Raises:
        NotACheckpoint: there is nothing at the path, or something else.
        IncompleteCheckpoint: the save was not finished.
        CorruptCheckpoint, UnsafeCheckpoint, FormatTooNew, FormatTooOld: the index cannot be used.
    """

    def __init__(self, path: str | os.PathLike[str], limit: int = LIMIT, lazily: bool = False) -> None:
        self._body: memoryview | None = None  # the body of an index that is decoded lazily
        self._lazily = lazily
        self.storage, where = place_of(path)
        self.path = os.fspath(path)
        self._targets: dict[str, Folder] = {}
        self._checked: set[int] = set()
        for attempt in range(_TRIES):
            self._folder = _open_folder(self.storage, where, self.path)
            try:
                if self._read(limit, attempt == _TRIES - 1):
                    return
            except BaseException:
                self.close()
                raise
            self.close()

    def _read(self, limit: int, is_last: bool) -> bool:
        """Read the index and open the files; return False to try again, if an overwrite has replaced the checkpoint."""
        try:
            with with_path_in_errors(self.path):
                body = open_envelope(self._read_graph(limit))
                self.index: Index = (decode_lazily if self._lazily else decode)(body, self._read_table)
                self._body = body if self._lazily else None
                self._function = FUNCTIONS[self.index.sum]
        except (CheckpointError, OSError):
            if not is_last and not self._folder.is_current():
                return False
            raise
        try:
            for file in range(min(len(self.index.files), _AHEAD)):
                self._size(file)
        except (CheckpointError, OSError):  # reported when its data is needed
            return is_last or self._folder.is_current()
        return True

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the directory and its files."""
        for folder in self._targets.values():
            folder.close()
        self._targets = {}
        self._folder.close()

    @property
    def is_lazy(self) -> bool:
        """Return True while the records of the index are decoded lazily."""
        return self._body is not None

    def complete(self) -> None:
        """Decode all of the index, and check it as a whole.

        Raises:
            CorruptCheckpoint, UnsafeCheckpoint: the index cannot be used.
        """
        if self._body is not None:
            with with_path_in_errors(self.path):
                self.index = decode(self._body, self._read_table)
            self._body = None

    def names(self) -> list[str]:
        """Return the names in the directory."""
        return self._folder.names()

    def _read_graph(self, limit: int) -> bytes:
        try:
            size = self._folder.size(GRAPH)
        except FileNotFoundError:
            raise _without_graph(self.storage, self.path, self.names()) from None
        if size > limit:
            raise LimitExceeded(f"{GRAPH} has {size:,} bytes", f"at most {limit:,} bytes are read", FORGED)
        return self._read_file(GRAPH, size)

    def _read_table(self, name: str, size: int, total: int) -> ChunkTable:
        try:
            found = self._folder.size(name)
        except FileNotFoundError:
            raise TruncatedFile(
                f"{name} is missing", f"the checkpoint has a table of {size:,} bytes in this file", AGAIN
            ) from None
        if found != size:
            raise TruncatedFile(f"{name} has {found:,} bytes", f"when it was saved, it had {size:,}", AGAIN)
        return open_table(self._read_file(name, size), name, total)

    def _read_file(self, name: str, size: int) -> bytes:
        data = bytearray(size)
        return bytes(data[: self._folder.read_into(memoryview(data), name, 0)])

    def _folder_of(self, record: FileRecord) -> Folder:
        """Return the directory of a data file: this one, or that of another checkpoint."""
        if record.target is None:
            return self._folder
        if record.target not in self._targets:
            folder = self.storage.split(self._folder.path)[0]
            path = self.storage.join(folder, record.target)
            try:
                self._targets[record.target] = self.storage.open(path)
            except (FileNotFoundError, NotACheckpoint) as error:
                raise _no_target(record, path) from error
        return self._targets[record.target]

    def _size(self, file: int) -> int:
        record = self.index.files[file]
        return self._folder_of(record).size(record.name)

    def check_files(self) -> None:
        """Raise unless all data files have the size in the index, and those of other checkpoints are unchanged."""
        for file in range(len(self.index.files)):
            self.check_file(file)

    def check_file(self, file: int) -> None:
        """Raise unless this data file has the size in the index.

        Raises:
            TruncatedFile: it is missing, or has another size.
            ForeignFile: it belongs to another checkpoint, which has changed since.
            LimitExceeded: it has a large size but occupies almost no space on its device.
        """
        if file in self._checked:
            return
        record = self.index.files[file]
        with with_path_in_errors(self.path):
            try:
                found = self._size(file)
            except FileNotFoundError:
                raise _missing_error(record) from None
            if found != record.size:
                raise _changed_error(record, f"{found:,} bytes, and {record.size:,} were saved")
            allocated = self._folder_of(record).allocated_bytes(record.name)
            if found >= _SPARSE and allocated < found // _SPARSEST:
                raise LimitExceeded(
                    f"{record.name} claims {found:,} bytes and takes {allocated:,} on its device",
                    "such a file has holes, which no save makes; to read it would take memory for nothing",
                    "do not use this checkpoint: it was forged; if not, copy it without keeping holes",
                )
            if record.target is not None:
                header = bytearray(record.data_begin)
                self.read_into(memoryview(header), file, 0)
                if digest(bytes(header)) != record.header_sum:
                    raise _changed_error(record, "another header")
        self._checked.add(file)

    def read_into(self, view: memoryview, file: int, offset: int) -> None:
        """Fill ``view`` from a data file."""
        record = self.index.files[file]
        try:
            count = self._folder_of(record).read_into(view, record.name, offset)
        except FileNotFoundError:
            raise _missing_error(record) from None
        if count < len(view):
            early = len(view) - count
            raise TruncatedFile(
                f"{record.name} ends at byte {offset + count:,}",
                f"{early:,} bytes are missing: the file was cut",
                AGAIN,
            )

    def map_file(self, file: int) -> memoryview | None:
        """Return a data file mapped into memory; None if files cannot be mapped."""
        record = self.index.files[file]
        try:
            return self._folder_of(record).map_file(record.name)
        except FileNotFoundError:
            raise _missing_error(record) from None

    def check_block(self, data: memoryview, chunk: Chunk, block: int, name: str) -> None:
        """Raise unless ``data`` has the checksum of this block of the chunk."""
        found = self._function(data)
        expected = int.from_bytes(chunk.sums[8 * block : 8 * block + 8], "little")
        if found != expected:
            offset = chunk.offset + block * self.index.block
            raise CorruptData(
                f"{name}: checksum {found:016x}, expected {expected:016x}, "
                f"of bytes {offset:,} to {offset + len(data):,} of {self.index.files[chunk.file].place}",
                "the bytes on disk are not those that were written",
                "restore from another checkpoint, or skip=[...] this array",
            )

    def check(self, data: memoryview, chunk: Chunk, name: str) -> None:
        """Raise unless ``data`` has the checksums of the whole chunk."""
        size = self.index.block
        if len(data) <= size:
            if data:
                self.check_block(data, chunk, 0, name)
            return
        for block in range(len(chunk.sums) // 8):
            self.check_block(data[block * size : (block + 1) * size], chunk, block, name)


def _missing_error(record: FileRecord) -> TruncatedFile:
    if record.target is not None:
        return _no_target(record, record.target)
    return TruncatedFile(
        f"{record.name} is missing", f"the checkpoint has {record.size:,} bytes of arrays in this file", AGAIN
    )


def _no_target(record: FileRecord, path: str) -> TruncatedFile:
    return TruncatedFile(
        f"{record.name} of the checkpoint {path} is missing",
        "arrays of this checkpoint were not written again but refer to that one, which must lie beside it",
        f"put {record.target} back beside it",
    )


def _changed_error(record: FileRecord, reason: str) -> CheckpointError:
    if record.target is None:
        return TruncatedFile(f"{record.name} has {reason}", "it is not the file that was written", AGAIN)
    return ForeignFile(
        f"{record.name} of the checkpoint {record.target} has changed: {reason}",
        "arrays of this checkpoint were not written again but refer to that one as it was",
        f"put the {record.target} back that it was saved with",
    )


def _open_folder(storage: Storage, where: str, path: str) -> Folder:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return storage.open(where)
        except FileNotFoundError as error:
            if isinstance(error, CheckpointError):
                raise
            if time.monotonic() > end or not (storage.is_being_replaced(where) or storage.is_checkpoint(where)):
                raise _not_there(storage, path) from None
        time.sleep(1e-3)


def _not_there(storage: Storage, path: str) -> NotACheckpoint:
    """Return the error for a missing checkpoint. It names the copy of an interrupted overwrite, or nearby ones."""
    folder, name = storage.split(path)
    try:
        beside = sorted(storage.names(folder))
    except OSError:
        beside = []
    hidden = [entry for entry in beside if (m := STAGING.fullmatch(entry)) and m["name"] == name]
    whole = [entry for entry in hidden if storage.is_checkpoint(storage.join(folder, entry))]
    for state, what in ((".old-", "the old one is complete"), (".tmp-", "the new one is complete")):
        copies = [entry for entry in whole if entry.startswith(f".{name}{state}")]
        if len(copies) == 1:
            return NotACheckpoint(
                f"nothing at {path}",
                f"a save was killed at the last moment; {what}",
                f"rename {storage.join(folder, copies[0])} to {name}",
            )
    siblings = [e for e in beside if not e.startswith(".") and storage.is_checkpoint(storage.join(folder, e))]
    if siblings:
        shown = ", ".join(siblings[:8]) + (", ..." if len(siblings) > 8 else "")
        return NotACheckpoint(f"nothing at {path}", f"checkpoints in {folder} are: {shown}", "one of these")
    return NotACheckpoint(f"nothing at {path}", f"there are no checkpoints in {folder} either", "check the path")


def _without_graph(storage: Storage, path: str, names: list[str]) -> CheckpointError:
    if STAGING.fullmatch(storage.split(path)[1]) or any(n.startswith("data-") for n in names):
        return IncompleteCheckpoint(
            f"no {GRAPH}, which is written last",
            "the save that made this directory was not finished",
            "use another checkpoint",
        )
    inner = [name for name in names if storage.is_checkpoint(storage.join(path, name))]
    return NotACheckpoint(
        f"a directory without {GRAPH}",
        f"checkpoints inside it are: {', '.join(inner[:8])}" if inner else "no checkpoint was saved there",
        storage.join(path, inner[-1]) if inner else "give the path that was saved to",
    )
