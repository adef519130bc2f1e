"""Reading arrays: only the needed ranges, small neighbours in one read, each block checked before it is used."""

from collections.abc import Callable, Iterable
from math import prod
from typing import Any

import numpy as np

from graftax.backend.host import host_dtype
from graftax.checkpoint.arrays import ALIGNMENT, HostArray, from_bytes, make_aligned_buffer
from graftax.checkpoint.damaged import corrupt_error
from graftax.checkpoint.dtypes import DTYPES
from graftax.checkpoint.index import Chunk, Kind, TensorRecord
from graftax.checkpoint.reader import Reader, with_path_in_errors
from graftax.checkpoint.state import revive
from graftax.core.typedefs import Shape

_GAP = 4096  # bytes of a gap between two ranges that is read rather than starting another read
_BAND = 64 << 20  # bytes of the rows of a chunk that are on the host at the same time while a box is read
_RUN = 16 << 20  # bytes of one read; its arrays share this memory, so a larger one would be kept alive by a small array


def load(reader: Reader, tensors: Iterable[int]) -> dict[int, HostArray]:
    """Return the arrays with these numbers, each at an address that is a multiple of 64 where the file allows it.

    Raises:
        CorruptCheckpoint: a file is shorter than it should be, or a block fails its checksum.
    """
    index = reader.index
    wanted = [(chunk, number) for number in set(tensors) for chunk in index.tensors[number].chunks]
    wanted.sort(key=lambda pair: pair[0][:2])
    _check_apart(reader, wanted)
    whole: dict[int, HostArray] = {}
    found: dict[int, list[tuple[Chunk, HostArray]]] = {}
    with with_path_in_errors(reader.path):
        for run in _runs(wanted):
            first, last = run[0][0], run[-1][0]
            lead = first.offset % ALIGNMENT
            buffer = make_aligned_buffer(lead + last.offset + last.nbytes - first.offset)[lead:]
            reader.read_into(buffer.data, first.file, first.offset)
            bytes_read, base = buffer.data, first.offset
            for chunk, number in run:
                begin, record = chunk.offset - base, index.tensors[number]
                end = begin + chunk.nbytes
                reader.check(bytes_read[begin:end], chunk, record.name)
                array = from_bytes(buffer[begin:end], record.dtype, chunk.extent)
                if len(record.chunks) == 1:
                    whole[number] = array
                else:
                    found.setdefault(number, []).append((chunk, array))
    return whole | {number: _join(index.tensors[number].shape, parts) for number, parts in found.items()}


def rows(
    reader: Reader, record: TensorRecord, chunk: Chunk, low: int, high: int, fetch: Callable[[int, int, int], HostArray]
) -> HostArray:
    """Return rows ``low`` to ``high`` of a chunk, after checking their blocks; of packed dtypes, all rows.

    Args:
        reader: The checkpoint.
        record: The array.
        chunk: One of its chunks.
        low: The first row, counted in the chunk.
        high: The one after the last.
        fetch: A function ``(file, offset, size)`` that returns bytes of a file.
    """
    count = chunk.extent[0] if chunk.extent else 1
    row = chunk.nbytes // count if count else 0
    is_packed = DTYPES[record.dtype].layout == "packed"
    begin, end = (0, chunk.nbytes) if is_packed else (low * row, high * row)
    block = reader.index.block
    first, last = begin // block, -(-end // block)
    start = first * block
    held = fetch(chunk.file, chunk.offset + start, min(last * block, chunk.nbytes) - start)
    with with_path_in_errors(reader.path):
        for number in range(first, last):
            piece = held[number * block - start : (number + 1) * block - start]
            reader.check_block(piece.data, chunk, number, record.name)
    shape = (high - low, *chunk.extent[1:]) if chunk.extent and not is_packed else chunk.extent
    found = from_bytes(held[begin - start : end - start], record.dtype, shape)
    return found[low:high] if is_packed and chunk.extent else found


def box(reader: Reader, record: TensorRecord, start: Shape, extent: Shape) -> HostArray:
    """Return a box of an array. Only the rows that intersect it are read, some at a time.

    Raises:
        CorruptCheckpoint: as for `load`.
    """
    result = (
        make_aligned_buffer(prod(extent) * host_dtype(record.dtype).itemsize)
        .view(host_dtype(record.dtype))
        .reshape(extent)
    )

    def fetch(file: int, offset: int, size: int) -> HostArray:
        found = np.empty(size, np.uint8)
        reader.read_into(found.data, file, offset)
        return found

    for chunk in record.chunks:
        low = tuple([max(s, c) for s, c in zip(start, chunk.start, strict=True)])
        ends = zip(start, extent, chunk.start, chunk.extent, strict=True)
        high = tuple([min(s + e, c + n) for s, e, c, n in ends])
        if any(a >= b for a, b in zip(low, high, strict=True)):
            continue
        first, last = (low[0] - chunk.start[0], high[0] - chunk.start[0]) if low else (0, 1)
        step = max(1, _BAND * max(last - first, 1) // max(chunk.nbytes, 1)) if low else 1
        for row in range(first, last, step):
            found = rows(reader, record, chunk, row, min(row + step, last), fetch)
            if not low:
                return found.reshape(extent)
            inner = [slice(a - c, b - c) for a, b, c in zip(low[1:], high[1:], chunk.start[1:], strict=True)]
            begin = chunk.start[0] + row - start[0]
            outer = [slice(a - s, b - s) for a, b, s in zip(low[1:], high[1:], start[1:], strict=True)]
            result[(slice(begin, begin + len(found)), *outer)] = found[(slice(None), *inner)]
    return result


def values_of(reader: Reader, nodes: Iterable[int]) -> dict[int, Any]:
    """Return the values of nodes: arrays, bytes, or Python state.

    Raises:
        CorruptCheckpoint: as for `load`.
    """
    index = reader.index
    records = {node: index.nodes[node] for node in nodes}
    tensors = {node: tensor for node, record in records.items() if (tensor := record.tensor) is not None}
    arrays = load(reader, {tensor for record in records.values() for tensor in record.tensors})
    values: dict[int, Any] = {}
    for node, record in records.items():
        array: HostArray | None = arrays[tensors[node]] if node in tensors else None
        if record.kind is Kind.VARIABLE:
            values[node] = array
        elif record.kind is Kind.BYTES:
            values[node] = record.payload[1] if array is None else array.tobytes()
        else:
            values[node] = revive(record.payload, arrays)
    return values


def _check_apart(reader: Reader, chunks: list[tuple[Chunk, int]]) -> None:
    """Raise if two chunks share bytes: this check needs all records, so decoding lazily has left it out."""
    here = end = -1
    for (file, offset, size, *_), number in chunks:
        if file != here:
            here, end = file, 0
        if size and offset < end:
            name = reader.index.tensors[number].name
            raise corrupt_error(
                f"array {name!r:.200}", f"it shares bytes of {reader.index.files[file].place} with another"
            )
        end = max(end, offset + size)


def _runs(chunks: list[tuple[Chunk, int]]) -> list[list[tuple[Chunk, int]]]:
    runs: list[list[tuple[Chunk, int]]] = []
    for chunk, number in chunks:
        if runs:
            first, last = runs[-1][0][0], runs[-1][-1][0]
            near = chunk.offset - last.offset - last.nbytes <= _GAP
            if chunk.file == first.file and near and chunk.offset + chunk.nbytes - first.offset <= _RUN:
                runs[-1].append((chunk, number))
                continue
        runs.append([(chunk, number)])
    return runs


def _join(shape: Shape, parts: list[tuple[Chunk, HostArray]]) -> HostArray:
    result = np.empty(shape, parts[0][1].dtype)
    for chunk, array in parts:
        result[tuple(slice(s, s + e) for s, e in zip(chunk.start, chunk.extent, strict=True))] = array
    return result
