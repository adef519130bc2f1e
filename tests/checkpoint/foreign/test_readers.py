"""Readers of foreign files: torch is not needed; what is damaged, hostile or mislabelled is refused."""

import io
import json
import os
import pickle
import shutil
import struct
import zipfile
from pathlib import Path

import msgpack
import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.checkpoint.foreign.opening import READERS

GOLDEN = Path(__file__).parents[2] / "golden" / "foreign"
X = np.array([[0.1, -0.2, 0.3], [1.0, 2.0, 3.0]], "float32")
Y = [[-0.08875982463359833, 0.06694342195987701], [-0.25428080558776855, 0.00018085911870002747]]  # as torch says


def mlp():
    model = gx.Sequential([layers.Dense(4), layers.BatchNormalization(epsilon=1e-5), layers.ReLU(), layers.Dense(2)])
    model.build((None, 3))
    return model


@pytest.fixture(scope="module")
def model():
    return mlp()


@pytest.mark.parametrize("name", ["mlp.pt", "mlp.safetensors"])
def test_files_of_torch(name):
    model = mlp()
    assert gx.checkpoint.load_foreign(GOLDEN / name, model).source == "torch"
    np.testing.assert_allclose(model(X), Y, rtol=1e-5, atol=1e-6)


def refused(path, model, error=gx.errors.CheckpointError, match=None):
    """Loading raises an error of graftax that names the file, and nothing is assigned."""
    before = [v.numpy() for v in model.variables]
    with pytest.raises(error, match=match) as raised:
        gx.checkpoint.load_foreign(path, model)
    assert os.path.basename(path) in str(raised.value)
    for variable, value in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)


def flax_bytes():
    def array(value):
        return msgpack.ExtType(1, msgpack.packb((value.shape, value.dtype.name, value.tobytes())))

    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(3, 4)).astype("float32"), rng.normal(size=(4, 2)).astype("float32")
    four = np.ones(4, "float32")
    tree = {
        "params": {
            "Dense_0": {"kernel": array(one), "bias": array(four)},
            "BatchNorm_0": {"scale": array(four), "bias": array(four)},
            "Dense_1": {"kernel": array(other), "bias": array(four[:2])},
        },
        "batch_stats": {"BatchNorm_0": {"mean": array(four), "var": array(four)}},
    }
    return msgpack.packb(tree), one


def npz_bytes():
    file = io.BytesIO()
    names = {"0.weight": (4, 3), "0.bias": (4,), "3.weight": (2, 4), "3.bias": (2,)}
    names |= {f"1.{name}": (4,) for name in ("weight", "bias", "running_mean", "running_var")}
    np.savez(file, **{name: np.full(shape, 0.5, "float32") for name, shape in names.items()})
    return file.getvalue()


def whole(kind):
    if kind in (".pt", ".safetensors"):
        return (GOLDEN / f"mlp{kind}").read_bytes()
    return flax_bytes()[0] if kind == ".msgpack" else npz_bytes()


KINDS = [".pt", ".safetensors", ".msgpack", ".npz"]


@pytest.mark.parametrize("kind", KINDS)
def test_whole_files_load(kind, tmp_path):
    (tmp_path / f"x{kind}").write_bytes(whole(kind))
    gx.checkpoint.load_foreign(tmp_path / f"x{kind}", mlp())


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("kind", KINDS)
def test_truncated_files_are_refused(kind, tmp_path, model):
    data, path = whole(kind), tmp_path / f"x{kind}"
    for length in [*range(0, len(data), max(1, len(data) // 60)), len(data) - 1]:
        path.write_bytes(data[:length])
        refused(path, model)


@pytest.mark.broad
@pytest.mark.parametrize("kind", KINDS)
def test_flipped_bytes_load_or_are_refused(kind, tmp_path, model):
    """A flip in numbers that no checksum guards loads other numbers; any other one is refused by name."""
    rng = np.random.default_rng(0)
    data, path = whole(kind), tmp_path / f"x{kind}"
    for _ in range(120):
        flipped = bytearray(data)
        for at in rng.integers(0, len(data), 2):
            flipped[at] ^= int(rng.integers(1, 256))
        path.write_bytes(flipped)
        try:
            gx.checkpoint.load_foreign(path, model)
        except (gx.errors.CheckpointError, gx.errors.ArgumentError) as error:
            assert path.name in str(error)  # noqa: PT017 - most of them raise, some load


@pytest.mark.parametrize("content", KINDS)
@pytest.mark.parametrize("name", KINDS)
def test_mislabelled_files_are_refused(content, name, tmp_path, model):
    if content != name and {content, name} != {".pt", ".npz"}:
        path = tmp_path / f"x{name}"
        path.write_bytes(whole(content))
        refused(path, model)


def test_what_is_not_there(tmp_path, model):
    for suffix in READERS:
        if suffix not in (".h5", ".hdf5", ".keras"):
            refused(tmp_path / f"none{suffix}", model, gx.errors.NotACheckpoint)
            (tmp_path / f"folder{suffix}").mkdir()
            refused(tmp_path / f"folder{suffix}", model, gx.errors.NotACheckpoint)
    (tmp_path / "x.txt").write_text("")
    refused(tmp_path / "x.txt", model, gx.errors.ArgumentError, "chosen by the ending of the name")


# --- torch ------------------------------------------------------------------------------------------------------------


class Harmful:
    def __reduce__(self):
        return os.system, ("touch harmed",)


def as_torch(path, pickled, **entries):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x/data.pkl", pickled)
        for name, data in entries.items():
            archive.writestr(f"x/data/{name[1:]}", data)


@pytest.mark.parametrize("protocol", [0, 1, 2, 4])
def test_pickled_objects_are_never_made(tmp_path, model, protocol, monkeypatch):
    monkeypatch.chdir(tmp_path)
    harm = pickle.dumps({"0.weight": Harmful()}, protocol)
    as_torch("x.pt", harm)
    refused("x.pt", model, (gx.errors.UnsafeCheckpoint, gx.errors.CorruptMetadata))
    Path("y.pt").write_bytes(harm)
    refused("y.pt", model, (gx.errors.UnsafeCheckpoint, gx.errors.NotACheckpoint))
    assert not Path("harmed").exists()


def tensor_pickle(shape, strides, offset=0, count=12, kind="FloatStorage", key="0"):
    """A state dict with one tensor, as torch's pickler writes it."""

    def number(n):
        raw = n.to_bytes(9, "little", signed=True)
        return b"\x8a" + bytes([len(raw)]) + raw

    def text(s):
        return b"X" + struct.pack("<I", len(s)) + s.encode()

    def numbers(ns):
        return b"(" + b"".join(map(number, ns)) + b"t"

    storage = b"(" + text("storage") + f"ctorch\n{kind}\n".encode() + text(key) + text("cpu") + number(count) + b"tQ"
    call = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + number(offset) + numbers(shape) + numbers(strides)
    return b"\x80\x02}" + text("weight") + call + b"\x89N" + b"tRs."


def test_tensors_stay_within_their_storage(tmp_path):
    dense = layers.Dense(4, use_bias=False)
    dense.build((None, 3))
    path = tmp_path / "x.pt"
    data = np.arange(12, dtype="float32").tobytes()
    as_torch(path, tensor_pickle((4, 3), (3, 1)), _0=data)
    gx.checkpoint.load_foreign(path, dense)
    assert dense.kernel.numpy().T.tolist() == np.arange(12).reshape(4, 3).tolist()
    hostile = [
        {"shape": (4, 3), "strides": (3, 1), "offset": 1},
        {"shape": (4, 3), "strides": (1 << 40, 1)},
        {"shape": (4, 3), "strides": (-3, 1)},
        {"shape": (1 << 40, 1 << 40), "strides": (0, 0)},
        {"shape": (4, 3), "strides": (3, 1), "count": 1 << 50},
        {"shape": (4, 3), "strides": (3,)},
        {"shape": (4, 3), "strides": (3, 1), "kind": "Nothing"},
        {"shape": (4, 3), "strides": (3, 1), "key": "../../etc/passwd"},
    ]
    for case in hostile:
        as_torch(path, tensor_pickle(**case), _0=data)
        refused(path, dense, gx.errors.CorruptCheckpoint)
    as_torch(path, b"\x80\x02" + b"]q\x00r" + struct.pack("<I", 0xFFFFFFFF) + b".", _0=data)
    refused(path, dense, gx.errors.NotACheckpoint)  # a memo of four thousand million entries is not made


def test_pickles_without_end(tmp_path, model):
    for body in (b"}" * 100, b"(" * 1000 + b"t" * 999 + b".", b"]q\x00" + b"h\x00a" * 50 + b".", b"h\x05."):
        as_torch(tmp_path / "x.pt", b"\x80\x02" + body)
        refused(tmp_path / "x.pt", model)
    looped = b"\x80\x02}q\x00X\x01\x00\x00\x00ah\x00s."
    as_torch(tmp_path / "x.pt", looped)
    refused(tmp_path / "x.pt", model, gx.errors.UnsafeCheckpoint, "deep")


# --- safetensors ------------------------------------------------------------------------------------------------------


def as_safetensors(path, header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def test_headers_that_lie(tmp_path, model):
    path = tmp_path / "x.safetensors"
    good = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    headers = [
        {"a": good | {"data_offsets": [0, 4]}},
        {"a": good | {"shape": [1 << 62, 1 << 62]}},
        {"a": good | {"shape": [-2]}},
        {"a": good | {"shape": [True, 2]}},
        {"a": good | {"dtype": "F33"}},
        {"a": good | {"dtype": []}},
        {"a": good | {"more": 1}},
        {"a": good, "b": good},
        {"a": good | {"data_offsets": [8, 16]}},
        {"a": [], "__metadata__": {}},
        {"a": good, "__metadata__": {"x": 1}},
        b'{"a": 1, "a": 2}',
        b"[]",
        b"[" * 100_000,
    ]
    for header in headers:
        as_safetensors(path, header, b"\0" * 8)
        refused(path, model, gx.errors.CorruptCheckpoint)
    path.write_bytes(struct.pack("<Q", 1 << 60) + b"{}")
    refused(path, model, gx.errors.LimitExceeded)


def test_an_index_of_several_files(tmp_path):
    from safetensors.numpy import load_file, save_file

    arrays = load_file(GOLDEN / "mlp.safetensors")
    parts = {"a.safetensors": list(arrays)[:3], "b.safetensors": list(arrays)[3:]}
    for name, held in parts.items():
        save_file({key: arrays[key] for key in held}, tmp_path / name)
    weight_map = {key: name for name, held in parts.items() for key in held}
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": weight_map}))
    model = mlp()
    gx.checkpoint.load_foreign(tmp_path, model, source="torch")
    np.testing.assert_allclose(model(X), Y, rtol=1e-5, atol=1e-6)
    for name in ("../a.safetensors", "/etc/passwd", "", "..", "x\\y", "a\0b"):
        index.write_text(json.dumps({"weight_map": weight_map | {"0.weight": name}}))
        refused(index, model, gx.errors.PathViolation)
    index.write_text(json.dumps({"weight_map": weight_map | {"0.weight": "b.safetensors"}}))
    refused(index, model, gx.errors.MissingInCheckpoint)
    for text in ("", "[]", '{"weight_map": {"a": 1}}', "[" * 100_000):
        index.write_text(text)
        refused(index, model, gx.errors.CorruptCheckpoint)
    shutil.rmtree(tmp_path)


# --- others -----------------------------------------------------------------------------------------------------------


def test_flax(tmp_path):
    data, kernel = flax_bytes()
    path = tmp_path / "x.msgpack"
    path.write_bytes(data)
    model = mlp()
    assert gx.checkpoint.load_foreign(path, model).source == "flax"
    np.testing.assert_array_equal(model.layers[0].kernel.numpy(), kernel)


@pytest.mark.parametrize(
    "value",
    [
        {"a": msgpack.ExtType(1, b"")},
        {"a": msgpack.ExtType(1, msgpack.packb(([1 << 40], "float32", b"1234")))},
        {"a": msgpack.ExtType(1, msgpack.packb(([1], "object", b"1234")))},
        {"a": msgpack.ExtType(1, msgpack.packb(([-1], "float32", b"")))},
        {"a": msgpack.ExtType(7, b"x")},
        {"a": {"__msgpack_chunked_array__": True, "shape": [1 << 50], "chunks": []}},
        [],
        {},
    ],
    ids=repr,
)
def test_msgpack_that_lies(value, tmp_path, model):
    (tmp_path / "x.msgpack").write_bytes(msgpack.packb(value))
    refused(tmp_path / "x.msgpack", model)


def test_objects_in_npz(tmp_path, model):
    np.savez(tmp_path / "x.npz", a=np.array([{}], dtype=object))
    refused(tmp_path / "x.npz", model, gx.errors.UnsafeCheckpoint)
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, {"descr": "<f4", "fortran_order": False, "shape": (1 << 40,)})
        archive.writestr("a.npy", head.getvalue())
    refused(tmp_path / "x.npz", model, gx.errors.CorruptMetadata)


def test_libraries_that_are_missing_are_named(tmp_path, model, monkeypatch):
    from graftax.checkpoint.foreign.readers import optional_library

    def missing(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(optional_library, "import_module", missing)
    (tmp_path / "x.weights.h5").write_bytes(b"")
    refused(tmp_path / "x.weights.h5", model, gx.errors.ArgumentError, "pip install h5py")
    (tmp_path / "orbax").mkdir()
    (tmp_path / "orbax" / "_METADATA").write_text("{}")
    refused(tmp_path / "orbax", model, gx.errors.ArgumentError, "pip install orbax-checkpoint")
