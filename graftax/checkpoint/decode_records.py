"""Decoding single records of an index: an array, a node or a slot, from decoded msgpack to a checked record.

Properties of all records together (no two arrays share bytes, names are unique, all slots can be reached) are checked
in `graftax.checkpoint.decode`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from graftax.checkpoint import values
from graftax.checkpoint.boxes import check_tiling
from graftax.checkpoint.chunk_tables import ChunkTable, TabledChunks
from graftax.checkpoint.damaged import FORGED, corrupt_error
from graftax.checkpoint.dtypes import DTYPES
from graftax.checkpoint.dtypes import nbytes as bytes_of
from graftax.checkpoint.index import Chunk, Edge, FileRecord, Kind, NodeRecord, SlotRecord, TensorRecord
from graftax.core.errors import LimitExceeded
from graftax.core.typedefs import Shape

MAX_RANK = 32
MAX_DIMENSION = 1 << 63
MAX_EDGE = 4096
_KINDS = tuple(Kind)
_VARIABLE = _KINDS.index(Kind.VARIABLE)


class ArrayDecoder:
    """The decoder of records of arrays.

    Args:
        files: The data files.
        block: The size of a checksum block in bytes.
        tables: The chunk tables, if the chunks are not in the index.
    """

    def __init__(self, files: Sequence[FileRecord], block: int, tables: Sequence[ChunkTable]) -> None:
        self._files = files
        self._block = block
        self._tables = tables
        self._known: dict[Shape, Shape] = {}  # shapes already checked, since many arrays have equal shapes
        self._alike: dict[Any, _Alike] = {}  # by dtype, layout and shape: arrays of one chunk that were checked before

    def record(self, raw: object, number: int) -> TensorRecord:
        """Return the checked record of an array.

        Args:
            raw: The decoded msgpack value.
            number: The number of the array in the index.

        Raises:
            CorruptMetadata: the record is invalid.
            LimitExceeded: it has more axes than any array.
        """
        if type(raw) is not list or len(raw) != 6:
            raise corrupt_error("an array record", "it must be [dtype, shape, layout, chunks, sharding, name]")
        dtype, shape, layout, chunks, sharding, name = raw
        if type(shape) is type(chunks) is list and len(chunks) == 1 and sharding is None and type(name) is str:
            try:
                alike = self._alike.get((dtype, layout, *shape))
            except TypeError:  # something in it has no hash: the checks below say what
                alike = None
            if alike is not None and (chunk := self._decode_alike(chunks[0], shape, alike)) is not None:
                return TensorRecord(dtype, alike.shape, layout, (chunk,), None, name)
        if type(name) is not str or type(dtype) is not str or (chunks is not None) is bool(self._tables):
            raise corrupt_error(
                "an array record", "its dtype and name must be text, and its chunks an array, or in tables"
            )
        kind = DTYPES.get(dtype)
        if kind is None or layout != kind.layout:
            raise corrupt_error(
                f"array {name!r:.200} of dtype {dtype!r:.40}, layout {layout!r:.40}",
                "there is no such dtype with this layout",
            )
        shape = _shape(shape, name, self._known)
        if sharding is not None:
            values.check(sharding, "sharding")
        if self._tables:
            rows = TabledChunks(self._tables, self._files, number, self._block)
            rows.record = TensorRecord(dtype, shape, layout, rows, sharding, name)
            return rows.record
        if type(chunks) is not list:
            raise corrupt_error(f"array {name!r:.200}", "its chunks must be an array")
        checked = tuple([_chunk(chunk, name, shape, dtype, self._files, self._block, self._known) for chunk in chunks])
        if len(checked) != 1 or checked[0].extent is not shape or any(checked[0].start):
            check_tiling(name, shape, [(chunk.start, chunk.extent) for chunk in checked])
        elif all(type(size) is int for size in raw[1]):  # True is 1 to a dict
            [chunk] = checked
            self._alike[dtype, layout, *shape] = _Alike(
                shape, chunk.start, list(chunk.start), chunk.nbytes, len(chunk.sums)
            )
        return TensorRecord(dtype, shape, layout, checked, sharding, name)

    def _decode_alike(self, raw: object, shape: list[Any], alike: "_Alike") -> Chunk | None:
        """Return the chunk if it is all of an array like others that were checked, in place of a dozen checks."""
        if type(raw) is not list or len(raw) != 6:
            return None
        file, offset, nbytes, start, extent, sums = raw
        if extent != shape or start != alike.zeros or nbytes != alike.nbytes or type(sums) is not bytes:
            return None
        if not type(file) is type(offset) is type(nbytes) is int or not 0 <= file < len(self._files):
            return None
        _, size, begin, _, _ = self._files[file]
        if len(sums) != alike.sums or not begin <= offset <= size - nbytes:
            return None
        return Chunk(file, offset, nbytes, alike.start, alike.shape, sums)


class _Alike(NamedTuple):
    """What arrays of one dtype, layout and shape have in common when they are one chunk."""

    shape: Shape
    start: Shape
    zeros: list[int]
    nbytes: int
    sums: int


def _shape(raw: object, label: str, checked: dict[Shape, Shape]) -> Shape:
    """Return the checked shape. ``checked`` has those that were checked before: many arrays are alike."""
    if type(raw) is not list:
        raise corrupt_error(f"array {label!r:.200}", "its shape must be an array of sizes")
    shape = tuple(raw)
    try:
        return checked[shape]
    except (KeyError, TypeError):
        pass
    if not all(type(n) is int and 0 <= n < MAX_DIMENSION for n in shape):
        raise corrupt_error(f"array {label!r:.200}", "its shape must be an array of sizes below 2**63")
    if len(shape) > MAX_RANK:
        raise LimitExceeded(f"array {label!r:.200} with {len(shape)} axes", f"at most {MAX_RANK} axes are read", FORGED)
    return checked.setdefault(shape, shape)


def _chunk(
    raw: object,
    name: str,
    shape: Shape,
    dtype: str,
    files: Sequence[FileRecord],
    block: int,
    checked: dict[Shape, Shape],
) -> Chunk:
    if type(raw) is not list or len(raw) != 6:
        raise corrupt_error(f"a chunk of {name!r:.200}", "it must be [file, offset, nbytes, start, extent, sums]")
    file, offset, nbytes, start, extent, sums = raw
    if not type(file) is type(offset) is type(nbytes) is int or type(sums) is not bytes or not 0 <= file < len(files):
        raise corrupt_error(
            f"a chunk of {name!r:.200}",
            "its file must be one of those that are listed, its place in the file a number, and its checksums bytes",
        )
    _, size, begin, _, _ = files[file]
    if not (begin <= offset and nbytes >= 0 and offset + nbytes <= size):
        raise corrupt_error(f"a chunk of {name!r:.200}", f"it lies outside of the data of {files[file].name}")
    start, extent = _shape(start, name, checked), _shape(extent, name, checked)
    if len(start) != len(shape) or len(extent) != len(shape) or nbytes != bytes_of(dtype, extent):
        raise corrupt_error(
            f"a chunk of {name!r:.200}", f"its {nbytes} bytes are not those of {dtype} of shape {extent}"
        )
    if len(sums) != 8 * -(-nbytes // block):
        raise corrupt_error(f"a chunk of {name!r:.200}", "it must have one checksum for each block")
    return Chunk(file, offset, nbytes, start, extent, sums)


def node_record(raw: object, count: int, tensors: Sequence[TensorRecord]) -> NodeRecord:
    """Return the checked record of a node.

    Args:
        raw: The decoded msgpack value.
        count: How many nodes there are.
        tensors: The arrays.

    Raises:
        CorruptMetadata: the record is invalid.
        LimitExceeded: the name of an edge is longer than any attribute.
    """
    if type(raw) is not list or len(raw) != 4:
        raise corrupt_error("a node", "it must be [kind, type, edges, payload]")
    number, name, edges, payload = raw
    if type(number) is int and number == _VARIABLE and edges == [] and _is_plain_variable(name, payload, len(tensors)):
        return NodeRecord(Kind.VARIABLE, name, (), tuple(payload))  # thousands of Variables take this way
    if type(number) is not int or not 0 <= number < len(_KINDS) or type(name) is not str or type(edges) is not list:
        raise corrupt_error("a node", "its kind must be 0 to 7, its type text, and its edges an array")
    kind = _KINDS[number]
    payload = _payload(kind, payload, tensors)
    if not edges:
        return NodeRecord(kind, name, (), payload)
    if kind.is_leaf:
        raise corrupt_error(f"a node of kind {kind.name.lower()} with edges", "this kind has no parts")
    checked = tuple([_edge(edge, kind, count) for edge in edges])
    if len({edge for edge, _ in checked}) != len(checked):
        raise corrupt_error("a node with two edges of one name", "names of edges must be unique")
    return NodeRecord(kind, name, checked, payload)


def _is_plain_variable(name: object, payload: object, count: int) -> bool:
    """Return True if it is the payload of a Variable that has an array, one of so many, and no attributes."""
    return (
        type(name) is str
        and type(payload) is list
        and len(payload) == 4
        and type(payload[0]) is int
        and 0 <= payload[0] < count
        and type(payload[1]) is bool
        and type(payload[2]) is str
        and type(payload[3]) is dict
        and not payload[3]
    )


def _payload(kind: Kind, payload: object, tensors: Sequence[TensorRecord]) -> Any:
    if kind is Kind.VARIABLE and type(payload) is list and len(payload) == 4:
        tensor, trainable, role, attributes = payload
        if attributes != {}:
            values.check(attributes, "the attributes of a variable")
        exists = tensor is None or (type(tensor) is int and 0 <= tensor < len(tensors))
        if exists and type(trainable) is bool and type(role) is str and type(attributes) is dict:
            return tensor, trainable, role, attributes
    elif kind is Kind.VALUE:
        values.check(payload, "a Python value", len(tensors))
        return payload
    elif kind is Kind.KEY or kind is Kind.BYTES:
        if type(payload) is list and len(payload) == 2 and type(payload[0]) is str:
            held = payload[1]
            found = tensors[held] if type(held) is int and 0 <= held < len(tensors) else None
            if found is not None and (kind is Kind.KEY or _is_raw(found)):
                return tuple(payload)
            if kind is Kind.BYTES and type(held) is bytes:
                return tuple(payload)
    elif kind is not Kind.VARIABLE and payload is None:
        return None
    elif kind is Kind.OBJECT and type(payload) is dict:
        values.check(payload, "the attributes of an object")
        return payload
    raise corrupt_error(
        f"a node of kind {kind.name.lower()}",
        "its payload does not fit its kind, or names an array that does not exist",
    )


def _is_raw(tensor: TensorRecord) -> bool:
    return tensor.dtype == "uint8" and len(tensor.shape) == 1


def _edge(raw: object, kind: Kind, count: int) -> tuple[Edge, int]:
    if type(raw) is not list or len(raw) != 2 or type(raw[1]) is not int or not 0 <= raw[1] < count:
        raise corrupt_error("an edge", "it must be [name, node], with a node that exists")
    edge, child = raw
    if kind is Kind.DICT and type(edge) is list and len(edge) == 2 and edge[0] == 1 and type(edge[1]) is int:
        return edge[1], child
    if kind is Kind.LIST or kind is Kind.TUPLE:
        if type(edge) is int and edge >= 0:
            return edge, child
    elif type(edge) is str:
        check_edge(edge)
        return edge, child
    raise corrupt_error(
        f"the edge {edge!r:.80} of a {kind.name.lower()}",
        "edges of lists are indices, those of objects names, and those of dicts keys",
    )


def check_edge(edge: str) -> None:
    """Raise LimitExceeded if an edge is longer than any attribute or key."""
    if len(edge) > MAX_EDGE or len(edge.encode()) > MAX_EDGE:
        raise LimitExceeded(
            f"the name of an edge with {len(edge):,} characters", f"at most {MAX_EDGE:,} bytes are read", FORGED
        )


def slot_record(raw: object, count: int) -> SlotRecord:
    """Return the record of a slot. Everything is checked, except the kinds of the nodes that it refers to.

    Args:
        raw: The decoded msgpack value.
        count: How many nodes there are.

    Raises:
        CorruptMetadata: the record is invalid.
        LimitExceeded: the name is longer than that of any slot.
    """
    if type(raw) is not list or [type(field) for field in raw] != [int, str, int, int]:
        raise corrupt_error("a slot", "it must be [optimizer, name, variable, slot]")
    slot = SlotRecord(*raw)
    if not all(0 <= node < count for node in (slot.optimizer, slot.variable, slot.slot)):
        raise corrupt_error(f"slot {slot.name!r:.200}", "it names a node that does not exist")
    check_edge(slot.name)
    return slot
