"""Reading arrays: exactly the ranges wanted, small neighbours in one go, every block checked before it is used."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from graftax.checkpoint.arrays import ALIGNMENT, HostArray, aligned, from_bytes
from graftax.checkpoint.index import Chunk, Kind
from graftax.checkpoint.reader import Reader, located
from graftax.checkpoint.state import revived
from graftax.core.typedefs import Shape

_GAP = 4096  # bytes not wanted that are read along rather than starting another read
_RUN = 16 << 20  # bytes of one read, and so of the memory that its arrays share


def load(reader: Reader, tensors: Iterable[int]) -> dict[int, HostArray]:
    """The arrays of these numbers, each at an address that is a multiple of 64 wherever the file allows it.

    Raises:
        CorruptCheckpoint: a file is shorter than it should be, or a block fails its checksum.
    """
    index = reader.index
    wanted = [(chunk, number) for number in set(tensors) for chunk in index.tensors[number].chunks]
    wanted.sort(key=lambda pair: pair[0][:2])
    whole: dict[int, HostArray] = {}
    found: dict[int, list[tuple[Chunk, HostArray]]] = {}
    with located(reader.path):
        for run in _runs(wanted):
            first, last = run[0][0], run[-1][0]
            lead = first.offset % ALIGNMENT
            buffer = aligned(lead + last.offset + last.nbytes - first.offset)[lead:]
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
    return whole | {number: _joined(index.tensors[number].shape, parts) for number, parts in found.items()}


def values_of(reader: Reader, nodes: Iterable[int]) -> dict[int, Any]:
    """The values of nodes: arrays, bytes, or Python state.

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
            values[node] = revived(record.payload, arrays)
    return values


def _runs(wanted: list[tuple[Chunk, int]]) -> list[list[tuple[Chunk, int]]]:
    runs: list[list[tuple[Chunk, int]]] = []
    for chunk, number in wanted:
        if runs:
            first, last = runs[-1][0][0], runs[-1][-1][0]
            near = chunk.offset - last.offset - last.nbytes <= _GAP
            if chunk.file == first.file and near and chunk.offset + chunk.nbytes - first.offset <= _RUN:
                runs[-1].append((chunk, number))
                continue
        runs.append([(chunk, number)])
    return runs


def _joined(shape: Shape, parts: list[tuple[Chunk, HostArray]]) -> HostArray:
    result = np.empty(shape, parts[0][1].dtype)
    for chunk, array in parts:
        result[tuple(slice(s, s + e) for s, e in zip(chunk.start, chunk.extent, strict=True))] = array
    return result
