"""The full check of a checkpoint: index, headers and every block of every array. Needs neither NumPy nor a backend."""

import json
import os
from typing import Any, NamedTuple

from graftax.checkpoint.checksums import digest
from graftax.checkpoint.damaged import AGAIN, FORGED
from graftax.checkpoint.decode import check_placement
from graftax.checkpoint.index import Index
from graftax.checkpoint.layout import header_entries
from graftax.checkpoint.names import GRAPH
from graftax.checkpoint.reader import Reader
from graftax.core.errors import CheckpointError, CorruptMetadata, ForeignFile, LimitExceeded

MAX_HEADER = 100_000_000
"""Bytes of a JSON header that the reference reader of safetensors accepts."""
_MOST = 1000  # the most problems that are listed


class Verified(NamedTuple):
    """The result of `verify`: counts, all problems, and unexpected files."""

    contents: Index
    blocks: int
    nbytes: int
    problems: tuple[CheckpointError, ...]
    strangers: tuple[str, ...]


def verify(path: str | os.PathLike[str]) -> Verified:
    """Check every byte of a checkpoint, including those that it refers to, and continue after a problem.

    Raises:
        CheckpointError: the index cannot be used, so data files cannot be checked.
    """
    problems: list[CheckpointError] = []
    with Reader(path) as reader:
        index = reader.index
        own = [file.name for file in index.files if file.target is None]
        known = {GRAPH, *own, *(table.name for table in index.tables)}
        strangers = tuple(name for name in reader.names() if name not in known)
        usable = set()
        if index.tables:
            check_placement(index.files, index.tensors)
        for file in range(len(index.files)):
            try:
                reader.check_file(file)
                usable.add(file)
                # files of other checkpoints list more arrays, so their headers are only compared by checksum
                if index.files[file].target is None:
                    _check_header(reader, file)
            except CheckpointError as error:
                problems.append(error)
        blocks, nbytes = _check_blocks(reader, usable, problems)
    return Verified(index, blocks, nbytes, tuple(problems), strangers)


def _check_blocks(reader: Reader, usable: set[int], problems: list[CheckpointError]) -> tuple[int, int]:
    index = reader.index
    buffer = memoryview(bytearray(1 << 16))
    blocks = nbytes = 0
    chunks = [(chunk, t.name) for t in index.tensors for chunk in t.chunks if chunk.file in usable]
    for chunk, name in sorted(chunks, key=lambda pair: pair[0][:2]):
        for block in range(len(chunk.sums) // 8):
            begin = block * index.block
            size = min(index.block, chunk.nbytes - begin)
            if size > len(buffer):
                buffer = memoryview(bytearray(size))
            try:
                reader.read_into(buffer[:size], chunk.file, chunk.offset + begin)
                reader.check_block(buffer[:size], chunk, block, name)
            except CheckpointError as error:
                problems.append(error)
                if len(problems) >= _MOST:
                    return blocks, nbytes
            blocks, nbytes = blocks + 1, nbytes + size
    return blocks, nbytes


def _check_header(reader: Reader, file: int) -> None:
    record = reader.index.files[file]
    if record.data_begin > MAX_HEADER:
        raise LimitExceeded(
            f"the header of {record.name} has {record.data_begin:,} bytes",
            f"other tools read at most {MAX_HEADER:,} bytes",
            FORGED,
        )
    header = bytearray(record.data_begin)
    reader.read_into(memoryview(header), file, 0)
    found = digest(bytes(header))
    try:
        if int.from_bytes(header[:8], "little") != record.data_begin - 8:
            raise ValueError("its length is wrong")
        content = json.loads(header[8:], object_pairs_hook=_unique_dict)
    except (ValueError, RecursionError) as error:
        raise CorruptMetadata(
            f"the header of {record.name}", f"it is not a valid safetensors header: {error}", AGAIN
        ) from error
    metadata = content.pop("__metadata__", None) if type(content) is dict else None
    save_id = metadata.get("save_id") if type(metadata) is dict else None
    if save_id != reader.index.save_id.hex():
        raise ForeignFile(
            f"{record.name} has save_id {save_id!r:.60}",
            f"the index has {reader.index.save_id.hex()}: the file is from another save",
            AGAIN,
        )
    if content != header_entries(reader.index, file):
        raise CorruptMetadata(f"the header of {record.name}", "it does not list the same arrays as the index", AGAIN)
    if found != record.header_sum:
        raise CorruptMetadata(
            f"the header of {record.name}: checksum {found:016x}, expected {record.header_sum:016x}",
            "its bytes were changed after the save",
            AGAIN,
        )


def _unique_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a name is given twice")
    return result
