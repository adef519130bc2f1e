"""How arrays lie in data files: valid safetensors, data at a multiple of 4096, so that backends need not copy it.

Arrays whose size is a multiple of 64 bytes come first, in the order of the graph, each aligned to 64; the rest
follows by descending item size. Nothing is padded, so another tool sees the saved names and nothing else.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from graftax.checkpoint.dtypes import DTYPES, nbytes, stored_shape
from graftax.checkpoint.index import Chunk, Index
from graftax.core.typedefs import Shape

PAGE = 4096
MAX_FILE = 8 << 30
MAX_TENSORS = 1 << 16


class Item(NamedTuple):
    """An array to be written: its dtype, shape and name, and where its bytes are."""

    dtype: str
    shape: Shape
    name: str
    data: memoryview


def file_name(process: int, number: int) -> str:
    """The name of a data file."""
    return f"data-{process:05d}-{number:05d}.safetensors"


def arranged(items: Sequence[Item], max_file: int = MAX_FILE, max_tensors: int = MAX_TENSORS) -> list[list[int]]:
    """Which items go into which file, in order."""

    def rank(i: int) -> tuple[bool, int]:
        aligned = len(items[i].data) % 64 == 0
        return (False, 0) if aligned else (True, -DTYPES[items[i].dtype].bits)

    files: list[list[int]] = []
    room = -1
    for i in sorted(range(len(items)), key=rank):
        size = len(items[i].data)
        if room < size or len(files[-1]) >= max_tensors:
            files.append([])
            room = max(max_file, size)
        files[-1].append(i)
        room -= size
    return files


def header(items: Sequence[Item], save_id: bytes) -> bytes:
    """The safetensors header, padded with spaces so that the data begins at a multiple of 4096."""
    metadata = json.dumps({"graftax": "1", "save_id": save_id.hex()})
    parts = [f'{{"__metadata__":{metadata}']
    begin = 0
    for dtype, shape, name, data in items:
        end = begin + len(data)
        seen = list(stored_shape(dtype, shape))
        parts.append(
            f'{json.dumps(name)}:{{"dtype":"{DTYPES[dtype].stored}","shape":{seen},"data_offsets":[{begin},{end}]}}'
        )
        begin = end
    text = (",".join(parts) + "}").encode()
    size = -(-(8 + len(text)) // PAGE) * PAGE
    return (size - 8).to_bytes(8, "little") + text.ljust(size - 8)


def entry(dtype: str, shape: Shape, offset: int) -> dict[str, Any]:
    """How an array is described in the header."""
    return {
        "dtype": DTYPES[dtype].stored,
        "shape": list(stored_shape(dtype, shape)),
        "data_offsets": [offset, offset + nbytes(dtype, shape)],
    }


def header_entries(index: Index, file: int) -> dict[str, Any]:
    """What the header of a file must say, but for its metadata."""
    begin = index.files[file].data_begin
    return {
        chunk_name(t.name, t.shape, chunk): entry(t.dtype, chunk.extent, chunk.offset - begin)
        for t in index.tensors
        for chunk in t.chunks
        if chunk.file == file
    }


def chunk_name(name: str, shape: Shape, chunk: Chunk) -> str:
    """The name under which other tools see a chunk: that of the array if the chunk is all of it."""
    return name if chunk.extent == shape else f"{name}#{','.join(map(str, chunk.start))}"
