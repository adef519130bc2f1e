"""Chunks in tables: several processes, arrays in boxes, damage, and sizes that an index would not hold."""

import numpy as np
import pytest

from graftax.checkpoint.arrays import to_bytes
from graftax.checkpoint.chunk_tables import build_table, open_table
from graftax.checkpoint.commit import Draft, commit
from graftax.checkpoint.index import Chunk, Kind, NodeRecord
from graftax.checkpoint.layout import Item
from graftax.checkpoint.loading import load
from graftax.checkpoint.names import GRAPH
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.verify import verify
from graftax.core.errors import CheckpointError, CorruptMetadata, TruncatedFile, UnsupportedValue
from tests.checkpoint.attacks import DAMAGE


def value(i, dtype="float32"):
    return (np.arange(12 * 8) + 7 * i).reshape(12, 8).astype(dtype)


def sharded(count, processes, dtype="float32", boxes=None):
    """Arrays of 12 × 8, their rows over some processes."""
    rows = 12 // processes
    boxes = boxes or [(p * rows, rows, p) for p in range(processes)]
    items = [
        Item(dtype, (n, 8), f"values/{i}", to_bytes(value(i, dtype)[begin : begin + n], ""), (begin, 0), (12, 8), p)
        for i in range(count)
        for begin, n, p in boxes
    ]
    leaves = [NodeRecord(Kind.VARIABLE, "Variable", (), (i, True, "weight", {})) for i in range(count)]
    return Draft(
        items, [NodeRecord(Kind.DICT, "dict", tuple((str(i), i + 1) for i in range(count))), *leaves], {"v": 0}
    )


@pytest.mark.parametrize("inline", [0, 1 << 16])
@pytest.mark.parametrize("dtype", ["float32", "int4", "complex64", "bool"])
def test_arrays_of_several_processes(tmp_path, inline, dtype):
    commit(tmp_path / "c", sharded(5, 4, dtype), inline=inline)
    found = verify(tmp_path / "c")
    assert (found.problems, found.strangers) == ((), ())
    assert len(found.contents.files) == 4
    assert len(found.contents.tables) == (0 if inline else 4)
    with Reader(tmp_path / "c") as reader:
        assert (
            reader.index.tensors[0].nbytes
            == value(0, dtype).size * {"int4": 4, "complex64": 64, "bool": 8}.get(dtype, 32) // 8
        )
        loaded = load(reader, [1, 4])
    for i in (1, 4):
        np.testing.assert_array_equal(loaded[i], value(i, dtype))


def test_other_tools_see_whole_arrays_by_name_and_boxes_by_where_they_begin(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    commit(tmp_path / "c", sharded(1, 2), inline=0)
    second = safetensors.load_file(tmp_path / "c" / "data-00001-00001.safetensors")
    np.testing.assert_array_equal(second["values/0#6,0"], value(0)[6:])


@pytest.mark.parametrize("boxes", [[(0, 6, 0), (5, 6, 1)], [(0, 6, 0), (6, 5, 1)], [(0, 6, 0), (6, 8, 1)]])
def test_boxes_that_do_not_tile_are_refused_at_the_save(tmp_path, boxes):
    items = [
        Item("float32", (n, 8), "values/0", memoryview(bytes(n * 32)), (begin, 0), (12, 8), p) for begin, n, p in boxes
    ]
    draft = sharded(1, 1)._replace(items=items)
    with pytest.raises(UnsupportedValue, match="no reader would accept"):
        commit(tmp_path / "c", draft)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.broad
def test_every_flip_and_cut_of_a_table_is_found(tmp_path, attack):
    commit(tmp_path / "c", sharded(2, 2), inline=0)
    table = tmp_path / "c" / "chunks-00000-00000.table"
    good = table.read_bytes()
    attack(DAMAGE, flips=len(good), cuts=5)
    for i in range(len(good)):
        table.write_bytes(good[:i] + bytes([good[i] ^ 1 << i % 8]) + good[i + 1 :])
        with pytest.raises(CheckpointError):
            Reader(tmp_path / "c").close()
    for i in (0, 1, 39, 40, len(good) - 1):
        table.write_bytes(good[:i])
        with pytest.raises(TruncatedFile):
            Reader(tmp_path / "c").close()
    table.unlink()
    with pytest.raises(TruncatedFile, match="chunks-00000"):
        Reader(tmp_path / "c").close()


def chunk(file=0, offset=0, nbytes=8, start=(0,), extent=(2,)):
    return Chunk(file, offset, nbytes, start, extent, b"12345678")


@pytest.mark.parametrize("rows", [[(1, chunk()), (0, chunk())], [(3, chunk())]])
def test_a_sealed_table_in_no_order_is_refused(rows):
    with pytest.raises(CorruptMetadata):
        open_table(build_table(rows), "t", 2)


@pytest.mark.slow
def test_more_chunks_than_an_index_holds(tmp_path):
    """2,000 arrays over 256 processes; 20,000 over 256 are the same tables, ten times as long."""
    items = [
        Item("float32", (1, 16), f"v/{i}", memoryview(i.to_bytes(4, "little") * 16), (p, 0), (256, 16), p)
        for i in range(2000)
        for p in range(256)
    ]
    leaves = [NodeRecord(Kind.VARIABLE, "V", (), (i, True, "weight", {})) for i in range(2000)]
    root = NodeRecord(Kind.DICT, "dict", tuple((str(i), i + 1) for i in range(2000)))
    index = commit(tmp_path / "c", Draft(items, [root, *leaves], {"v": 0}))
    assert len(index.tables) == 256
    assert (tmp_path / "c" / GRAPH).stat().st_size < 1 << 20
    with Reader(tmp_path / "c") as reader:
        loaded = load(reader, [0, 1999])
    assert loaded[1999].view("uint32").tolist() == [[1999] * 16] * 256
