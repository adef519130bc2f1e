"""Tables of chunks, one file for each process, for checkpoints with too many chunks for the index.

A table is a block of little-endian columns with a checksum. Its rows are ordered by array: array, file, offset, bytes,
the position of its box among the boxes, and that of its checksums among the checksums. Rows become `Chunk` records when
an array is read.
"""

import struct
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

from graftax.checkpoint.boxes import check_tiling
from graftax.checkpoint.checksums import digest
from graftax.checkpoint.damaged import AGAIN, FORGED
from graftax.checkpoint.index import Chunk, FileRecord, TensorRecord
from graftax.core.errors import CorruptMetadata
from graftax.core.typedefs import Shape

MAGIC = b"\x89GFXTB\n\x00"
_HEAD = struct.Struct("<8sQQQQ")  # magic, rows, numbers in all boxes, bytes of all checksums, checksum of the rest


class ChunkTable:
    """The columns of one file."""

    def __init__(self, name: str, total: int, columns: list[Any], sums: bytes) -> None:
        self.name = name
        self.total = total
        self._tensors, self._files, self._offsets, self.nbytes, self._boxes, self._sums, self._numbers = columns
        self._bytes = sums

    def __len__(self) -> int:
        return len(self._tensors)

    def chunks(self, tensor: int, rank: int) -> Iterator[Chunk]:
        """Yield the chunks of an array that the table lists."""
        for row in range(bisect_left(self._tensors, tensor), bisect_right(self._tensors, tensor)):
            first = self._boxes[row]
            if self._boxes[row + 1] - first != 2 * rank:
                raise corrupt_error(self.name, f"a box of array {tensor} must have {rank} axes")
            start = tuple(self._numbers[first : first + rank])
            extent = tuple(self._numbers[first + rank : first + 2 * rank])
            sums = self._bytes[self._sums[row] : self._sums[row + 1]]
            yield Chunk(self._files[row], self._offsets[row], self.nbytes[row], start, extent, sums)


def build_table(rows: Iterable[tuple[int, Chunk]]) -> bytes:
    """Return the bytes of a table. A row is the number of an array and one of its chunks; rows are ordered by array."""
    tensors, files = array("I"), array("I")
    offsets, nbytes, boxes, sums, numbers = (array("Q") for _ in range(5))
    parts = []
    length = 0
    for tensor, chunk in rows:
        tensors.append(tensor)
        files.append(chunk.file)
        offsets.append(chunk.offset)
        nbytes.append(chunk.nbytes)
        boxes.append(len(numbers))
        sums.append(length)
        numbers.extend(chunk.start)
        numbers.extend(chunk.extent)
        parts.append(chunk.sums)
        length += len(chunk.sums)
    boxes.append(len(numbers))
    sums.append(length)
    body = b"".join([c.tobytes() for c in (tensors, files, offsets, nbytes, boxes, sums, numbers)] + parts)
    return _HEAD.pack(MAGIC, len(tensors), len(numbers), length, digest(body)) + body


def open_table(data: bytes, name: str, total: int) -> ChunkTable:
    """Return the table that these bytes hold, after a check of its checksum and columns.

    Args:
        data: Its content.
        name: Its file.
        total: How many arrays there are.

    Raises:
        CorruptMetadata: the table is damaged.
    """
    if len(data) < _HEAD.size or data[:8] != MAGIC:
        raise corrupt_error(name, "it does not begin as a table does")
    _, rows, numbers, length, expected = _HEAD.unpack_from(data)
    body = memoryview(data)[_HEAD.size :]
    sizes = [4 * rows, 4 * rows, 8 * rows, 8 * rows, 8 * (rows + 1), 8 * (rows + 1), 8 * numbers]
    if sum(sizes) + length != len(body):
        raise corrupt_error(name, "its size does not fit its number of rows")
    if (found := digest(body)) != expected:
        raise corrupt_error(name, f"checksum {found:016x}, expected {expected:016x}")
    columns = []
    offset = 0
    for code, size in zip("IIQQQQQ", sizes, strict=True):
        column = array(code)
        column.frombytes(body[offset : offset + size])
        columns.append(column)
        offset += size
    tensors, boxes, sums = columns[0], columns[4], columns[5]
    if rows and (max(tensors) >= total or any(map(int.__gt__, tensors, tensors[1:]))):
        raise corrupt_error(name, "its arrays are in no order, or are not in the index")
    for column, end in ((boxes, numbers), (sums, length)):
        if column[0] != 0 or column[-1] != end or any(map(int.__gt__, column, column[1:])):
            raise corrupt_error(name, "its boxes or checksums are in no order")
    return ChunkTable(name, total, columns, bytes(body[offset:]))


def corrupt_error(name: str, why: str) -> CorruptMetadata:
    """Return the error for a table that cannot be used."""
    return CorruptMetadata(f"the chunk table {name}", why, AGAIN)


class TabledChunks(Sequence[Chunk]):
    """The chunks of one array, which are looked up and checked at the first access."""

    def __init__(self, tables: Sequence[ChunkTable], files: Sequence[FileRecord], tensor: int, block: int) -> None:
        self._tables = tables
        self._files = files
        self._tensor = tensor
        self._block = block
        self._found: tuple[Chunk, ...] | None = None
        self.record: TensorRecord | None = None

    @overload
    def __getitem__(self, index: int) -> Chunk: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Chunk]: ...
    def __getitem__(self, index: int | slice) -> Chunk | Sequence[Chunk]:
        return self._find_chunks()[index]

    def __len__(self) -> int:
        return len(self._find_chunks())

    def __iter__(self) -> Iterator[Chunk]:
        return iter(self._find_chunks())

    def _find_chunks(self) -> tuple[Chunk, ...]:
        if self._found is None:
            record = self.record
            if record is None:
                raise corrupt_error("of no array", "it was asked for too early")
            shape: Shape = record.shape
            found = tuple([chunk for table in self._tables for chunk in table.chunks(self._tensor, len(shape))])
            for chunk in found:
                check_chunk(record, chunk, self._files, self._block)
            check_tiling(record.name, shape, [(chunk.start, chunk.extent) for chunk in found])
            self._found = found
        return self._found


def check_chunk(record: TensorRecord, chunk: Chunk, files: Sequence[FileRecord], block: int) -> None:
    """Raise unless a chunk lies within its file and has the number of bytes and checksums that its box needs.

    Raises:
        CorruptMetadata: it does not.
    """
    what = f"a chunk of {record.name!r:.200} in the index"
    if not 0 <= chunk.file < len(files):
        raise CorruptMetadata(what, "it names a file that does not exist", FORGED)
    file = files[chunk.file]
    if not file.data_begin <= chunk.offset <= chunk.offset + chunk.nbytes <= file.size:
        raise CorruptMetadata(what, f"it lies outside of the data of {file.name}", FORGED)
    if chunk.nbytes != record.bytes_of(chunk.extent):
        raise CorruptMetadata(what, f"its {chunk.nbytes} bytes are not those of shape {chunk.extent}", FORGED)
    if len(chunk.sums) != 8 * -(-chunk.nbytes // block):
        raise CorruptMetadata(what, "it must have one checksum for each block", FORGED)


if sys.byteorder != "little":  # columns are written and read as raw memory
    raise CorruptMetadata(
        "this machine is big-endian",
        "chunk tables can only be read and written on little-endian machines",
        "a little-endian machine, such as x86-64 or arm64",
    )
