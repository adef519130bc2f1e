"""The index of a checkpoint, as records: files, arrays, the object graph; all that is known before data is read.

Records are named tuples, since an index has tens of thousands of them.
"""

from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

from graftax.checkpoint import values
from graftax.checkpoint.checksums import BLOCK, DEFAULT
from graftax.core.typedefs import Shape

FORMAT = "graftax.checkpoint"
FEATURES: frozenset[str] = frozenset()
"""Features of later versions that this reader understands."""

Edge: TypeAlias = "str | int"
"""An attribute name, a list index, or a dict key."""


class Kind(IntEnum):
    """What a node of the object graph is."""

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
        """True if nodes of the kind hold a value and have no children."""
        return self is Kind.VARIABLE or self > Kind.DICT


class FileRecord(NamedTuple):
    """A data file: its name, size, where its data begins, and the checksum of all before that."""

    name: str
    size: int
    data_begin: int
    header_sum: int


class Chunk(NamedTuple):
    """A box of an array and the bytes that hold it; ``offset`` counts from the beginning of the file."""

    file: int
    offset: int
    nbytes: int
    start: Shape
    extent: Shape
    sums: bytes


class TensorRecord(NamedTuple):
    """An array; ``name`` is the one that other tools see."""

    dtype: str
    shape: Shape
    layout: str
    chunks: tuple[Chunk, ...]
    sharding: Any
    name: str

    @property
    def nbytes(self) -> int:
        """Bytes on disk."""
        return sum(chunk.nbytes for chunk in self.chunks)


class NodeRecord(NamedTuple):
    """A node; ``type`` is for display and never imported. ``payload`` depends on the kind.

    Variable: ``(tensor | None, trainable, role, attributes)``. Value: the value. Key: ``(implementation, tensor)``.
    Bytes: ``(codec, bytes | tensor)``. Object: attributes, or None for none. The others: None.

    Attributes of a Variable: ``adapter``, the name of the adapters that it is a part of; ``frozen`` and ``resting``,
    True if that is why it is not trained; ``keeper``, of a slot: the class of optimizers that gives it its meaning.
    Of an object: ``frozen``, True if what is made below it is not trained.
    """

    kind: Kind
    type: str
    edges: tuple[tuple[Edge, int], ...]
    payload: Any = None

    @property
    def tensor(self) -> int | None:
        """The array that the node holds, if it does."""
        if self.kind is Kind.VARIABLE:
            found: int | None = self.payload[0]
            return found
        if self.kind is Kind.KEY or (self.kind is Kind.BYTES and type(self.payload[1]) is int):
            return int(self.payload[1])
        return None


class SlotRecord(NamedTuple):
    """A slot: nodes of the optimizer, of the variable it belongs to and of the slot itself."""

    optimizer: int
    name: str
    variable: int
    slot: int


class Index(NamedTuple):
    """All of ``graph.msgpack``; ``random`` is the global seed as `RandomState.get_state` gives it, or None."""

    save_id: bytes
    created: int
    step: int | None
    writer: dict[str, str]
    files: tuple[FileRecord, ...]
    tensors: tuple[TensorRecord, ...]
    nodes: tuple[NodeRecord, ...]
    roots: dict[str, int]
    slots: tuple[SlotRecord, ...]
    meta: dict[str, Any]
    sum: str = DEFAULT
    block: int = BLOCK
    random: Any = None

    @property
    def nbytes(self) -> int:
        """Bytes of the data files."""
        return sum(file.size for file in self.files)


def encode(index: Index) -> bytes:
    """The msgpack body of an index.

    Raises:
        UnsupportedValue: a Python value in it cannot be saved.
    """
    return values.pack(
        {
            "format": FORMAT,
            "features": [],
            "save_id": index.save_id,
            "created": index.created,
            "step": index.step,
            "writer": index.writer,
            "sum": index.sum,
            "block": index.block,
            "files": index.files,
            "tensors": index.tensors,
            "nodes": [_wire(node) for node in index.nodes],
            "roots": index.roots,
            "slots": index.slots,
            "meta": values.encode(index.meta, "meta"),
            "random": values.encode(index.random, "random"),
        }
    )


def _wire(node: NodeRecord) -> NodeRecord:
    """A node in the terms that `values.pack` takes."""
    if node.kind is Kind.VALUE:
        return node._replace(payload=values.encode(node.payload, "state"))
    if node.kind is Kind.DICT:
        edges: Any = tuple(([1, edge] if type(edge) is int else edge, child) for edge, child in node.edges)
        return node._replace(edges=edges)
    return node
