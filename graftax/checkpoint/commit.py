"""The commit protocol: whatever stops a save, the target is the whole new checkpoint, the whole old one, or nothing.

Files are written and synced in a hidden staging directory beside the target, the index last; one rename publishes it
and the parent directory is synced before anybody is told. A call that fails undoes what was done: a write or fsync
that failed once is never trusted again.
"""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Any, NamedTuple

from graftax.checkpoint.checksums import BLOCK, block_sums, digest
from graftax.checkpoint.dtypes import DTYPES
from graftax.checkpoint.envelope import seal
from graftax.checkpoint.files import FileSystem, remove_tree, storage_error, write_all
from graftax.checkpoint.index import Chunk, FileRecord, Index, NodeRecord, SlotRecord, TensorRecord, encode
from graftax.checkpoint.layout import Item, arranged, file_name, header
from graftax.checkpoint.reader import GRAPH, STAGING
from graftax.core.errors import ArgumentError, CheckpointError, DestinationExists, StorageFull

_BATCH = 8 << 20  # bytes per write: large enough for the device, small enough to be in the cache after its checksum
_PIECES = 1024


class Draft(NamedTuple):
    """A checkpoint before it is written; nodes name arrays by their position in ``items``."""

    items: Sequence[Item]
    nodes: Sequence[NodeRecord]
    roots: dict[str, int]
    slots: Sequence[SlotRecord] = ()
    step: int | None = None
    meta: Mapping[str, Any] = MappingProxyType({})
    random: Any = None


def commit(
    path: str | os.PathLike[str], draft: Draft, *, overwrite: bool = False, fs: FileSystem | None = None
) -> Index:
    """Write a checkpoint, durably; returns its index.

    Args:
        path: The directory to make.
        draft: What to write.
        overwrite: Replace a checkpoint that is there already, in one step.
        fs: The file system calls.

    Raises:
        DestinationExists: something is there, and ``overwrite`` is off or it is no checkpoint.
        StorageFull, StorageFailure: the device or the system refused; nothing was published.
        UnsupportedValue, LimitExceeded: the index cannot be written.
    """
    fs = fs or FileSystem()
    final = os.path.abspath(os.fspath(path))
    parent, name = os.path.split(final)
    if not name or STAGING.fullmatch(name):
        raise ArgumentError(f"a checkpoint at {final}", "that name is reserved, or no name", "choose another name")
    with _storage_errors(final):
        _check_target(fs, final, overwrite)
        _make_parents(fs, parent)
        needed = sum(len(item.data) for item in draft.items)
        if needed > fs.free(parent):
            raise StorageFull(f"{needed:,} bytes to save at {final}", f"{fs.free(parent):,} are free", "make room")
        nonce = os.urandom(8).hex()
        staging = os.path.join(parent, f".{name}.tmp-{nonce}")
        fs.mkdir(staging)
        try:
            index = _write_data(fs, staging, draft)
            body = seal(encode(index))
            _write_file(fs, os.path.join(staging, GRAPH), len(body), [memoryview(body)])
            fs.fsync_dir(staging)
            _check_target(fs, final, overwrite)
            if overwrite and fs.exists(final):
                _replace(fs, staging, final, nonce)
            else:
                _publish(fs, staging, final)
        except BaseException:
            with suppress(OSError):
                remove_tree(fs, staging)
            raise
    return index


@contextmanager
def _storage_errors(final: str) -> Iterator[None]:
    try:
        yield
    except CheckpointError:
        raise
    except OSError as error:
        raise storage_error(error, f"saving {final}") from error


def _check_target(fs: FileSystem, final: str, overwrite: bool) -> None:
    if not fs.exists(final):
        return
    if not overwrite:
        raise DestinationExists(
            f"{final} exists", "a save replaces nothing unless told", "overwrite=True, or a new path"
        )
    names = fs.listdir(final) if fs.is_directory(final) else []
    others = [n for n in names if n != GRAPH and not (n.startswith("data-") and n.endswith(".safetensors"))]
    if GRAPH not in names or others:
        raise DestinationExists(
            f"{final} is no checkpoint" if GRAPH not in names else f"{final} holds {others[0]!r}",
            "overwrite=True replaces a checkpoint, and nothing that a save did not make",
            "another path, or remove it yourself",
        )


def _make_parents(fs: FileSystem, parent: str) -> None:
    missing = []
    while not fs.exists(parent):
        missing.append(parent)
        parent = os.path.dirname(parent)
    for directory in reversed(missing):
        with suppress(FileExistsError):
            fs.mkdir(directory)
        fs.fsync_dir(os.path.dirname(directory))


def _publish(fs: FileSystem, staging: str, final: str) -> None:
    fs.rename(staging, final)
    try:
        fs.fsync_dir(os.path.dirname(final))
    except OSError:  # nobody knows whether it lasts, so it must not look as if it did
        fs.rename(final, staging)
        raise


def _replace(fs: FileSystem, staging: str, final: str, nonce: str) -> None:
    """Swap old and new in one step where the system can; else there is a moment with the old one under another name."""
    parent, name = os.path.split(final)
    trash = os.path.join(parent, f".trash-{nonce}")
    if fs.exchange(staging, final):
        try:
            fs.fsync_dir(parent)
        except OSError:
            fs.exchange(staging, final)
            raise
        old = staging
    else:
        old = os.path.join(parent, f".{name}.old-{nonce}")
        fs.rename(final, old)
        try:
            _publish(fs, staging, final)
        except OSError:
            fs.rename(old, final)
            raise
    with suppress(OSError):  # the new one is safe; what cannot be deleted is only in the way
        fs.rename(old, trash)
        fs.fsync_dir(parent)
        remove_tree(fs, trash)


def _write_data(fs: FileSystem, staging: str, draft: Draft) -> Index:
    save_id = os.urandom(16)
    files: list[FileRecord] = []
    chunks: dict[int, Chunk] = {}
    for number, members in enumerate(arranged(draft.items)):
        items = [draft.items[i] for i in members]
        head = header(items, save_id)
        size = len(head) + sum(len(item.data) for item in items)
        sums: list[bytes] = []
        path = os.path.join(staging, file_name(0, number))
        _write_file(fs, path, size, _pieces(head, items, sums))
        files.append(FileRecord(file_name(0, number), size, len(head), digest(head)))
        offset = len(head)
        for i, item, item_sums in zip(members, items, sums, strict=True):
            chunks[i] = Chunk(number, offset, len(item.data), (0,) * len(item.shape), item.shape, item_sums)
            offset += len(item.data)
    tensors = tuple(
        TensorRecord(item.dtype, item.shape, DTYPES[item.dtype].layout, (chunks[i],), None, item.name)
        for i, item in enumerate(draft.items)
    )
    return Index(
        save_id,
        time.time_ns(),
        draft.step,
        {},
        tuple(files),
        tensors,
        tuple(draft.nodes),
        draft.roots,
        tuple(draft.slots),
        dict(draft.meta),
        random=draft.random,
    )


def _pieces(head: bytes, items: Sequence[Item], sums: list[bytes]) -> Iterator[memoryview]:
    """The content of a data file; the checksums of an item are in ``sums`` once its last piece was taken."""
    yield memoryview(head)
    for item in items:
        if len(item.data) <= BLOCK:
            sums.append(block_sums(item.data))
            yield item.data
            continue
        found = []
        for begin in range(0, len(item.data), BLOCK):
            piece = item.data[begin : begin + BLOCK]
            found.append(block_sums(piece))
            yield piece
        sums.append(b"".join(found))


def _write_file(fs: FileSystem, path: str, size: int, pieces: Iterable[memoryview]) -> None:
    descriptor = fs.create(path)
    try:
        fs.allocate(descriptor, size)
        offset = waiting = 0
        batch: list[memoryview] = []
        for piece in pieces:
            batch.append(piece)
            waiting += len(piece)
            if waiting >= _BATCH or len(batch) == _PIECES:
                write_all(fs, descriptor, batch, offset)
                offset, waiting, batch = offset + waiting, 0, []
        write_all(fs, descriptor, batch, offset)
        fs.fsync(descriptor)
    except BaseException:
        with suppress(OSError):
            fs.close(descriptor)
        raise
    fs.close(descriptor)
