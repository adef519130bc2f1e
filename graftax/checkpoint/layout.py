"""The layout of data files: valid safetensors, with data at a multiple of 4096 bytes, so that backends need no copy.

Arrays whose size is a multiple of 64 bytes come first, in the order of the graph, so each is aligned to 64 bytes. The
others follow by descending item size. There is no padding between arrays, so other tools see only the saved names.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from graftax.checkpoint.dtypes import DTYPES, nbytes, read_stored_shape
from graftax.checkpoint.index import Chunk, Index
from graftax.core.typedefs import Shape

PAGE = 4096
MAX_FILE = 8 << 30
MAX_TENSORS = 1 << 16


class Item(NamedTuple):
    """An array, or a box of one, to be written.

    ``source`` is its bytes, or a function that returns them, so that they need not be on the host before they are
    written. A box begins at ``start`` in the array, whose shape is ``whole``; ``process`` is the one that writes it.
    """

    dtype: str
    shape: Shape
    name: str
    source: "memoryview | Callable[[], memoryview]"
    start: Shape | None = None
    whole: Shape | None = None
    process: int = 0

    @property
    def nbytes(self) -> int:
        """Return the number of bytes in the file."""
        return nbytes(self.dtype, self.shape)

    @property
    def data(self) -> memoryview:
        """Return the bytes."""
        return self.source if isinstance(self.source, memoryview) else self.source()

    @property
    def box(self) -> tuple[Shape, Shape]:
        """Start and extent in its array."""
        return self.start or (0,) * len(self.shape), self.shape


def divide_into_files(
    items: Sequence[Item], max_file: int = MAX_FILE, max_tensors: int = MAX_TENSORS
) -> list[list[int]]:
    """Return the items of each file, in order. Each process has files of its own."""
    sizes = [item.nbytes for item in items]

    def rank(i: int) -> tuple[int, int, int]:
        aligned = sizes[i] % 64 == 0
        return (items[i].process, 0, 0) if aligned else (items[i].process, 1, -DTYPES[items[i].dtype].bits)

    files: list[list[int]] = []
    room = -1
    for i in sorted(range(len(items)), key=rank):
        size = sizes[i]
        if room < size or len(files[-1]) >= max_tensors or items[files[-1][0]].process != items[i].process:
            files.append([])
            room = max(max_file, size)
        files[-1].append(i)
        room -= size
    return files


def header(items: Sequence[Item], save_id: bytes, more: Mapping[str, str] = MappingProxyType({})) -> bytes:
    """Return the safetensors header, padded with spaces so that the data begins at a multiple of 4096.

    Args:
        items: The arrays.
        save_id: The number of the save.
        more: Further metadata. Defaults to none.
    """
    metadata = json.dumps({"graftax": "1", "save_id": save_id.hex(), **more})
    parts = [f'{{"__metadata__":{metadata}']
    begin = 0
    for item in items:
        size, described = _header_part(item.dtype, item.shape)
        name = json.dumps(item.name if item.whole is None else box_name(item.name, item.whole, *item.box))
        parts.append(f'{name}:{{{described},"data_offsets":[{begin},{begin + size}]}}')
        begin += size
    text = (",".join(parts) + "}").encode()
    size = -(-(8 + len(text)) // PAGE) * PAGE
    return (size - 8).to_bytes(8, "little") + text.ljust(size - 8)


@lru_cache(maxsize=4096)
def _header_part(dtype: str, shape: Shape) -> tuple[int, str]:
    """Return the number of bytes in the file, and the part of the header that is equal for all such arrays."""
    return nbytes(dtype, shape), f'"dtype":"{DTYPES[dtype].stored}","shape":{list(read_stored_shape(dtype, shape))}'


def entry(dtype: str, shape: Shape, offset: int) -> dict[str, Any]:
    """Return the header entry of an array."""
    return {
        "dtype": DTYPES[dtype].stored,
        "shape": list(read_stored_shape(dtype, shape)),
        "data_offsets": [offset, offset + nbytes(dtype, shape)],
    }


def header_entries(index: Index, file: int) -> dict[str, Any]:
    """Return the expected header of a file, without its metadata."""
    begin = index.files[file].data_begin
    return {
        chunk_name(t.name, t.shape, chunk): entry(t.dtype, chunk.extent, chunk.offset - begin)
        for t in index.tensors
        for chunk in t.chunks
        if chunk.file == file
    }


def chunk_name(name: str, shape: Shape, chunk: Chunk) -> str:
    """Return the name of a chunk that other tools see."""
    return box_name(name, shape, chunk.start, chunk.extent)


def box_name(name: str, shape: Shape, start: Shape, extent: Shape) -> str:
    """Return the name of the array, followed by the start of the box unless the box is the whole array."""
    return name if extent == shape else f"{name}#{','.join(map(str, start))}"
