"""The index against damage and malice: a wrong one raises a CheckpointError, no other error, never wrong values."""

import copy
import pickle
import random
from contextlib import suppress

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graftax.checkpoint import envelope, values
from graftax.checkpoint.boxes import check_tiling
from graftax.checkpoint.commit import commit
from graftax.checkpoint.decode import decode, decode_lazily
from graftax.checkpoint.index import Chunk, Index, Kind, NodeRecord, SlotRecord, TensorRecord, encode
from graftax.checkpoint.reader import GRAPH, Reader
from graftax.core.errors import (
    CheckpointError,
    CorruptCheckpoint,
    CorruptMetadata,
    FormatTooNew,
    LimitExceeded,
    PathViolation,
    UnsafeCheckpoint,
)
from tests.checkpoint.attacks import DAMAGE


def variable(tensor):
    return NodeRecord(Kind.VARIABLE, "Variable", (), (tensor, True, "weight", {}))


@pytest.fixture
def checkpoint(tmp_path, toys):
    """One of everything: list, dict with integer keys, value, slot, meta; 3 arrays."""
    draft = toys.draft({"a": np.arange(16.0), "b": np.arange(3, dtype="int8"), "c": np.float32(1)})
    nodes = [
        NodeRecord(Kind.OBJECT, "Model", (("layers", 1), ("state", 4), ("table", 5), ("self", 0))),
        NodeRecord(Kind.LIST, "list", ((0, 2), (1, 3))),
        variable(0),
        variable(1),
        NodeRecord(Kind.VALUE, "Model", (), {"position": (1, 2.5, None)}),
        NodeRecord(Kind.DICT, "dict", ((7, 3), ("x", 2))),
        NodeRecord(Kind.BYTES, "Iterator", (), ("bytes", b"abc")),
        variable(2),
        variable(None),
    ]
    roots = {"model": 0, "iterator": 6, "stub": 8}
    draft = draft._replace(
        nodes=nodes, roots=roots, slots=[SlotRecord(0, "momentum", 2, 7)], step=4, meta={"note": "n"}
    )
    return commit(tmp_path / "c", draft), tmp_path / "c"


def test_an_index_survives_encoding(checkpoint):
    index, _ = checkpoint
    assert decode(encode(index)) == index


def test_unknown_keys_of_later_minor_versions_are_ignored(checkpoint):
    index, _ = checkpoint
    top = msgpack.unpackb(encode(index), strict_map_key=False)
    assert decode(msgpack.packb({**top, "colour": [1, 2]})) == index


def test_a_later_major_version_and_unknown_features_are_too_new(checkpoint):
    index, path = checkpoint
    top = msgpack.unpackb(encode(index), strict_map_key=False)
    with pytest.raises(FormatTooNew, match="zarr"):
        decode(msgpack.packb({**top, "features": ["zarr"]}))
    data = bytearray((path / GRAPH).read_bytes())
    data[8] = 2
    with pytest.raises(FormatTooNew, match=r"2\.0"):
        envelope.open_envelope(bytes(data))


def test_records_that_are_decoded_lazily_are_the_same(checkpoint):
    index, path = checkpoint
    with Reader(path, lazily=True) as reader:
        lazy = reader.index
        assert reader.is_lazy
        assert lazy.nodes[1] == index.nodes[1]
        assert at_once(lazy) == index
        assert pickle.loads(pickle.dumps(lazy.tensors)) == index.tensors
        assert lazy.nodes[2:4] == list(index.nodes[2:4])
        with pytest.raises(IndexError):
            lazy.nodes[len(index.nodes)]
        reader.complete()
        assert reader.index == index
        assert not reader.is_lazy


def damaged(path, data, ways=(False, True)):
    (path / GRAPH).write_bytes(data)
    for lazily in ways:
        with pytest.raises(CheckpointError):
            Reader(path, lazily=lazily).close()


def test_bit_flips_in_the_index_are_found(checkpoint):
    _, path = checkpoint
    good = (path / GRAPH).read_bytes()
    flips = random.Random(0).sample(range(8 * len(good)), 300) + list(range(8 * 32))
    for bit in flips:
        data = bytearray(good)
        data[bit // 8] ^= 1 << bit % 8
        damaged(path, bytes(data))


@pytest.mark.slow
def test_every_bit_flip_in_the_index_is_found(checkpoint, attack):
    _, path = checkpoint
    good = (path / GRAPH).read_bytes()
    attack(DAMAGE, flips=8 * len(good))
    for bit in range(8 * len(good)):
        data = bytearray(good)
        data[bit // 8] ^= 1 << bit % 8
        damaged(path, bytes(data), ways=(bit % 2 == 0,))


def test_truncations_of_the_index_are_found(checkpoint, attack):
    _, path = checkpoint
    good = (path / GRAPH).read_bytes()
    sizes = (*range(0, len(good), 7), len(good) - 1)
    attack(DAMAGE, cuts=len(sizes))
    for size in sizes:
        damaged(path, good[:size])
    damaged(path, good + b"\x00")


def test_an_index_of_uncommon_size_is_not_read(checkpoint):
    _, path = checkpoint
    with pytest.raises(LimitExceeded, match="at most 100"):
        Reader(path, limit=100)


def places(value, here=()):
    """Where the parts of a decoded body are."""
    yield here
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*here, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from places(item, (*here, i))


ODD = (None, True, -1, 0, 1, 2**63, 2**64 - 1, 1.5, "", "x", b"", b"12345678", [], [[]], {}, {"a": []}, [1, 2, 3])


@pytest.mark.broad
@given(data=st.data())
@settings(max_examples=200)
def test_a_changed_body_is_refused_or_still_consistent(data):
    body = BODY
    changed = copy.deepcopy(body)
    for _ in range(data.draw(st.integers(1, 2))):
        *above, last = data.draw(st.sampled_from([p for p in places(changed) if p]))
        holder = changed
        for step in above:
            holder = holder[step]
        action = data.draw(st.sampled_from(("replace", "replace", "drop", "double")))
        if action == "replace":
            holder[last] = data.draw(st.sampled_from(ODD))
        elif isinstance(holder, list) and action == "double":
            holder.append(copy.deepcopy(holder[last]))
        else:
            del holder[last]
    body = msgpack.packb(changed)
    lazy = None
    with suppress(CheckpointError):
        lazy = at_once(decode_lazily(body))
    try:
        index = decode(body)
    except CheckpointError:
        return
    consistent(index)
    assert lazy == index


def at_once(index: Index):
    """The same, with all of its records."""
    return index._replace(tensors=tuple(index.tensors), nodes=tuple(index.nodes), slots=tuple(index.slots))


def consistent(index: Index):
    """What every user of an index relies on."""
    for tensor in index.tensors:
        volume = sum(int(np.prod(chunk.extent, dtype=object)) for chunk in tensor.chunks)
        assert volume == int(np.prod(tensor.shape, dtype=object))
        assert tensor.nbytes <= index.nbytes
        for chunk in tensor.chunks:
            file = index.files[chunk.file]
            assert file.data_begin <= chunk.offset <= chunk.offset + chunk.nbytes <= file.size
            assert len(chunk.sums) == 8 * -(-chunk.nbytes // index.block)
    for node in index.nodes:
        assert all(0 <= child < len(index.nodes) for _, child in node.edges)
        assert node.tensor is None or 0 <= node.tensor < len(index.tensors)
    assert all(0 <= node < len(index.nodes) for node in index.roots.values())
    assert decode(encode(index)) == index


def body_of(index):
    return msgpack.unpackb(encode(index), strict_map_key=False)


def small_body():
    block = 4 << 20
    tensors = (
        TensorRecord("float32", (2, 2), "plain", (Chunk(0, 4096, 16, (0, 0), (2, 2), b"12345678"),), None, "m/a"),
        TensorRecord(
            "int8",
            (4,),
            "plain",
            (Chunk(0, 4112, 2, (0,), (2,), b"12345678"), Chunk(0, 4114, 2, (2,), (2,), b"12345678")),
            {"mesh": ["x"]},
            "m/b",
        ),
    )
    nodes = (
        NodeRecord(Kind.OBJECT, "M", (("a", 1), ("b", 2), ("t", 3))),
        variable(0),
        variable(1),
        NodeRecord(Kind.DICT, "dict", ((3, 1), ("k", 4))),
        NodeRecord(Kind.VALUE, "M", (), [1, {"z": 2.0}]),
    )
    index = Index(
        bytes(16), 1, 2, {"w": "1"}, (("data-00000-00000.safetensors", 4116, 4096, 5, None),), tensors, nodes, {"m": 0},
        (SlotRecord(0, "s", 1, 2),), {"note": [1]}, "xxh3-64", block,
    )  # fmt: skip
    return body_of(index)


BODY = small_body()


def test_the_small_body_is_good():
    consistent(decode(msgpack.packb(BODY)))


def at(path, value):
    body = copy.deepcopy(BODY)
    holder = body
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return msgpack.packb(body)


@pytest.mark.parametrize(
    ("path", "value", "error"),
    [
        (("files", 0, 0), "../../etc/passwd", PathViolation),
        (("files", 0, 0), "data-00000-00000.safetensors\n", PathViolation),
        (("files", 0, 0), "data-٠٠٠٠٠-00000.safetensors", PathViolation),
        (("files", 0, 2), 4117, CorruptMetadata),
        (("tensors", 0, 0), "object", CorruptMetadata),
        (("tensors", 0, 1), [2**62, 2**62], CorruptMetadata),
        (("tensors", 0, 1), [1] * 33, LimitExceeded),
        (("tensors", 0, 1), [True, 4], CorruptMetadata),
        (("tensors", 0, 2), "bits", CorruptMetadata),
        (("tensors", 0, 3, 0, 0), 1, CorruptMetadata),
        (("tensors", 0, 3, 0, 1), 0, CorruptMetadata),  # the header as data
        (("tensors", 0, 3, 0, 1), 4100, CorruptMetadata),  # a hole, and an overlap
        (("tensors", 0, 3, 0, 2), 8, CorruptMetadata),
        (("tensors", 1, 3, 1, 3), [1], CorruptMetadata),  # chunks that overlap within the array
        (("tensors", 0, 3, 0, 5), b"", CorruptMetadata),
        (("tensors", 1, 5), "m/a", CorruptMetadata),
        (("nodes", 0, 0), 8, CorruptMetadata),
        (("nodes", 0, 2, 0, 1), 5, CorruptMetadata),
        (("nodes", 0, 2, 0, 1), -1, CorruptMetadata),
        (("nodes", 0, 2, 0, 0), "b", CorruptMetadata),  # two edges of one name
        (("nodes", 0, 2, 0, 0), "x" * 5000, LimitExceeded),
        (("nodes", 0, 2, 0, 0), 3, CorruptMetadata),
        (("nodes", 1, 2), [["a", 0]], CorruptMetadata),  # a variable with children
        (("nodes", 1, 3), [2, True, "weight", {}], CorruptMetadata),
        (("nodes", 0, 3), 1, CorruptMetadata),
        (("roots", "m"), 5, CorruptMetadata),
        (("slots", 0, 2), 0, CorruptMetadata),  # a slot of what is no variable
        (("sum",), "md5", CorruptMetadata),
        (("block",), 0, CorruptMetadata),
        (("save_id",), b"short", CorruptMetadata),
        (("created",), 1.5, CorruptMetadata),
        (("format",), "other", CorruptMetadata),
        (("writer",), {"a": 1}, CorruptMetadata),
    ],
)
def test_hostile_fields(path, value, error):
    with pytest.raises(error):
        decode(at(path, value))
    if (path, value) not in TOGETHER:
        with pytest.raises(error):
            at_once(decode_lazily(at(path, value)))


TOGETHER = [  # what only those hear of who look at all records
    (("files", 0, 2), 4117),
    (("tensors", 0, 3, 0, 1), 4100),
    (("tensors", 1, 5), "m/a"),
    (("slots", 0, 2), 0),
]


def test_one_file_range_cannot_be_many_arrays():
    body = copy.deepcopy(BODY)
    bomb = copy.deepcopy(body["tensors"][0])
    body["tensors"] += [[*bomb[:5], f"m/{i}"] for i in range(50)]
    with pytest.raises(CorruptMetadata, match="overlap"):
        decode(msgpack.packb(body))


def test_cycles_in_the_graph_are_legal(checkpoint):
    index, _ = checkpoint
    assert dict(index.nodes[0].edges)["self"] == 0


def test_an_index_too_large_to_be_read_is_not_written():
    with pytest.raises(LimitExceeded, match="readers accept"):
        envelope.seal(bytes(envelope.LIMIT))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.data())
def test_grids_tile_and_changed_grids_do_not(cuts, data):
    boxes = [((), ())]
    shape = ()
    for count in cuts:
        sizes = data.draw(st.lists(st.integers(1, 3), min_size=count, max_size=count))
        starts = [sum(sizes[:i]) for i in range(count)]
        boxes = [((*s, a), (*e, n)) for s, e in boxes for a, n in zip(starts, sizes, strict=True)]
        shape = (*shape, sum(sizes))
    check_tiling("x", shape, boxes)
    if len(boxes) > 1:
        i, j = data.draw(st.permutations(range(len(boxes))))[:2]
        for wrong in (
            boxes[:i] + boxes[i + 1 :],
            [*boxes, boxes[i]],
            [boxes[j] if k == i else b for k, b in enumerate(boxes)],
        ):
            with pytest.raises(CorruptMetadata):
                check_tiling("x", shape, wrong)


def test_a_grid_too_fine_to_check_is_refused():
    n = 1500
    boxes = [((i, 0), (1, i + 1)) for i in range(n)] + [((i, i + 1), (1, n - 1 - i)) for i in range(n - 1)]
    with pytest.raises(UnsafeCheckpoint):
        check_tiling("x", (n, n), boxes)


def test_corrupt_is_also_a_value_error():
    assert issubclass(CorruptCheckpoint, ValueError)
    with pytest.raises(ValueError, match="msgpack"):
        values.unpack(b"\xc1")
