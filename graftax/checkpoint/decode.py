"""From untrusted bytes to an `Index`: every type, range and reference is checked here, before a byte of data is read.

The bytes that restoring may allocate can therefore never exceed the bytes on disk.
"""

from collections.abc import Callable
from math import prod
from typing import Any, NoReturn

from graftax.checkpoint import values
from graftax.checkpoint.boxes import check_tiling
from graftax.checkpoint.checksums import FUNCTIONS
from graftax.checkpoint.chunk_tables import ChunkTable, TabledChunks
from graftax.checkpoint.dtypes import DTYPES
from graftax.checkpoint.index import (
    FEATURES,
    FORMAT,
    Chunk,
    Edge,
    FileRecord,
    Index,
    Kind,
    NodeRecord,
    SlotRecord,
    TableRecord,
    TensorRecord,
)
from graftax.checkpoint.names import DATA, STAGING, TABLE
from graftax.checkpoint.uncollected import uncollected
from graftax.core.errors import CorruptMetadata, FormatTooNew, LimitExceeded, PathViolation
from graftax.core.typedefs import Shape

MAX_RANK = 32
MAX_DIMENSION = 1 << 63
MAX_EDGE = 4096
MAX_NODES = 4 << 20
MAX_EDGES = 8 << 20
_KINDS = tuple(Kind)
MAX_BLOCK = 64 << 20
MAX_TABLE = 1 << 30


def corrupt(what: str, why: str) -> NoReturn:
    """Raise CorruptMetadata."""
    raise CorruptMetadata(f"{what} in the index", why, "use another checkpoint; this one was damaged or forged")


ReadTable = Callable[[str, int, int], ChunkTable]
"""From the name and size of a chunk table, and the number of arrays, to the table."""


@uncollected()
def decode(body: bytes | memoryview, read_table: ReadTable | None = None) -> Index:
    """Return the checked index.

    Args:
        body: What was inside of the envelope.
        read_table: Gets chunk tables; without it there may be none.

    Raises:
        CorruptMetadata: something in it is wrong.
        LimitExceeded: something is larger or deeper than any checkpoint.
        PathViolation: a file name leads elsewhere.
        FormatTooNew: it needs a feature this version does not have.
    """
    top = values.unpack(body)
    if type(top) is not dict or top.get("format") != FORMAT:
        corrupt("no format name", f'a checkpoint says "{FORMAT}"')
    features = _list(top, "features")
    if not all(type(f) is str for f in features):
        corrupt("a feature that is not text", "features are names")
    unknown = [f for f in features if f not in FEATURES]
    if unknown:
        raise FormatTooNew(f"the features {unknown}", "this graftax does not know them", "update graftax to read it")
    save_id, created, step = top.get("save_id"), top.get("created"), top.get("step")
    if type(save_id) is not bytes or len(save_id) != 16:
        corrupt(f"save_id {save_id!r:.80}", "it has 16 bytes")
    if type(created) is not int or not (step is None or type(step) is int):
        corrupt("created or step", "they are integers, the step possibly nil")
    block, kind = top.get("block"), top.get("sum")
    if type(kind) is not str or kind not in FUNCTIONS or type(block) is not int or not 1 <= block <= MAX_BLOCK:
        corrupt("sum or block", f"known checksums are {', '.join(FUNCTIONS)}, over blocks of 1 to {MAX_BLOCK:,} bytes")
    writer = _dict(top, "writer")
    if not all(type(text) is str for text in writer.values()):
        corrupt("writer", "it maps text to text")
    meta = _dict(top, "meta")
    values.check(meta, "meta")
    random = top.get("random")  # files of before it was saved have none
    values.check(random, "random")
    files = _files(_list(top, "files"))
    tables = _tables(_list(top, "tables"))
    raw = _list(top, "tensors")
    if tables and read_table is None:
        corrupt("chunk tables", "they are files beside the index, which nobody reads here")
    opened = [read_table(table.name, table.size, len(raw)) for table in tables] if read_table is not None else []
    tensors = _tensors(raw, files, block, opened)
    if opened:
        areas = [(f.size - f.data_begin, f.target is None) for f in files]
        claimed = sum(sum(table.nbytes) for table in opened)
        if not sum(size for size, own in areas if own) <= claimed <= sum(size for size, _ in areas):
            corrupt("the sizes of chunks", "together they are not the data of the files")
    else:
        check_placement(files, tensors)
    nodes = _nodes(_list(top, "nodes"), tensors)
    roots = _dict(top, "roots")
    for name, node in roots.items():
        if type(node) is not int or not 0 <= node < len(nodes):
            corrupt(f"root {name!r}", "it names a node that does not exist")
        _check_edge(name)
    slots = _slots(_list(top, "slots"), nodes, roots)
    return Index(save_id, created, step, writer, files, tensors, nodes, roots, slots, meta, kind, block, tables, random)


def _list(top: dict[str, Any], key: str) -> list[Any]:
    found = top.get(key)
    if type(found) is not list:
        corrupt(f"{key!r} of type {type(found).__name__}", "it is an array")
    return found


def _dict(top: dict[str, Any], key: str) -> dict[str, Any]:
    found = top.get(key)
    if type(found) is not dict or not all(type(k) is str for k in found):
        corrupt(f"{key!r} of type {type(found).__name__}", "it is a map with text as keys")
    return found


def _files(raw: list[Any]) -> tuple[FileRecord, ...]:
    files = []
    for item in raw:
        if type(item) is not list or [type(field) for field in item[:4]] != [str, int, int, int] or len(item) != 5:
            corrupt("a file record", "it is [name, size, data_begin, header_sum, target]")
        file = FileRecord(*item)
        if file.target is not None:
            _check_target(file.target)
        if not DATA.fullmatch(file.name):
            raise PathViolation(
                f"a data file called {file.name!r:.200}",
                "a reader opens only names such as data-00000-00000.safetensors",
                "do not use this checkpoint: it was forged or made by something else",
            )
        if not 8 <= file.data_begin <= file.size < MAX_DIMENSION:
            corrupt(f"file {file.name}", f"its data cannot begin at {file.data_begin} of {file.size}")
        files.append(file)
    if len({file.place for file in files}) != len(files):
        corrupt("a data file listed twice", "each is listed once")
    return tuple(files)


def _check_target(target: object) -> None:
    if type(target) is not str or not is_target(target):
        raise PathViolation(
            f"a reference to a checkpoint called {target!r:.200}",
            "a reader follows references to checkpoints that lie beside this one, and to nothing else",
            "do not use this checkpoint: it was forged or made by something else",
        )


def is_target(name: str) -> bool:
    """Return True if a checkpoint beside another may be referred to by that name."""
    if not name or len(name.encode(errors="replace")) > 255 or name in (".", ".."):
        return False
    return not any(c in "/\\\0" for c in name) and STAGING.fullmatch(name) is None


def _tables(raw: list[Any]) -> tuple[TableRecord, ...]:
    tables = []
    for item in raw:
        if type(item) is not list or [type(field) for field in item] != [str, int]:
            corrupt("a chunk table", "it is [name, size]")
        table = TableRecord(*item)
        if not TABLE.fullmatch(table.name):
            raise PathViolation(f"a chunk table called {table.name!r:.200}", "a reader opens only names of its own")
        if not 0 <= table.size <= MAX_TABLE:
            raise LimitExceeded(f"{table.name} of {table.size:,} bytes", f"at most {MAX_TABLE:,} are read")
        tables.append(table)
    if len({table.name for table in tables}) != len(tables):
        corrupt("a chunk table listed twice", "each is listed once")
    return tuple(tables)


def _shape(raw: object, what: str, known: dict[Shape, Shape]) -> Shape:
    """Return the checked shape; ``known`` holds those already checked, since most arrays look like others."""
    if type(raw) is not list:
        corrupt(f"array {what!r:.200}", "a shape is an array of sizes")
    shape = tuple(raw)
    try:
        return known[shape]
    except (KeyError, TypeError):
        pass
    if not all(type(n) is int and 0 <= n < MAX_DIMENSION for n in shape):
        corrupt(f"array {what!r:.200}", "a shape is an array of sizes below 2**63")
    if len(shape) > MAX_RANK:
        raise LimitExceeded(f"array {what!r:.200} of rank {len(shape)}", f"the highest rank is {MAX_RANK}")
    return known.setdefault(shape, shape)


def _tensors(
    raw: list[Any], files: tuple[FileRecord, ...], block: int, tables: list[ChunkTable]
) -> tuple[TensorRecord, ...]:
    tensors: list[TensorRecord] = []
    known: dict[Shape, Shape] = {}
    for item in raw:
        if type(item) is not list or len(item) != 6:
            corrupt("an array record", "it is [dtype, shape, layout, chunks, sharding, name]")
        dtype, shape, layout, chunks, sharding, name = item
        if type(name) is not str or type(dtype) is not str or (chunks is not None) is bool(tables):
            corrupt("an array record", "its dtype and name are text, its chunks an array or in tables")
        kind = DTYPES.get(dtype)
        if kind is None or layout != kind.layout:
            corrupt(f"array {name!r:.200} of dtype {dtype!r:.40}, layout {layout!r:.40}", "there is no such pair")
        shape = _shape(shape, name, known)
        if sharding is not None:
            values.check(sharding, "sharding")
        if tables:
            rows = TabledChunks(tables, files, len(tensors), block)
            tensors.append(TensorRecord(dtype, shape, layout, rows, sharding, name))
            rows.record = tensors[-1]
            continue
        if type(chunks) is not list:
            corrupt(f"array {name!r:.200}", "its chunks are an array")
        checked = tuple([_chunk(chunk, name, shape, kind.bits, files, block, known) for chunk in chunks])
        if len(checked) != 1 or checked[0].extent is not shape or any(checked[0].start):
            check_tiling(name, shape, [(chunk.start, chunk.extent) for chunk in checked])
        tensors.append(TensorRecord(dtype, shape, layout, checked, sharding, name))
    if len({t.name for t in tensors}) != len(tensors):
        corrupt("two arrays of one name", "names are unique")
    return tuple(tensors)


def _chunk(
    raw: object,
    name: str,
    shape: Shape,
    bits: int,
    files: tuple[FileRecord, ...],
    block: int,
    known: dict[Shape, Shape],
) -> Chunk:
    if type(raw) is not list or len(raw) != 6:
        corrupt(f"a chunk of {name!r:.200}", "it is [file, offset, nbytes, start, extent, sums]")
    file, offset, nbytes, start, extent, sums = raw
    if not type(file) is type(offset) is type(nbytes) is int or type(sums) is not bytes or not 0 <= file < len(files):
        corrupt(f"a chunk of {name!r:.200}", "it names a file that does not exist, or has no place in it")
    _, size, begin, _, _ = files[file]
    if not (begin <= offset and nbytes >= 0 and offset + nbytes <= size):
        corrupt(f"a chunk of {name!r:.200}", f"it leaves the data of {files[file].name}")
    start, extent = _shape(start, name, known), _shape(extent, name, known)
    if len(start) != len(shape) or len(extent) != len(shape) or nbytes != -(-prod(extent) * bits // 8):
        corrupt(f"a chunk of {name!r:.200}", f"{nbytes} bytes do not hold shape {extent}")
    if len(sums) != 8 * -(-nbytes // block):
        corrupt(f"a chunk of {name!r:.200}", "it has not one checksum per block")
    return Chunk(file, offset, nbytes, start, extent, sums)


def check_placement(files: tuple[FileRecord, ...], tensors: tuple[TensorRecord, ...]) -> None:
    """Raise unless the chunks of each file fill its data area without hole or overlap.

    Holes are legal in the files of other checkpoints.
    """
    ranges: list[list[tuple[int, int]]] = [[] for _ in files]
    for tensor in tensors:
        for chunk in tensor.chunks:
            if chunk.nbytes:
                ranges[chunk.file].append((chunk.offset, chunk.nbytes))
    for file, places in zip(files, ranges, strict=True):
        end = file.data_begin
        for offset, size in sorted(places):
            if offset < end or (offset > end and file.target is None):
                corrupt(f"file {file.name}", f"its arrays leave a hole or overlap at byte {min(offset, end)}")
            end = offset + size
        if end != file.size and file.target is None:
            corrupt(f"file {file.name}", f"its arrays end at byte {end}, the file at {file.size}")


def _nodes(raw: list[Any], tensors: tuple[TensorRecord, ...]) -> tuple[NodeRecord, ...]:
    if len(raw) > MAX_NODES:
        raise LimitExceeded(f"{len(raw):,} nodes", f"at most {MAX_NODES:,} are read")
    nodes = []
    budget = MAX_EDGES
    for item in raw:
        if type(item) is not list or len(item) != 4:
            corrupt("a node", "it is [kind, type, edges, payload]")
        number, name, edges, payload = item
        if type(number) is not int or not 0 <= number < len(_KINDS) or type(name) is not str or type(edges) is not list:
            corrupt("a node", "its kind is 0 to 7, its type text, its edges an array")
        kind = _KINDS[number]
        payload = _payload(kind, payload, tensors)
        if not edges:
            nodes.append(NodeRecord(kind, name, (), payload))
            continue
        budget -= len(edges)
        if budget < 0:
            raise LimitExceeded("too many edges", f"at most {MAX_EDGES:,} are read")
        if kind.is_leaf:
            corrupt("a node", f"a {kind.name.lower()} has no children")
        checked = tuple([_edge(edge, kind, len(raw)) for edge in edges])
        if len({edge for edge, _ in checked}) != len(checked):
            corrupt("a node with two edges of one name", "they are unique")
        nodes.append(NodeRecord(kind, name, checked, payload))
    return tuple(nodes)


def _payload(kind: Kind, payload: object, tensors: tuple[TensorRecord, ...]) -> Any:
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
    corrupt(f"a node of kind {kind.name.lower()}", "its payload does not fit its kind, or names no array")


def _is_raw(tensor: TensorRecord) -> bool:
    return tensor.dtype == "uint8" and len(tensor.shape) == 1


def _edge(raw: object, kind: Kind, count: int) -> tuple[Edge, int]:
    if type(raw) is not list or len(raw) != 2 or type(raw[1]) is not int or not 0 <= raw[1] < count:
        corrupt("an edge", "it is [name, node] and leads to a node that exists")
    edge, child = raw
    if kind is Kind.DICT and type(edge) is list and len(edge) == 2 and edge[0] == 1 and type(edge[1]) is int:
        return edge[1], child
    if kind is Kind.LIST or kind is Kind.TUPLE:
        if type(edge) is int and edge >= 0:
            return edge, child
    elif type(edge) is str:
        _check_edge(edge)
        return edge, child
    corrupt(f"the edge {edge!r:.80} of a {kind.name.lower()}", "lists have indices, objects names, dicts keys")


def _check_edge(edge: str) -> None:
    if len(edge) > MAX_EDGE or len(edge.encode()) > MAX_EDGE:
        raise LimitExceeded(f"an edge name of {len(edge):,} characters", f"at most {MAX_EDGE:,} bytes are read")


def _slots(raw: list[Any], nodes: tuple[NodeRecord, ...], roots: dict[str, int]) -> tuple[SlotRecord, ...]:
    slots = []
    for item in raw:
        if type(item) is not list or [type(field) for field in item] != [int, str, int, int]:
            corrupt("a slot", "it is [optimizer, name, variable, slot]")
        slot = SlotRecord(*item)
        if not all(0 <= node < len(nodes) for node in (slot.optimizer, slot.variable, slot.slot)):
            corrupt(f"slot {slot.name!r:.200}", "it names a node that does not exist")
        if nodes[slot.variable].kind is not Kind.VARIABLE or nodes[slot.slot].kind is not Kind.VARIABLE:
            corrupt(f"slot {slot.name!r:.200}", "it belongs to a variable and is one")
        _check_edge(slot.name)
        slots.append(slot)
    if len({slot[:3] for slot in slots}) != len(slots):
        corrupt("a slot listed twice", "each is listed once")
    if slots:
        reached = _reached(roots, nodes)
        for slot in slots:
            if slot.optimizer not in reached or slot.variable not in reached:
                corrupt(f"slot {slot.name!r:.200}", "no root leads to its optimizer, or to its variable")
    return tuple(slots)


def _reached(roots: dict[str, int], nodes: tuple[NodeRecord, ...]) -> set[int]:
    """Return the nodes to which roots lead."""
    found = set(roots.values())
    waiting = list(found)
    while waiting:
        below = {child for _, child in nodes[waiting.pop()].edges} - found
        found |= below
        waiting += below
    return found
