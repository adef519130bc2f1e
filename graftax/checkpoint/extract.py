"""Extracting a self-contained checkpoint from another one, as a whole or in part, without the program that saved it."""

import os
from typing import NamedTuple

from graftax.checkpoint.commit import Draft, commit
from graftax.checkpoint.folder_names import check_folder_name
from graftax.checkpoint.index import Chunk, Index, Kind, NodeRecord, SlotRecord, TensorRecord
from graftax.checkpoint.layout import Item
from graftax.checkpoint.paths import node_paths, with_ancestors
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.state import renumber_arrays
from graftax.checkpoint.subset import RANDOM_SPOT, Subset, nothing_selected_error, saved_spots


class ExtractReport(NamedTuple):
    """What was written: where, how many arrays, how many bytes; and selected slots whose Variable was not selected."""

    path: str
    arrays: int
    nbytes: int
    left_out: tuple[str, ...] = ()


def extract(
    checkpoint: str | os.PathLike[str],
    path: str | os.PathLike[str],
    subset: Subset | None = None,
    *,
    overwrite: bool = False,
) -> ExtractReport:
    """Write the selected part of a checkpoint as a new one, which refers to no other.

    Every block is checked while it is copied.

    Args:
        checkpoint: The checkpoint.
        path: The directory to create.
        subset: The part to select. Slots are selected with their optimizer and their Variable. Defaults to all.
        overwrite: Replace an existing checkpoint.

    Raises:
        CorruptCheckpoint: it is damaged, or one that it refers to is missing or has changed.
        SelectorError: a selector matches nothing.
        DestinationExists: something exists at the path already.
        ArgumentError: the path has the ending of another format.
    """
    check_folder_name(path)
    subset = subset or Subset()
    with Reader(checkpoint) as reader:
        reader.check_files()
        part = _Part(reader, subset)
        index = commit(path, part.draft(), overwrite=overwrite)
    return ExtractReport(os.fspath(path), len(index.tensors), index.nbytes, part.left_out)


def part_of(reader: Reader, subset: Subset) -> Draft:
    """Return the selected part of an open checkpoint as a draft; each array is read when it is written."""
    reader.check_files()
    return _Part(reader, subset).draft()


class _Part:
    """The nodes that are kept, with new numbers."""

    def __init__(self, reader: Reader, subset: Subset) -> None:
        self._reader = reader
        self._index: Index = reader.index
        index, paths = self._index, node_paths(self._index)
        slots = {slot.slot: slot for slot in index.slots}
        spots = saved_spots(index)
        has_random = index.random is not None and RANDOM_SPOT in subset
        subset.check(spots.values())
        chosen = {node for node, spot in spots.items() if spot in subset and node not in slots}
        edges = [(i, child) for i, node in enumerate(index.nodes) for _, child in node.edges]
        reached = with_ancestors(chosen, edges)
        if subset.is_all:
            reached |= set(paths) - set(slots)
        selected = [slot for slot in index.slots if slot.slot in spots and spots[slot.slot] in subset]
        self._slots = [slot for slot in selected if slot.variable in reached]
        self.left_out = tuple([paths[slot.slot] for slot in selected if slot.variable not in reached])
        reached |= {slot.slot for slot in self._slots}
        reached |= with_ancestors({slot.optimizer for slot in self._slots}, edges)  # without its counts, if need be
        if not reached:
            shown = f"graftax ckpt show {reader.path}, which lists the paths"
            raise nothing_selected_error(f"nothing to extract from {reader.path}", self.left_out, shown)
        self._nodes = {node: i for i, node in enumerate(sorted(reached))}
        self._random = index.random if has_random else None
        self._items: list[Item] = []
        self._tensors: dict[int, int] = {}

    def draft(self) -> Draft:
        """Return the part as a draft, whose arrays are read when they are written."""
        index = self._index
        for node in self._nodes:
            for tensor in index.nodes[node].tensors:
                self._tensor(tensor)
        nodes = [self._node(index.nodes[node]) for node in self._nodes]
        roots = {name: self._nodes[node] for name, node in index.roots.items() if node in self._nodes}
        number = self._nodes
        slots = [SlotRecord(number[s.optimizer], s.name, number[s.variable], number[s.slot]) for s in self._slots]
        return Draft(self._items, nodes, roots, slots, index.step, index.meta, index.writer, self._random)

    def _tensor(self, number: int) -> None:
        if number in self._tensors:
            return
        self._tensors[number] = len(self._tensors)
        record = self._index.tensors[number]
        whole = None if len(record.chunks) == 1 else record.shape
        for chunk in record.chunks:
            start = None if whole is None else chunk.start
            self._items.append(
                Item(record.dtype, chunk.extent, record.name, _Bytes(self._reader, record, chunk), start, whole)
            )

    def _node(self, node: NodeRecord) -> NodeRecord:
        edges = tuple([(edge, self._nodes[child]) for edge, child in node.edges if child in self._nodes])
        payload = node.payload
        if node.kind is Kind.VARIABLE and payload[0] is not None:
            payload = (self._tensors[payload[0]], *payload[1:])
        elif node.kind is Kind.VALUE:
            payload = renumber_arrays(payload, self._tensors)
        elif node.tensor is not None:
            payload = (payload[0], self._tensors[node.tensor])
        return node._replace(edges=edges, payload=payload)


class _Bytes:
    """The bytes of a chunk, which are read and checked when the object is called."""

    def __init__(self, reader: Reader, record: TensorRecord, chunk: Chunk) -> None:
        self._reader = reader
        self._record = record
        self._chunk = chunk

    def __call__(self) -> memoryview:
        data = memoryview(bytearray(self._chunk.nbytes))
        self._reader.read_into(data, self._chunk.file, self._chunk.offset)
        self._reader.check(data, self._chunk, self._record.name)
        return data
