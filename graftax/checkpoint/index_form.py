"""The index of a program that is saved again and again: what stays the same is encoded, and checked, only once.

From one save to the next, the arrays of a sketch keep their dtypes, shapes, names and places in the files, and most
nodes stay as they are. Only the checksums, the Python state and the head differ. A form is the encoded index with
blanks for these. A checksum has the same number of bytes whatever it is, so every filled form has the same structure
as the first one, which was decoded and checked as a whole.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from graftax.checkpoint import values
from graftax.checkpoint.checksums import BLOCK
from graftax.checkpoint.dtypes import DTYPES
from graftax.checkpoint.index import (
    Chunk,
    Index,
    NodeRecord,
    SlotRecord,
    TensorRecord,
    head_entries,
    tail_entries,
    wire,
)
from graftax.checkpoint.layout import Item, divide_into_files, header
from graftax.checkpoint.names import data_name
from graftax.core.typedefs import Shape

Added = tuple[tuple[str, Shape, str], ...]
"""The dtypes, shapes and names of the arrays of Python state, which may differ from save to save."""

_BLANK = bytes(16)


class FileForm(NamedTuple):
    """A data file: the positions of its items, and its header without the number of the save."""

    name: str
    size: int
    members: tuple[int, ...]
    blank_header: bytes

    def header(self, save_id: bytes) -> bytes:
        """Return the header of the file for this save."""
        return self.blank_header.replace(_BLANK.hex().encode(), save_id.hex().encode(), 1)


class IndexForm:
    """The encoded index of a sketch, with blanks for what differs from save to save.

    Args:
        items: The arrays, each of them whole.
        nodes: The nodes.
        slots: The slots.
        states: The numbers of the nodes that hold Python state, in ascending order.
        fixed: How many of the items are not part of Python state; these are the first ones.
        first_file: The number of the first data file.
    """

    def __init__(
        self,
        items: Sequence[Item],
        nodes: Sequence[NodeRecord],
        slots: Sequence[SlotRecord],
        states: Sequence[int],
        fixed: int,
        first_file: int,
    ) -> None:
        self._fixed = fixed
        self._first_file = first_file
        self._count = len(nodes)
        self._states = states
        self.added = list_added_arrays(items, fixed)
        self.files: list[FileForm] = []
        chunks: dict[int, Chunk] = {}
        for number, members in enumerate(divide_into_files(items), first_file):
            group = [items[i] for i in members]
            head = header(group, _BLANK)
            offset = len(head)
            for i, item in zip(members, group, strict=True):
                size = item.nbytes
                chunks[i] = Chunk(len(self.files), offset, size, *item.box, bytes(8 * -(-size // BLOCK)))
                offset += size
            self.files.append(FileForm(data_name(0, number), offset, tuple(members), head))
        self._encode_tensors(items, chunks)
        self._runs = _runs(nodes, states)
        self._slots = values.pack(slots)

    def _encode_tensors(self, items: Sequence[Item], chunks: Mapping[int, Chunk]) -> None:
        """Encode the arrays with blank checksums, and note where these are, in the order of the files."""
        parts = [values.list_head(len(items))]
        end = len(parts[0])
        places: dict[int, slice] = {}
        for i, item in enumerate(items):
            chunk = chunks[i]
            parts.append(
                values.pack(TensorRecord(item.dtype, item.shape, DTYPES[item.dtype].layout, (chunk,), None, item.name))
            )
            end += len(parts[-1])
            stop = end - len(values.pack(item.name)) - len(values.pack(None))  # what follows the checksums
            places[i] = slice(stop - len(chunk.sums), stop)
        self._blank_tensors = b"".join(parts)
        self._places = [places[i] for file in self.files for i in file.members]

    def fits(self, items: Sequence[Item], first_file: int) -> bool:
        """Return True if a draft of the same sketch has the same arrays in its Python state as this form."""
        return self._first_file == first_file and self.added == list_added_arrays(items, self._fixed)

    def fill(self, index: Index, sums: Sequence[bytes]) -> bytes:
        """Return the msgpack body of an index, the same that `graftax.checkpoint.index.encode` gives.

        Args:
            index: The index without arrays and slots. Of its nodes, only those with Python state are used.
            sums: The checksums of the arrays, in the order of the files.
        """
        tensors = bytearray(self._blank_tensors)
        view = memoryview(tensors)  # whose length nothing can change
        for place, found in zip(self._places, sums, strict=True):
            view[place] = found
        nodes = [values.list_head(self._count), self._runs[0]]
        for number, run in zip(self._states, self._runs[1:], strict=True):
            nodes += [values.pack(wire(index.nodes[number])), run]
        head, tail = head_entries(index), tail_entries(index)
        return b"".join(
            [
                values.map_head(len(head) + len(tail) + 4),
                _entries(head),
                *(values.pack("tensors"), tensors),
                *(values.pack("nodes"), *nodes),
                *(values.pack("roots"), values.pack(index.roots)),
                *(values.pack("slots"), self._slots),
                _entries(tail),
            ]
        )


class KeptForm:
    """The form that all saves of one sketch share.

    Args:
        items: The arrays of the sketch, without those of Python state.
        states: The numbers of the nodes that hold Python state.

    ``fixed`` is the number of these arrays, and ``nbytes`` their size. ``last`` is the last form that was decoded and
    checked as a whole; None before the first save.
    """

    __slots__ = ("fixed", "last", "nbytes", "states")

    def __init__(self, items: Sequence[Item], states: Sequence[int]) -> None:
        self.fixed = len(items)
        self.nbytes = sum(item.nbytes for item in items)
        self.states = states
        self.last: IndexForm | None = None

    def find_form(self, items: Sequence[Item], first_file: int) -> IndexForm | None:
        """Return the form that was checked before, if these items fit into it."""
        form = self.last
        return form if form is not None and form.fits(items, first_file) else None

    def make_form(
        self, items: Sequence[Item], nodes: Sequence[NodeRecord], slots: Sequence[SlotRecord], first_file: int
    ) -> IndexForm:
        """Return a new form."""
        return IndexForm(items, nodes, slots, self.states, self.fixed, first_file)


def list_added_arrays(items: Sequence[Item], fixed: int) -> Added:
    """Return what a form has to know about the arrays of Python state."""
    return tuple([(item.dtype, item.shape, item.name) for item in items[fixed:]])


def _runs(nodes: Sequence[NodeRecord], states: Sequence[int]) -> list[bytes]:
    """Return the encoded nodes between those that hold Python state."""
    bounds = zip([0, *(number + 1 for number in states)], [*states, len(nodes)], strict=True)
    return [b"".join([values.pack(wire(node)) for node in nodes[first:last]]) for first, last in bounds]


def _entries(entries: Mapping[str, Any]) -> bytes:
    return b"".join([values.pack(key) + values.pack(value) for key, value in entries.items()])
