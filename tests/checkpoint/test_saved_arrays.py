"""`gx.checkpoint.read`: arrays by path without a program, read when asked for, in part, mapped, and without JAX."""

import shutil
import subprocess
import sys
import textwrap

import ml_dtypes
import numpy as np
import pytest

import graftax as gx
from graftax.checkpoint.commit import Draft, commit
from graftax.checkpoint.index import Kind, NodeRecord
from graftax.checkpoint.layout import Item
from graftax.checkpoint.reader import Reader
from graftax.core.errors import ArgumentError, CorruptData, IndexRangeError, MissingArray, NotACheckpoint, StateError
from tests.checkpoint.conftest import draft


@pytest.fixture(scope="module")
def arrays():
    return {
        "wide": np.arange(3 * 700_000, dtype="float32").reshape(3, 700_000),
        "long": np.arange(700_000 * 3, dtype="float64").reshape(700_000, 3),
        "small": np.arange(24, dtype="int32").reshape(2, 3, 4),
        "scalar": np.float32(2.5),
        "flags": np.array([True, False, True]),
        "half": np.arange(5).astype(ml_dtypes.bfloat16),
        "packed": np.arange(-8, 8).astype(ml_dtypes.int4).reshape(4, 4),
        "complex": np.array([[1 + 2j, 3]], "complex64"),
        "empty": np.zeros((0, 4), "float32"),
    }


@pytest.fixture(scope="module")
def path(tmp_path_factory, arrays):
    path = tmp_path_factory.mktemp("saved") / "c"
    commit(path, draft({name: np.asarray(array) for name, array in arrays.items()}, step=4, meta={"note": (1, 2)}))
    return path


@pytest.fixture
def own(path, tmp_path):
    """A copy that may be changed."""
    return shutil.copytree(path, tmp_path / "c")


@pytest.mark.parametrize("mmap", [False, True])
def test_all_dtypes_as_a_whole(path, arrays, mmap):
    with gx.checkpoint.read(path, mmap=mmap) as found:
        assert list(found) == [f"values/{name}" for name in arrays]
        assert (len(found), found.step, found.meta) == (len(arrays), 4, {"note": (1, 2)})
        for name, array in arrays.items():
            got = found[f"values/{name}"]
            assert (got.dtype, got.shape) == (array.dtype, array.shape)
            np.testing.assert_array_equal(got, array)
        assert repr(found).endswith("9 arrays)")
    if mmap:
        assert not found._maps[0].flags.writeable


INDICES = [
    (), (...,), (1,), (-1,), (slice(1, None),), (slice(None, None, -1),), (slice(2, 0, -1),), (slice(5, 5),),
    (slice(None), 1), (..., -1), (0, slice(1, 3), 2), (np.array([0, 1]),), (slice(-2, None), ..., slice(None, None, 2)),
    (np.int64(0),), (None, 0), (np.array([True, False]),),
]  # fmt: skip


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_parts_are_those_of_numpy(path, arrays, index, mmap):
    with gx.checkpoint.read(path, mmap=mmap) as found:
        np.testing.assert_array_equal(found.get_slice("values/small")[index], arrays["small"][index])


@pytest.mark.broad
def test_parts_of_large_arrays_read_their_blocks_only(path, arrays, monkeypatch):
    read = []
    original = Reader.read_into
    monkeypatch.setattr(
        Reader, "read_into", lambda self, view, *rest: (read.append(len(view)), original(self, view, *rest))
    )
    with gx.checkpoint.read(path) as found:
        long = found.get_slice("values/long")
        assert (long.shape, long.ndim, len(long), long.dtype, long.nbytes) == (
            (700_000, 3),
            2,
            700_000,
            "float64",
            16_800_000,
        )
        assert "values/long" in repr(long)
        assert read == []
        np.testing.assert_array_equal(long[-2:], arrays["long"][-2:])
        assert sum(read) <= 4 << 20
        np.testing.assert_array_equal(long[200_000:100:-7, 1], arrays["long"][200_000:100:-7, 1])
        np.testing.assert_array_equal(found.get_slice("values/wide")[1], arrays["wide"][1])
        np.testing.assert_array_equal(found.get_slice("values/packed")[1:3], arrays["packed"][1:3])
        np.testing.assert_array_equal(np.asarray(long, "float32"), arrays["long"].astype("float32"))


def test_arrays_in_several_chunks(tmp_path, arrays):
    array = arrays["small"].repeat(4, 0)  # (8, 3, 4)
    boxes = [((0, 0, 0), (4, 3, 2)), ((0, 0, 2), (4, 3, 2)), ((4, 0, 0), (4, 3, 4))]
    items = []
    for start, extent in boxes:
        part = np.ascontiguousarray(array[tuple(slice(s, s + e) for s, e in zip(start, extent, strict=True))])
        items.append(Item("int32", extent, "a", part.reshape(-1).view("uint8").data, whole=array.shape, start=start))
    nodes = [NodeRecord(Kind.VARIABLE, "Variable", (), (0, True, "weight", {}))]
    commit(tmp_path / "c", Draft(items, nodes, {"a": 0}))
    with gx.checkpoint.read(tmp_path / "c") as found:
        np.testing.assert_array_equal(found["a"], array)
        for index in [np.s_[3:6], np.s_[5], np.s_[:, 1], np.s_[2, ..., 1:3], np.s_[::-3], np.s_[[1, 7]], np.s_[3:3]]:
            np.testing.assert_array_equal(found.get_slice("a")[index], array[index])


def test_slots_shared_paths_and_state(saved, toys):
    v, optimizer = toys.number(3), toys.Optimizer()
    optimizer._gx_ensure_slot("momentum", v).assign(np.float32(4))
    path = saved(a=v, b=toys.Box(v=v), optimizer=optimizer, data=toys.Position({"epoch": 7}), raw=toys.Position(b"x"))
    with gx.checkpoint.read(path) as found:
        assert list(found) == ["a", "optimizer/iterations", "optimizer/slots(momentum)/a"]
        assert found["b/v"] == 3
        assert "b/v" in found
        assert found["optimizer/slots(momentum)/a"] == 4
        assert found.state == {"data/get_state()": {"epoch": 7}, "raw/get_state()": b"x"}
        assert found.path == str(path)


def test_what_is_not_there(path, tmp_path):
    found = gx.checkpoint.read(path)
    for wrong in ("values/smal", "values", 3):
        assert wrong not in found
    with pytest.raises(MissingArray, match="nearest: values/small"):
        found["values/smal"]
    with pytest.raises(KeyError):
        found.get_slice("nowhere")
    assert found.get("nowhere") is None
    with pytest.raises(IndexRangeError, match="the index 2 of an axis of 2"):
        found.get_slice("values/small")[2]
    with pytest.raises(IndexRangeError, match="at most"):
        found.get_slice("values/small")[0, 0, 0, 0]
    with pytest.raises(ArgumentError, match=r"len\(\)"):
        len(found.get_slice("values/scalar"))
    found.close()
    with pytest.raises(StateError, match="it was closed"):
        found["values/small"]
    with pytest.raises(NotACheckpoint):
        gx.checkpoint.read(tmp_path / "nowhere")


@pytest.mark.parametrize("mmap", [False, True])
def test_damage_is_found_when_it_is_read(own, mmap):
    path = own
    file = next(p for p in path.iterdir() if p.name.startswith("data"))
    data = bytearray(file.read_bytes())
    with gx.checkpoint.read(path) as found:
        (chunk,) = found._reader.index.tensors[1].chunks
    data[chunk.offset + chunk.nbytes - 1] ^= 1
    file.write_bytes(data)
    with gx.checkpoint.read(path, mmap=mmap) as found:
        assert found["values/small"].shape == (2, 3, 4)
        assert found.get_slice("values/long")[0].tolist() == [0, 1, 2]
        with pytest.raises(CorruptData, match="values/long: checksum"):
            found["values/long"]
        with pytest.raises(CorruptData, match="values/long: checksum"):
            found.get_slice("values/long")[-1]


def test_arrays_stay_when_the_checkpoint_goes(own):
    path = own
    found = gx.checkpoint.read(path)
    mapped = gx.checkpoint.read(path, mmap=True)
    commit(path, draft({"small": np.zeros(3, "float32")}), overwrite=True)
    assert found["values/small"][0, 0, 1] == 1
    small = mapped["values/small"]
    mapped.close()
    assert small[0, 0, 1] == 1
    found.close()


@pytest.mark.broad
def test_neither_a_program_nor_jax_is_needed(path):
    code = f"""
        import sys
        import graftax as gx
        with gx.checkpoint.read({str(path)!r}) as arrays:
            assert arrays["values/small"].sum() == 276
            assert arrays.get_slice("values/small")[1, 0, 0] == 12
        assert "jax" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
