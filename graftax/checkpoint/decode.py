"""From untrusted bytes to an `Index`: every type, range and reference is checked here, before a byte of data is read.

A restore can therefore never allocate more bytes than there are on disk. `decode_lazily` decodes single records, for
readers that need a few out of many.
"""

from collections.abc import Callable, Sequence
from typing import Any

from graftax.checkpoint import values
from graftax.checkpoint.checksums import FUNCTIONS
from graftax.checkpoint.chunk_tables import ChunkTable
from graftax.checkpoint.damaged import FORGED, corrupt_error
from graftax.checkpoint.decode_records import MAX_DIMENSION, ArrayDecoder, check_edge, node_record, slot_record
from graftax.checkpoint.index import (
    FEATURES,
    FORMAT,
    FileRecord,
    Index,
    Kind,
    NodeRecord,
    SlotRecord,
    TableRecord,
    TensorRecord,
)
from graftax.checkpoint.lazy_records import LazyRecords
from graftax.checkpoint.names import DATA, STAGING, TABLE
from graftax.checkpoint.uncollected import uncollected
from graftax.core.errors import FormatTooNew, LimitExceeded, PathViolation

MAX_NODES = 4 << 20
MAX_EDGES = 8 << 20
MAX_BLOCK = 64 << 20
MAX_TABLE = 1 << 30


ReadTable = Callable[[str, int, int], ChunkTable]
"""A function of the name and size of a chunk table, and the number of arrays, that returns the table."""


@uncollected()
def decode(body: bytes | memoryview, read_table: ReadTable | None = None) -> Index:
    """Return the checked index.

    Args:
        body: The bytes inside of the envelope.
        read_table: Reads chunk tables. Without it, an index that has some is refused.

    Raises:
        CorruptMetadata: the index is inconsistent.
        LimitExceeded: a value is larger or more deeply nested than in any checkpoint.
        PathViolation: a file name leads out of the directory.
        FormatTooNew: the index needs a feature that this version does not have.
    """
    top = values.unpack(body)
    if type(top) is not dict:
        raise corrupt_error("a value that is no map", "an index must be a map")
    raw = {key: _list(top, key) for key in ("tensors", "nodes", "slots")}
    index, arrays = _head(top, len(raw["tensors"]), len(raw["nodes"]), read_table)
    tensors = _tensors(raw["tensors"], arrays)
    if not index.tables:
        check_placement(index.files, tensors)
    nodes = _nodes(raw["nodes"], tensors)
    return index._replace(tensors=tensors, nodes=nodes, slots=_slots(raw["slots"], nodes, index.roots))


def decode_lazily(body: bytes | memoryview, read_table: ReadTable | None = None) -> Index:
    """Return an index whose arrays, nodes and slots are decoded and checked one by one, at their first access.

    Every record that is returned has passed the checks of `decode`, except those that need all records: that names
    are unique, that no two arrays share bytes, and that all slots can be reached from the roots.

    Args:
        body: The bytes inside of the envelope.
        read_table: Reads chunk tables. Without it, an index that has some is refused.

    Raises:
        CorruptMetadata, LimitExceeded, PathViolation, FormatTooNew: as for `decode`, for the rest of the index.
    """
    top, places = values.unpack_lazily(body, ("tensors", "nodes", "slots"))
    if len(places) != 3:
        raise corrupt_error("no arrays, nodes or slots", "an index must have all three")
    count = len(places["nodes"]) - 1
    index, arrays = _head(top, len(places["tensors"]) - 1, count, read_table)
    tensors = LazyRecords(body, places["tensors"], arrays.record)
    return index._replace(
        tensors=tensors,
        nodes=LazyRecords(body, places["nodes"], lambda raw, _: node_record(raw, count, tensors)),
        slots=LazyRecords(body, places["slots"], lambda raw, _: slot_record(raw, count)),
    )


def _head(top: dict[str, Any], arrays: int, nodes: int, read_table: ReadTable | None) -> tuple[Index, ArrayDecoder]:
    """Return the checked index without records of arrays, nodes and slots, and the decoder for records of arrays."""
    if top.get("format") != FORMAT:
        raise corrupt_error(f"the format {top.get('format')!r:.40}", f'in a checkpoint of graftax it is "{FORMAT}"')
    features = _list(top, "features")
    if not all(type(f) is str for f in features):
        raise corrupt_error("a feature that is not text", "features must be names")
    unknown = [f for f in features if f not in FEATURES]
    if unknown:
        raise FormatTooNew(
            f"the checkpoint needs the features {', '.join(map(repr, unknown))}",
            "this version of graftax does not have them",
            "pip install --upgrade graftax",
        )
    save_id, created, step = top.get("save_id"), top.get("created"), top.get("step")
    if type(save_id) is not bytes or len(save_id) != 16:
        raise corrupt_error(f"the save_id {save_id!r:.80}", "it must have 16 bytes")
    if type(created) is not int or not (step is None or type(step) is int):
        raise corrupt_error(f"created {created!r:.40} or step {step!r:.40}", "both must be integers, or the step None")
    block, kind = top.get("block"), top.get("sum")
    if type(kind) is not str or kind not in FUNCTIONS or type(block) is not int or not 1 <= block <= MAX_BLOCK:
        raise corrupt_error(
            f"the checksum {kind!r:.40} over blocks of {block!r:.40} bytes",
            f"known checksums are {', '.join(FUNCTIONS)}, over blocks of 1 to {MAX_BLOCK:,} bytes",
        )
    writer = _dict(top, "writer")
    if not all(type(text) is str for text in writer.values()):
        raise corrupt_error("the writer", "it must be a map of text and text")
    meta = _dict(top, "meta")
    values.check(meta, "meta")
    random = top.get("random")  # older files were written before the time was saved
    values.check(random, "random")
    files = _files(_list(top, "files"))
    tables = _tables(_list(top, "tables"))
    if tables and read_table is None:
        raise corrupt_error("chunk tables", "they are in files beside the index, and this reader has the index alone")
    opened = [read_table(table.name, table.size, arrays) for table in tables] if read_table is not None else []
    if opened:
        areas = [(f.size - f.data_begin, f.target is None) for f in files]
        claimed = sum(sum(table.nbytes) for table in opened)
        if not sum(size for size, own in areas if own) <= claimed <= sum(size for size, _ in areas):
            raise corrupt_error("the sizes of chunks", "their sum is not the size of the data files")
    if nodes > MAX_NODES:
        raise LimitExceeded(f"{nodes:,} nodes in the index", f"at most {MAX_NODES:,} are read", FORGED)
    roots = _dict(top, "roots")
    for name, node in roots.items():
        if type(node) is not int or not 0 <= node < nodes:
            raise corrupt_error(f"the root {name!r}", "it leads to a node that does not exist")
        check_edge(name)
    index = Index(save_id, created, step, writer, files, (), (), roots, (), meta, kind, block, tables, random)
    return index, ArrayDecoder(files, block, opened)


def _list(top: dict[str, Any], key: str) -> list[Any]:
    found = top.get(key)
    if type(found) is not list:
        raise corrupt_error(f"{key!r} of type {type(found).__name__}", "it must be an array")
    return found


def _dict(top: dict[str, Any], key: str) -> dict[str, Any]:
    found = top.get(key)
    if type(found) is not dict or not all(type(k) is str for k in found):
        raise corrupt_error(f"{key!r} of type {type(found).__name__}", "it must be a map with text as keys")
    return found


def _files(raw: list[Any]) -> tuple[FileRecord, ...]:
    files = []
    for item in raw:
        if type(item) is not list or [type(field) for field in item[:4]] != [str, int, int, int] or len(item) != 5:
            raise corrupt_error("a file record", "it must be [name, size, data_begin, header_sum, target]")
        file = FileRecord(*item)
        if file.target is not None:
            _check_target(file.target)
        if not DATA.fullmatch(file.name):
            raise PathViolation(
                f"a data file called {file.name!r:.200}",
                "data files have names such as data-00000-00000.safetensors; another name could lead to other files",
                FORGED,
            )
        if not 8 <= file.data_begin <= file.size < MAX_DIMENSION:
            raise corrupt_error(
                f"the file {file.name}", f"its data cannot begin at byte {file.data_begin} of {file.size}"
            )
        files.append(file)
    if len({file.place for file in files}) != len(files):
        raise corrupt_error("a data file that is listed twice", "each must be listed once")
    return tuple(files)


def _check_target(target: object) -> None:
    if type(target) is not str or not is_target(target):
        raise PathViolation(
            f"a reference to a checkpoint called {target!r:.200}",
            "only references to checkpoints in the same folder are followed; others could lead to other files",
            FORGED,
        )


def is_target(name: str) -> bool:
    """Return True if a reference to another checkpoint in the same folder may have this name."""
    if not name or len(name.encode(errors="replace")) > 255 or name in (".", ".."):
        return False
    return not any(c in "/\\\0" for c in name) and STAGING.fullmatch(name) is None


def _tables(raw: list[Any]) -> tuple[TableRecord, ...]:
    tables = []
    for item in raw:
        if type(item) is not list or [type(field) for field in item] != [str, int]:
            raise corrupt_error("a chunk table", "it must be [name, size]")
        table = TableRecord(*item)
        if not TABLE.fullmatch(table.name):
            raise PathViolation(
                f"a chunk table called {table.name!r:.200}",
                "chunk tables have names of graftax; another name could lead to other files",
                FORGED,
            )
        if not 0 <= table.size <= MAX_TABLE:
            raise LimitExceeded(f"{table.name} of {table.size:,} bytes", f"at most {MAX_TABLE:,} are read", FORGED)
        tables.append(table)
    if len({table.name for table in tables}) != len(tables):
        raise corrupt_error("a chunk table that is listed twice", "each must be listed once")
    return tuple(tables)


def _tensors(raw: list[Any], arrays: ArrayDecoder) -> tuple[TensorRecord, ...]:
    tensors = tuple([arrays.record(item, number) for number, item in enumerate(raw)])
    if len({t.name for t in tensors}) != len(tensors):
        raise corrupt_error("two arrays with one name", "names must be unique")
    return tensors


def check_placement(files: Sequence[FileRecord], tensors: Sequence[TensorRecord]) -> None:
    """Raise unless the chunks of each file fill its data area without gaps or overlaps.

    Gaps are allowed in files of other checkpoints, of which only some arrays are used.
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
                raise corrupt_error(
                    f"file {file.name}", f"its arrays overlap, or have a hole between them, at byte {min(offset, end)}"
                )
            end = offset + size
        if end != file.size and file.target is None:
            raise corrupt_error(f"file {file.name}", f"its arrays end at byte {end}, and the file at {file.size}")


def _nodes(raw: list[Any], tensors: tuple[TensorRecord, ...]) -> tuple[NodeRecord, ...]:
    nodes = tuple([node_record(item, len(raw), tensors) for item in raw])
    if sum([len(node.edges) for node in nodes]) > MAX_EDGES:
        raise LimitExceeded(f"more than {MAX_EDGES:,} edges in the index", "no more are read", FORGED)
    return nodes


def _slots(raw: list[Any], nodes: tuple[NodeRecord, ...], roots: dict[str, int]) -> tuple[SlotRecord, ...]:
    slots = [slot_record(item, len(nodes)) for item in raw]
    for slot in slots:
        if nodes[slot.variable].kind is not Kind.VARIABLE or nodes[slot.slot].kind is not Kind.VARIABLE:
            raise corrupt_error(f"slot {slot.name!r:.200}", "it must belong to a variable, and be one")
    if len({slot[:3] for slot in slots}) != len(slots):
        raise corrupt_error("a slot that is listed twice", "each must be listed once")
    if slots:
        reached = _reachable_nodes(roots, nodes)
        for slot in slots:
            if slot.optimizer not in reached or slot.variable not in reached:
                raise corrupt_error(f"slot {slot.name!r:.200}", "no root leads to its optimizer, or to its variable")
    return tuple(slots)


def _reachable_nodes(roots: dict[str, int], nodes: tuple[NodeRecord, ...]) -> set[int]:
    """Return the nodes that can be reached from the roots."""
    found = set(roots.values())
    waiting = list(found)
    while waiting:
        below = {child for _, child in nodes[waiting.pop()].edges} - found
        found |= below
        waiting += below
    return found
