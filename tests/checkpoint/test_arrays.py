"""Every dtype and shape to disk and back, and into other tools."""

import json

import ml_dtypes
import numpy as np
import pytest

from graftax.checkpoint.arrays import can_cast, from_bytes, to_bytes
from graftax.checkpoint.commit import commit
from graftax.checkpoint.dtypes import DTYPES, nbytes
from graftax.checkpoint.layout import Item, divide_into_files
from graftax.checkpoint.loading import load
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.verify import verify
from graftax.core.errors import UnsupportedValue

SHAPES = [(), (0,), (1,), (3,), (4, 0, 2), (2, 3, 5), (64,)]


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def sample(name, shape):
    bits = np.random.default_rng(len(shape)).integers(
        0, 2 if name == "bool" else 256, size=(*shape, 16), dtype=np.uint8
    )
    kind = dtype_of(name)
    if DTYPES[name].layout == "packed":
        return (bits[..., 0] & (1 << DTYPES[name].bits) - 1).astype(np.uint8).view(kind)
    return np.ascontiguousarray(bits[..., : kind.itemsize]).view(kind)[..., 0]


def same_bits(a, b):
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    mask = (1 << DTYPES[a.dtype.name].bits) - 1 if DTYPES[a.dtype.name].layout == "packed" else 0xFF
    flat_a, flat_b = (np.ascontiguousarray(x).reshape(-1).view(np.uint8) & mask for x in (a, b))
    np.testing.assert_array_equal(flat_a, flat_b)


@pytest.mark.parametrize("name", DTYPES)
def test_bytes_round_trip(name):
    for shape in SHAPES:
        array = sample(name, shape)
        data = np.frombuffer(to_bytes(array, "x"), np.uint8)
        assert len(data) == nbytes(name, shape)
        same_bits(from_bytes(data, name, shape), array)


def test_packing_is_low_bits_first():
    data = to_bytes(np.array([1, 2, 3], ml_dtypes.uint4), "x")
    assert bytes(data) == bytes([0x21, 0x03])
    assert bytes(to_bytes(np.array([-1, 1], ml_dtypes.int4), "x")) == bytes([0x1F])


def test_every_dtype_and_shape_through_a_checkpoint(tmp_path, toys):
    arrays = {f"{name}-{i}": sample(name, shape) for name in DTYPES for i, shape in enumerate(SHAPES)}
    index = commit(tmp_path / "c", toys.draft(arrays))
    found = verify(tmp_path / "c")
    assert (found.problems, found.strangers) == ((), ())
    with Reader(tmp_path / "c") as reader:
        assert reader.index == index
        loaded = load(reader, range(len(arrays)))
    for i, array in enumerate(arrays.values()):
        same_bits(loaded[i], array)


def test_not_contiguous_arrays_are_saved_in_row_order():
    array = np.arange(12.0).reshape(3, 4).T[::2]
    back = from_bytes(np.frombuffer(to_bytes(array, "x"), np.uint8), "float64", array.shape)
    np.testing.assert_array_equal(back, array)


def test_other_dtypes_are_refused():
    with pytest.raises(UnsupportedValue, match="there"):
        to_bytes(np.array(["text"]), "there")


def test_a_bool_is_a_bool_whatever_the_byte():
    loaded = from_bytes(np.array([0, 1, 2, 255], np.uint8), "bool", (4,))
    assert loaded.view(np.uint8).tolist() == [0, 1, 1, 1]


def test_multiples_of_64_bytes_come_first_and_are_aligned_on_disk_and_in_memory(tmp_path, toys):
    arrays = {f"a{n}": np.arange(n, dtype="uint8") for n in (3, 64, 1, 128, 0, 7, 4096)}
    arrays["odd"] = np.arange(3.0)
    index = commit(tmp_path / "c", toys.draft(arrays))
    assert index.files[0].data_begin % 4096 == 0
    places = {t.name.split("/")[1]: t.chunks[0].offset for t in index.tensors}
    assert sorted(places, key=places.get)[-5:] == ["a4096", "odd", "a3", "a1", "a7"]
    with Reader(tmp_path / "c") as reader:
        loaded = load(reader, range(len(arrays)))
    for i, (name, array) in enumerate(arrays.items()):
        if array.nbytes and array.nbytes % 64 == 0:
            assert places[name] % 64 == 0
            assert loaded[i].ctypes.data % 64 == 0


def test_files_roll_at_a_size_and_at_a_count():
    items = [Item("uint8", (n,), str(n), memoryview(bytes(n))) for n in (640, 64, 128, 5000, 64)]
    files = divide_into_files(items, max_file=1000)
    assert sorted(i for file in files for i in file) == list(range(5))
    assert all(len(file) == 1 or sum(len(items[i].data) for i in file) <= 1000 for file in files)
    assert [len(file) for file in divide_into_files(items, max_tensors=2)] == [2, 2, 1]


def test_other_tools_read_the_data_files(tmp_path, toys):
    reference = pytest.importorskip("safetensors.numpy")
    arrays = {f"{name}/ö%": sample(name, (3, 5)) for name in ("float32", "int8", "bool", "uint64", "float16")}
    arrays["complex64"] = sample("complex64", (2, 3))
    arrays["int4"] = sample("int4", (5,))
    commit(tmp_path / "c", toys.draft(arrays))
    found = reference.load_file(tmp_path / "c" / "data-00000-00000.safetensors")
    assert len(found) == len(arrays)
    for name, array in arrays.items():
        seen = found[f"values/{name}"]
        if name == "complex64":
            np.testing.assert_array_equal(seen.view(np.complex64)[..., 0], array)
        elif name == "int4":
            assert seen.tobytes() == bytes(to_bytes(array, name))
        else:
            np.testing.assert_array_equal(seen, array)


@pytest.mark.slow  # importing torch
def test_bfloat16_in_another_tool(tmp_path, toys):
    torch = pytest.importorskip("torch")
    reference = pytest.importorskip("safetensors.torch")
    array = np.array([1.5, -2.25, 3e38], ml_dtypes.bfloat16)
    commit(tmp_path / "c", toys.draft({"x": array}))
    found = reference.load_file(tmp_path / "c" / "data-00000-00000.safetensors")["values/x"]
    assert found.dtype is torch.bfloat16
    np.testing.assert_array_equal(found.float().numpy(), array.astype("float32"))


def test_the_header_is_json_padded_with_spaces(tmp_path, toys):
    commit(tmp_path / "c", toys.draft({"x": np.arange(3.0)}))
    data = (tmp_path / "c" / "data-00000-00000.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    assert (8 + size) % 4096 == 0
    content = json.loads(data[8 : 8 + size])
    assert content["values/x"] == {"dtype": "F64", "shape": [3], "data_offsets": [0, 24]}
    assert set(content["__metadata__"]) == {"graftax", "save_id"}


@pytest.mark.parametrize(
    ("source", "target", "cast", "allowed"),
    [
        ("float32", "float32", "exact", True),
        ("bfloat16", "float32", "exact", False),
        ("bfloat16", "float32", "safe", True),
        ("int32", "int64", "safe", True),
        ("float32", "bfloat16", "safe", False),
        ("float32", "bfloat16", "any", True),
        ("int32", "float32", "safe", False),
    ],
)
def test_cast_policies(source, target, cast, allowed):
    assert can_cast(source, target, cast) is allowed
