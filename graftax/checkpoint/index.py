"""The records of the index of a checkpoint: files, arrays and the object graph, without the values of arrays.

Records are named tuples, which are fast to create: an index has tens of thousands of them.
"""

from collections.abc import Sequence
from enum import IntEnum
from math import prod
from typing import Any, NamedTuple, TypeAlias

from graftax.checkpoint import values
from graftax.checkpoint.checksums import BLOCK, DEFAULT
from graftax.checkpoint.dtypes import DTYPES
from graftax.core.typedefs import Shape

FORMAT = "graftax.checkpoint"
FEATURES: frozenset[str] = frozenset()
"""Features of later versions that this reader understands."""

Edge: TypeAlias = "str | int"
"""An edge of the object graph: an attribute name, a list index, or a dict key."""


class Kind(IntEnum):
    """The kind of a node of the object graph."""

    OBJECT = 0
    VARIABLE = 1
    LIST = 2
    TUPLE = 3
    DICT = 4
    VALUE = 5
    KEY = 6
    BYTES = 7

    @property
    def is_leaf(self) -> bool:
        """Return True if nodes of the kind hold a value and have no children."""
        return self is Kind.VARIABLE or self > Kind.DICT


class FileRecord(NamedTuple):
    """A data file: its name, size, the offset of its data, and the checksum of the header before that.

    ``target`` is the checkpoint beside this one that the file belongs to, if it belongs to another.
    """

    name: str
    size: int
    data_begin: int
    header_sum: int
    target: str | None = None

    @property
    def place(self) -> str:
        """Return the name of the file, after that of the other checkpoint if it belongs to one."""
        return self.name if self.target is None else f"{self.target}/{self.name}"


class TableRecord(NamedTuple):
    """A file with a table of chunks, for indexes that would be too large: its name and size."""

    name: str
    size: int


class Chunk(NamedTuple):
    """A box of an array and the bytes that hold it. ``offset`` counts from the beginning of the file."""

    file: int
    offset: int
    nbytes: int
    start: Shape
    extent: Shape
    sums: bytes


class TensorRecord(NamedTuple):
    """An array. ``name`` is the name that other tools see."""

    dtype: str
    shape: Shape
    layout: str
    chunks: Sequence[Chunk]
    sharding: Any
    name: str

    @property
    def nbytes(self) -> int:
        """Return the number of bytes on disk. Each of several chunks begins at a full byte."""
        if type(self.chunks) is tuple:
            return sum([chunk.nbytes for chunk in self.chunks])
        return self.bytes_of(self.shape)

    def bytes_of(self, extent: Shape) -> int:
        """Return the number of bytes of a box in a file."""
        return -(-prod(extent) * DTYPES[self.dtype].bits // 8)


class NodeRecord(NamedTuple):
    """A node. ``type`` is for display and never imported. ``payload`` depends on the kind.

    Variable: ``(tensor | None, trainable, role, attributes)``. Value: the value. Key: ``(implementation, tensor)``.
    Bytes: ``(codec, bytes | tensor)``. Object: attributes, or None for none. The others: None.

    Attributes of a Variable: ``adapter``, the name of the adapters that it is a part of; ``frozen`` and ``resting``,
    True if this is the reason why it is not trained; ``keeper``, of a slot: the class of optimizers that defines its
    meaning. Of an object: ``frozen``, True if Variables created below it are not trained; ``active``, of a weight that
    has adapters: the names of those in use, in their order; ``facts``, what may be missing, such as settings.
    """

    kind: Kind
    type: str
    edges: tuple[tuple[Edge, int], ...]
    payload: Any = None

    @property
    def tensor(self) -> int | None:
        """Return the array of the node, or None."""
        if self.kind is Kind.VARIABLE:
            found: int | None = self.payload[0]
            return found
        if self.kind is Kind.KEY or (self.kind is Kind.BYTES and type(self.payload[1]) is int):
            return int(self.payload[1])
        return None

    @property
    def facts(self) -> dict[str, Any]:
        """Return what is kept of an object besides its contents; nothing for anything else."""
        attributes = self.payload if self.kind is Kind.OBJECT else None
        facts = attributes.get("facts") if isinstance(attributes, dict) else None
        return facts if isinstance(facts, dict) else {}

    @property
    def tensors(self) -> tuple[int, ...]:
        """Return all arrays of the node, including those inside of Python state."""
        if self.kind is Kind.VALUE:
            return tuple([array.number for array in values.arrays_in(self.payload)])
        return () if self.tensor is None else (self.tensor,)


class SlotRecord(NamedTuple):
    """A slot: the nodes of its optimizer, of its Variable and of the slot itself."""

    optimizer: int
    name: str
    variable: int
    slot: int


class Index(NamedTuple):
    """The content of ``graph.msgpack``. ``random`` is the saved state of the global seed, or None."""

    save_id: bytes
    created: int
    step: int | None
    writer: dict[str, str]
    files: tuple[FileRecord, ...]
    tensors: Sequence[TensorRecord]
    nodes: Sequence[NodeRecord]
    roots: dict[str, int]
    slots: Sequence[SlotRecord]
    meta: dict[str, Any]
    sum: str = DEFAULT
    block: int = BLOCK
    tables: tuple[TableRecord, ...] = ()
    random: Any = None

    @property
    def nbytes(self) -> int:
        """Return the number of bytes of its own data files."""
        return sum(file.size for file in self.files if file.target is None)

    @property
    def targets(self) -> tuple[str, ...]:
        """Return the names of the other checkpoints that it refers to."""
        return tuple(dict.fromkeys(file.target for file in self.files if file.target is not None))


def encode(index: Index) -> bytes:
    """Return the msgpack body of an index.

    Raises:
        UnsupportedValue: a Python value in it cannot be saved.
    """
    return values.pack(
        {
            **head_entries(index),
            "tensors": [(*t[:3], None, *t[4:]) for t in index.tensors] if index.tables else index.tensors,
            "nodes": [wire(node) for node in index.nodes],
            "roots": index.roots,
            "slots": index.slots,
            **tail_entries(index),
        }
    )


def head_entries(index: Index) -> dict[str, Any]:
    """Return the entries that come before the arrays and the graph, in the terms that `values.pack` takes."""
    return {
        "format": FORMAT,
        "features": [],
        "save_id": index.save_id,
        "created": index.created,
        "step": index.step,
        "writer": index.writer,
        "sum": index.sum,
        "block": index.block,
        "files": index.files,
        "tables": index.tables,
    }


def tail_entries(index: Index) -> dict[str, Any]:
    """Return the entries that come after them."""
    return {"meta": values.encode(index.meta, "meta"), "random": values.encode(index.random, "random")}


def wire(node: NodeRecord) -> NodeRecord:
    """Return a node in the terms that `values.pack` takes."""
    if node.kind is Kind.VALUE or (node.kind is Kind.OBJECT and node.payload is not None):
        return node._replace(payload=values.encode(node.payload, "state"))
    if node.kind is Kind.DICT:
        edges: Any = tuple(([1, edge] if type(edge) is int else edge, child) for edge, child in node.edges)
        return node._replace(edges=edges)
    return node
