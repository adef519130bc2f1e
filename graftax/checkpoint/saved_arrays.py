"""The arrays of a checkpoint by path, without a program: each is read at its first access, as a whole or in part."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from types import TracebackType
from typing import Any

import numpy as np

from graftax.backend.host import host_dtype
from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.index import Chunk, Index, Kind, TensorRecord
from graftax.checkpoint.loading import load, rows, values_of
from graftax.checkpoint.nearest import nearest
from graftax.checkpoint.paths import find_edge, node_paths
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.state import revive
from graftax.checkpoint.subscripts import bounds, index_within, intersects
from graftax.checkpoint.uncollected import uncollected
from graftax.core.argument_kinds import checked_flag
from graftax.core.errors import ArgumentError, MissingArray, StateError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Shape

_FEW = 512  # nodes; smaller indexes are decoded at once


class SavedArrays(Mapping[str, HostArray]):
    """A checkpoint as a mapping of paths, including slots of optimizers, to NumPy arrays, which are read on access.

    Created by `graftax.checkpoint.read`. Every array that is read is checked against its checksums. If an overwrite
    replaces the checkpoint meanwhile, the one that was opened is still read. Close it, or use it in a ``with`` block.
    """

    @uncollected()
    def __init__(self, path: str | os.PathLike[str], mmap: bool) -> None:
        self._reader = Reader(path, lazily=True)
        self._maps: dict[int, HostArray] | None = None
        try:
            self._reader.check_files()
            if mmap:
                self._maps = _maps(self._reader)
            if self._reader.index.tables or len(self._reader.index.nodes) < _FEW:
                self._reader.complete()
        except BaseException:
            self._reader.close()
            raise
        self._is_open = True

    @property
    def index(self) -> Index:
        """Return all that the checkpoint says besides values."""
        self._open().complete()
        return self._open().index

    @cached_property
    def _nodes(self) -> dict[str, int]:
        """Return the nodes of all arrays, by their paths."""
        with uncollected():
            self._reader.complete()
            index = self._reader.index
            return {path: node for node, path in node_paths(index).items() if index.nodes[node].tensor is not None}

    @property
    def path(self) -> str:
        """The path of the checkpoint."""
        return self._reader.path

    @property
    def step(self) -> int | None:
        """The training step that was saved; None if there is none."""
        return self._reader.index.step

    @property
    def meta(self) -> dict[str, Any]:
        """The user's own values, see `Checkpoint.save`."""
        found: dict[str, Any] = revive(self._reader.index.meta, {})
        return found

    @property
    def state(self) -> dict[str, Any]:
        """The Python state by path, as `get_state` of the objects returned it."""
        self._open().complete()
        index = self._reader.index
        paths = {
            node: path for node, path in node_paths(index).items() if index.nodes[node].kind in (Kind.VALUE, Kind.BYTES)
        }
        values = values_of(self._reader, paths)
        return {path: values[node] for node, path in paths.items()}

    def __getitem__(self, path: str) -> HostArray:
        tensor = self._tensor(path)
        if self._maps is not None:
            whole: HostArray = self.get_slice(path)[...]
            return whole
        return load(self._open(), [tensor])[tensor]

    @door
    def get_slice(self, path: str) -> SavedArray:
        """Return an array that is read only when it is indexed, and only the selected part of it.

        Args:
            path: The path of the array.

        Raises:
            MissingArray: there is no such array.
        """
        return SavedArray(self, path, self._open().index.tensors[self._tensor(path)])

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self._find(path) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def __enter__(self) -> SavedArrays:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    @door
    def close(self) -> None:
        """Close the files. Arrays that were read stay valid, also with ``mmap=True``."""
        if self._is_open:
            self._is_open = False
            self._reader.close()

    def __repr__(self) -> str:
        return f"SavedArrays({self.path!r}, {len(self):,} arrays)"

    def _open(self) -> Reader:
        if not self._is_open:
            raise StateError(
                f"reading from {self.path}", "it was closed", "read inside of the with block, or do not close it"
            )
        return self._reader

    def _find(self, path: str) -> int | None:
        found = find_edge(self._reader.index, path)
        if found is not None and not self._reader.index.nodes[found[0]].kind.is_leaf:
            found = None
        node = self._nodes.get(path) if found is None else found[0]
        return None if node is None else self._reader.index.nodes[node].tensor

    def _tensor(self, path: str) -> int:
        tensor = self._find(path)
        if tensor is None:
            raise MissingArray(
                f"no array {path!r:.200} in {self.path}",
                f"paths are those of graftax ckpt show{nearest(str(path), self._nodes)}",
                "list(arrays) has them all",
            )
        return tensor

    def _bytes(self, file: int, offset: int, size: int) -> HostArray:
        if self._maps is None:
            found = np.empty(size, np.uint8)
            self._open().read_into(found.data, file, offset)
            return found
        return self._maps[file][offset : offset + size]

    def _rows(self, record: TensorRecord, chunk: Chunk, low: int, high: int) -> HostArray:
        return rows(self._open(), record, chunk, low, high, self._bytes)


def _maps(reader: Reader) -> dict[int, HostArray]:
    found = {}
    for file in range(len(reader.index.files)):
        mapped = reader.map_file(file)
        if mapped is None:
            raise ArgumentError(
                f"mmap=True for {reader.path}", "only files of a local disk can be mapped", "mmap=False"
            )
        found[file] = np.frombuffer(mapped, np.uint8)
    return found


class SavedArray:
    """One array of a checkpoint: its shape and dtype are known, and indexing reads only the selected values.

    Args:
        arrays: The open checkpoint.
        path: The path of the array.
        record: Its record in the index.
    """

    def __init__(self, arrays: SavedArrays, path: str, record: TensorRecord) -> None:
        self._arrays = arrays
        self._record = record
        self.path = path

    @property
    def shape(self) -> Shape:
        """The shape of the array."""
        return self._record.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._record.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the array."""
        return host_dtype(self._record.dtype)

    @property
    def nbytes(self) -> int:
        """The number of bytes on disk."""
        return self._record.nbytes

    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentError(f"len() of {self.path!r}", "its shape is ()", "arrays[path]")
        return self.shape[0]

    def __getitem__(self, index: object) -> Any:
        """Return a part, with the indices of NumPy; only the rows from the first to the last selected one are read."""
        box = bounds(index, self.shape)
        low, high = (box[0].start, box[0].stop) if box else (0, 1)
        parts = []
        for chunk in self._record.chunks:
            begin = chunk.start[0] if chunk.start else 0
            size = chunk.extent[0] if chunk.extent else 1
            if intersects(chunk.start, chunk.extent, box):
                first, last = max(low - begin, 0), min(high - begin, size)
                parts.append((chunk, begin + first, self._arrays._rows(self._record, chunk, first, last)))
        if len(parts) == 1 and len(self._record.chunks) == 1:
            ((_, first, found),) = parts
            return found[index_within(index, self.shape, first, len(found) if found.shape else 1)]
        whole = np.empty((high - low, *self.shape[1:]) if self.shape else (), self.dtype)
        for chunk, first, found in parts:
            place = [slice(s, s + e) for s, e in zip(chunk.start, chunk.extent, strict=True)]
            place[:1] = [slice(first - low, first - low + len(found))]
            whole[tuple(place)] = found
        return whole[index_within(index, self.shape, low, high - low)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> HostArray:
        return np.array(self[...], dtype, copy=copy)

    def __repr__(self) -> str:
        return f"SavedArray({self.path!r}, shape={self.shape}, dtype={self._record.dtype})"


@door
def read(path: str | os.PathLike[str], *, mmap: bool = False) -> SavedArrays:
    """Open a checkpoint as a mapping of paths to NumPy arrays, without the program that saved it.

    Paths are those that ``graftax ckpt show`` prints. Only the index is read at first; each array is read when it is
    accessed, and ``get_slice`` reads a part of one. Needs only NumPy, and no other backend.

    Args:
        path: The checkpoint, or a URL.
        mmap: Map the files into memory instead of copying from them: arrays are read-only, only accessed parts use
            memory, and they must not be used after the files have changed. Defaults to False.

    Raises:
        NotACheckpoint, IncompleteCheckpoint: there is no complete checkpoint at the path.
        CorruptCheckpoint, UnsafeCheckpoint: it is damaged, or must not be read.
        ArgumentError: ``mmap`` for a checkpoint that is not on a local disk.

    Example:
        >>> import os, tempfile
        >>> import graftax as gx
        >>> path = os.path.join(tempfile.mkdtemp(), "first")
        >>> _ = gx.Checkpoint(model={"w": gx.Variable([[1.0, 2.0], [3.0, 4.0]])}).save(path)
        >>> with gx.checkpoint.read(path) as arrays:
        ...     print(list(arrays), arrays["model/w"].sum(), arrays.get_slice("model/w")[1:])
        ['model/w'] 10.0 [[3. 4.]]
    """
    return SavedArrays(path, checked_flag("mmap", mmap))
