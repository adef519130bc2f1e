"""Writing a draft as a checkpoint: data files, then the index, which is decoded once more before it is published."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from types import MappingProxyType
from typing import Any, NamedTuple

from graftax.checkpoint.checksums import BLOCK, block_sums, digest
from graftax.checkpoint.chunk_tables import build_table, open_table
from graftax.checkpoint.decode import decode, decode_lazily
from graftax.checkpoint.dtypes import DTYPES
from graftax.checkpoint.envelope import open_envelope, seal
from graftax.checkpoint.files import FileSystem
from graftax.checkpoint.index import (
    Chunk,
    FileRecord,
    Index,
    NodeRecord,
    SlotRecord,
    TableRecord,
    TensorRecord,
    encode,
)
from graftax.checkpoint.index_form import KeptForm
from graftax.checkpoint.layout import Item, divide_into_files, header
from graftax.checkpoint.local_storage import LocalStorage, storage_errors
from graftax.checkpoint.names import data_name, table_name
from graftax.checkpoint.places import place_of
from graftax.checkpoint.references import References
from graftax.checkpoint.storage import Share, Storage, Writing
from graftax.checkpoint.uncollected import uncollected
from graftax.core.errors import CheckpointError, SaveError, UnsupportedValue

INLINE_CHUNKS = 1 << 16
"""The largest number of chunks that are listed in the index itself; more are written to tables."""

_QUICK = 64 << 20
"""Bytes of a file that is written so quickly that no collection is missed meanwhile."""


class Draft(NamedTuple):
    """A checkpoint before it is written. Nodes refer to arrays by their position among the names of ``items``."""

    items: Sequence[Item]
    nodes: Sequence[NodeRecord]
    roots: dict[str, int]
    slots: Sequence[SlotRecord] = ()
    step: int | None = None
    meta: Mapping[str, Any] = MappingProxyType({})
    writer: Mapping[str, str] = MappingProxyType({})
    random: Any = None
    assigned: frozenset[str] = frozenset()
    """Names of arrays that eager code has assigned since several processes were last found to be alike."""
    form: KeptForm | None = None
    """What the drafts of one sketch have in common; None if there will be no other such draft."""

    @property
    def nbytes(self) -> int:
        """Return the number of bytes of all arrays."""
        if self.form is None:
            return sum(item.nbytes for item in self.items)
        return self.form.nbytes + sum(item.nbytes for item in self.items[self.form.fixed :])


def commit(
    path: str | os.PathLike[str],
    draft: Draft,
    *,
    overwrite: bool = False,
    fs: FileSystem | None = None,
    base: str | os.PathLike[str] | None = None,
    inline: int = INLINE_CHUNKS,
) -> Index:
    """Write a checkpoint durably, and return its index.

    Args:
        path: The directory to create, or a URL.
        draft: What to write.
        overwrite: Replace a checkpoint that is there already, in one step.
        fs: The file system calls of the local disk.
        base: A checkpoint in the same folder; arrays that it also has are not written again.
        inline: The largest number of chunks that the index lists itself.

    Raises:
        DestinationExists: something exists at the path, and ``overwrite`` is False or it is not a checkpoint.
        CheckpointInUse: other checkpoints refer to the one that would be replaced.
        StorageFull, StorageFailure: a write failed; nothing was published.
        UnsupportedValue, LimitExceeded: the index cannot be written, or no reader would accept it.
    """
    storage: Storage
    if fs is not None:
        storage, final = LocalStorage(fs), os.path.abspath(os.fspath(path))
    else:
        storage, final = place_of(path)
    references = References(storage, final, base, overwrite)
    kept, written = references.divide(draft.items)
    needed = sum(item.nbytes for item in written) if kept else draft.nbytes
    writing = storage.begin(final, overwrite, needed)
    try:
        with storage_errors(f"saving {final}"):
            if draft.form is not None and base is None and len(draft.items) <= inline:
                index = _write_form(writing, draft, draft.form)
            else:
                index = _write(writing, draft, written, kept, references, inline)
            references.check()
            writing.publish(index[1])
    except BaseException:
        writing.abandon()
        raise
    return index[0]


def _write(
    writing: Writing,
    draft: Draft,
    items: Sequence[Item],
    reused: dict[int, Chunk],
    references: References,
    inline: int,
) -> tuple[Index, bytes]:
    """Write everything except the index, which is returned with its bytes."""
    save_id = os.urandom(16)
    files = list(references.files)
    position = {id(item): i for i, item in enumerate(draft.items)}
    found = put_items(writing, items, save_id, files)
    chunks = {**reused, **{position[id(item)]: chunk for item, chunk in zip(items, found, strict=True)}}
    with uncollected():
        return write_index(writing, draft, save_id, files, chunks, inline)


def _write_form(writing: Writing, draft: Draft, form: KeptForm) -> tuple[Index, bytes]:
    """Write the data files, and return the index with its bytes; only what differs from the last save is encoded."""
    save_id = os.urandom(16)
    files: list[FileRecord] = []
    sums: list[bytes] = []
    with uncollected():
        known = form.find_form(draft.items, writing.first_file)
        used = known or form.make_form(draft.items, draft.nodes, draft.slots, writing.first_file)
    for file in used.files:
        head = file.header(save_id)
        with uncollected() if file.size <= _QUICK else nullcontext():
            writing.put(file.name, file.size, _pieces(head, [draft.items[i] for i in file.members], sums))
        files.append(FileRecord(file.name, file.size, len(head), digest(head)))
    with uncollected():
        body = seal(used.fill(_index(draft, save_id, files, ()), sums))
        with _require_readable():
            if known is None:
                index = decode(open_envelope(body))
                form.last = used
            else:  # the rest has been checked with the first save that had this form
                index = decode_lazily(open_envelope(body))
                for number in form.states:
                    _ = index.nodes[number]
    return index, body


def put_items(writing: Writing | Share, items: Sequence[Item], save_id: bytes, files: list[FileRecord]) -> list[Chunk]:
    """Write the data files, append their records to ``files``, and return the chunks in the order of the items."""
    chunks: dict[int, Chunk] = {}
    for number, members in enumerate(divide_into_files(items), writing.first_file):
        group = [items[i] for i in members]
        head = header(group, save_id)
        sizes = [item.nbytes for item in group]
        size = len(head) + sum(sizes)
        sums: list[bytes] = []
        name = data_name(group[0].process, number)
        with uncollected() if size <= _QUICK else nullcontext():
            writing.put(name, size, _pieces(head, group, sums))
        offset = len(head)
        for i, item, nbytes, item_sums in zip(members, group, sizes, sums, strict=True):
            chunks[i] = Chunk(len(files), offset, nbytes, *item.box, item_sums)
            offset += nbytes
        files.append(FileRecord(name, size, len(head), digest(head)))
    return [chunks[i] for i in range(len(items))]


def write_index(
    writing: Writing,
    draft: Draft,
    save_id: bytes,
    files: list[FileRecord],
    chunks: dict[int, Chunk],
    inline: int = INLINE_CHUNKS,
) -> tuple[Index, bytes]:
    """Write the chunk tables, and return the index and its bytes."""
    index = _index(draft, save_id, files, _tensors(draft.items, chunks))
    tables = _tables(index, draft.items, writing.first_file) if len(draft.items) > inline else {}
    for name, table in tables.items():
        writing.put(name, len(table), [memoryview(table)])
    index = index._replace(tables=tuple([TableRecord(name, len(table)) for name, table in tables.items()]))
    body = seal(encode(index))
    with _require_readable():
        decode(open_envelope(body), lambda name, size, total: open_table(tables[name], name, total))
    return index, body


def _index(draft: Draft, save_id: bytes, files: list[FileRecord], tensors: tuple[TensorRecord, ...]) -> Index:
    return Index(
        save_id,
        time.time_ns(),
        draft.step,
        dict(draft.writer),
        tuple(files),
        tensors,
        tuple(draft.nodes),
        draft.roots,
        tuple(draft.slots),
        dict(draft.meta),
        random=draft.random,
    )


def _tensors(items: Sequence[Item], chunks: dict[int, Chunk]) -> tuple[TensorRecord, ...]:
    """Return one record for each name; items of one name are boxes of one array."""
    if all(item.whole is None for item in items):
        return tuple(
            [
                TensorRecord(item.dtype, item.shape, DTYPES[item.dtype].layout, (chunks[i],), None, item.name)
                for i, item in enumerate(items)
            ]
        )
    found: dict[str, list[int]] = {}
    for i, item in enumerate(items):
        found.setdefault(item.name, []).append(i)
    return tuple(
        [
            TensorRecord(
                items[members[0]].dtype,
                items[members[0]].whole or items[members[0]].shape,
                DTYPES[items[members[0]].dtype].layout,
                tuple([chunks[i] for i in members]),
                None,
                name,
            )
            for name, members in found.items()
        ]
    )


def _tables(index: Index, items: Sequence[Item], number: int) -> dict[str, bytes]:
    """Return chunk tables, by the process that wrote the chunks."""
    rows: dict[int, list[tuple[int, Chunk]]] = {}
    process = [0 if file.target is not None else int(file.name[5:10]) for file in index.files]
    for tensor, record in enumerate(index.tensors):
        for chunk in record.chunks:
            rows.setdefault(process[chunk.file], []).append((tensor, chunk))
    return {table_name(owner, number): build_table(held) for owner, held in rows.items()}


@contextmanager
def _require_readable() -> Iterator[None]:
    """Raise for an index that no reader would accept: an unreadable checkpoint must not replace a readable one."""
    try:
        yield
    except SaveError:
        raise
    except CheckpointError as error:
        raise UnsupportedValue(
            f"a checkpoint that no reader would accept: {error.received}", error.reason, error.instead
        ) from error


def _pieces(head: bytes, items: Sequence[Item], sums: list[bytes]) -> Iterator[memoryview]:
    """Yield the content of a data file; the checksums of an item are in ``sums`` once its last piece was taken."""
    yield memoryview(head)
    for item in items:
        source = item.source
        data = source if isinstance(source, memoryview) else source()
        size = len(data)
        if 0 < size <= BLOCK:  # most are
            sums.append(digest(data).to_bytes(8, "little"))
            yield data
            continue
        found = []
        for begin in range(0, size, BLOCK):
            piece = data[begin : begin + BLOCK]
            found.append(block_sums(piece))
            yield piece
        sums.append(b"".join(found))
