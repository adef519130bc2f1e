"""What `load_foreign` says of files and arguments that do not fit: three parts, and a line that can be written."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.checkpoint.foreign.readers.wrong_content import AGAIN

GOLDEN = Path(__file__).parents[2] / "golden" / "foreign"
WHOLE = {suffix: (GOLDEN / f"mlp.{suffix}").read_bytes() for suffix in ("pt", "safetensors")}
ARRAYS = {"0.weight": np.ones((4, 3), "f4"), "0.bias": np.zeros(4, "f4"), "1.weight": np.ones((2, 4), "f4")}


@pytest.fixture(scope="module")
def model():
    model = gx.Sequential([layers.Dense(4), layers.Dense(2, use_bias=False)])
    model.build((None, 3))
    return model


def refused(path, model, **options):
    """Return the error of a load, which has all its parts."""
    with pytest.raises(gx.errors.GraftaxError) as caught:
        gx.checkpoint.load_foreign(path, model, **options)
    assert all([caught.value.received, caught.value.reason, caught.value.instead])
    return caught.value


@pytest.mark.parametrize(
    ("name", "content", "reason", "instead"),
    [
        ("a.pt", b"version https://git-lfs.github.com/spec/v1", "a pointer of Git LFS", "git lfs pull"),
        ("a.safetensors", b"version https://git-lfs.github.com/spec/v1", "a pointer of Git LFS", "git lfs pull"),
        ("a.safetensors", b"<!DOCTYPE html><html>", "a web page", "download the file itself"),
        ("a.npz", b"\x93NUMPY\x01\x00" + bytes(100), "one array, as np.save writes it", "np.savez"),
        ("a.npz", b"\x80\x04" + bytes(40), "a pickle of Python objects", "np.savez"),
        ("a.pt", b"", "was expected", AGAIN),
        ("a.safetensors", b"", "was expected", AGAIN),
        ("a.msgpack", b"\x81\xa1a", "incomplete input", AGAIN),
        ("a.safetensors", WHOLE["safetensors"][:-20], "it was cut", AGAIN),
        ("a.safetensors", WHOLE["safetensors"][:40], "it was cut", AGAIN),
        ("a.safetensors", WHOLE["safetensors"] + b"x", "something was added", AGAIN),
        ("a.pt", WHOLE["pt"][:-200], "it was cut, most probably", AGAIN),
        ("a.npy", b"\x93NUMPY", "the ending of the name", "np.savez"),
        ("a.pkl", b"\x80", "the ending of the name", "torch.save(model.state_dict()"),
    ],
)
def test_files_with_other_content(tmp_path, model, name, content, reason, instead):
    path = tmp_path / name
    path.write_bytes(content)
    error = refused(path, model)
    assert name in error.received
    assert reason in error.reason
    assert instead in error.instead


def test_a_path_with_a_slip_names_what_is_beside_it(tmp_path, model):
    (tmp_path / "weights.pt").write_bytes(b"")
    assert "weights.pt" in refused(tmp_path / "wieghts.pt", model).instead
    assert "the directory" in refused(tmp_path / "x.safetensors", model).reason
    assert "no directory" in refused(tmp_path / "gone" / "x.npz", model).reason
    error = refused(tmp_path, model)
    assert "weights.pt" in error.received
    assert repr(str(tmp_path / "weights.pt")) in error.instead


def test_a_file_that_an_index_names_and_that_is_missing(tmp_path, model):
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "model-00001.safetensors"}}))
    error = refused(index, model)
    assert "model-00001.safetensors does not exist" in error.received
    assert str(index) in error.context[0]


@pytest.fixture
def saved(tmp_path):
    def save(**changes):
        path = tmp_path / "weights.npz"
        np.savez(path, **{**ARRAYS, **changes})
        return path

    return save


def test_lines_for_layers_that_do_not_match(saved, model):
    three = gx.Sequential([layers.Dense(4), layers.Dense(2, use_bias=False), layers.Dense(7)])
    three.build((None, 3))
    line = refused(saved(), three, source="torch").instead
    assert "skip='layers/2/**'" in line
    gx.checkpoint.load_foreign(saved(), three, source="torch", skip="layers/2/**")
    error = refused(saved(more=np.ones((5, 5), "f4")), model, source="torch")
    assert "no layer of the program takes it" in error.received
    assert error.instead.startswith('mode="cover"')
    gx.checkpoint.load_foreign(saved(more=np.ones((5, 5), "f4")), model, source="torch", mode="cover")


def test_a_line_for_layers_of_which_several_fit(tmp_path):
    twins = gx.Sequential([layers.Dense(3, use_bias=False), layers.Dense(3, use_bias=False)])
    twins.build((None, 3))
    path = tmp_path / "a.safetensors"
    arrays = {"b.weight": np.ones((3, 3), "f4"), "a.weight": np.zeros((3, 3), "f4")}
    header, data = {}, b""
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": [3, 3], "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    line = refused(path, twins).instead
    names = dict([re.match(r"names=\{'(.+)': '(.+)'\}", line).groups()])
    gx.checkpoint.load_foreign(path, twins, names=names)  # one pair decides both


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"mode": "strict"}, "mode='exact'"),
        ({"cast": "float32"}, "cast='exact'"),
        ({"source": "pytorch"}, "source='torch'"),
        ({"source": "tensorflow"}, "source='keras'"),
        ({"names": ["layers/0"]}, 'names={"head": "fc"}'),
        ({"names": {"layers/0": 0}}, 'names={"head": "fc"}'),
        ({"names": {"0": "layers/0"}}, "names={'layers/0': '0'}"),
        ({"names": {"layer/0": "0"}}, "layers/0"),
        ({"names": {"layers/0": "fc"}}, "0.weight"),
        ({"names": {"layers/0": "*.x"}}, "as many * in both"),
        ({"strict": False}, 'mode="overlap"'),
        ({"skip": "**"}, "which loads all"),
    ],
    ids=str,
)
def test_arguments_that_do_not_fit(saved, model, options, line):
    assert line in refused(saved(), model, **{"source": "torch", **options}).instead


def test_arguments_in_another_order(saved, model):
    error = refused(model, saved())
    assert "second argument" in error.received
    assert error.instead == "load_foreign(path, model)"
