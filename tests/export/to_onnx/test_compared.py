"""Whole models in ONNX Runtime: the comparison at the export, graphs of layers, caches, weights beside the file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import DestinationExists, ExportError, ExportMismatch
from graftax.export.spec import Spec
from graftax.export.to_onnx.translation import RULES

onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.onnx"


def run(path: Path, **inputs: Any) -> list[np.ndarray]:
    return onnxruntime.InferenceSession(str(path)).run(None, inputs)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def test_ex15_a_wrong_rule_is_found_and_the_file_is_gone(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(RULES, "neg", lambda step: step.operands[0])
    with pytest.raises(ExportMismatch, match=r"'output' at batch=2, element \[\d, \d\]"):
        gx.export.onnx(path, lambda x: ops.negative(x), Spec("batch 8"))
    assert not any(path.parent.iterdir())


def test_ex15_a_mismatch_says_which_tolerance_would_do(path: Path):
    model = gx.Sequential([layers.Dense(3)])
    x = normal(4, 8)
    with pytest.raises(ExportMismatch, match="tolerance="):
        gx.export.onnx(path, lambda x: ops.log(ops.exp(model(x))), x, tolerance=0.0)


def test_two_values_of_every_free_size_and_the_example_are_compared(path: Path):
    report = gx.export.onnx(path, lambda x, y: ops.matmul(x, y), Spec("a 4"), Spec("4 b"))
    assert [sorted(one) for one in report.sizes] == [["a", "b"]] * 2
    assert all(report.sizes[0][name] != report.sizes[1][name] for name in "ab")
    example = gx.export.onnx(path, layers.Dense(2), normal(7, 3), overwrite=True)
    assert example.sizes[0] == {"batch": 7}
    assert len(example.sizes) == 3


def test_the_rounding_of_half_precision_is_allowed_in_results_of_any_dtype(path: Path):
    half = [layers.Dense(64, "tanh", dtype="mixed_float16"), layers.Dense(64, "tanh", dtype="mixed_float16")]
    x = normal(8, 32)
    report = gx.export.onnx(path, gx.Sequential([*half, layers.Dense(3)]), x)
    assert report.outputs == {"output": "float32[batch, 3]"}
    assert 1e-5 < report.error < 1e-2
    with pytest.raises(ExportMismatch, match="1e-05 is allowed"):
        gx.export.onnx(path, gx.Sequential([*half, layers.Dense(3)]), x, tolerance=1e-5, overwrite=True)


def test_ex17_an_index_out_of_range_is_an_error_of_the_runtime(path: Path):
    table = layers.Embedding(5, 3)
    gx.export.onnx(path, table, Spec("batch", "int32", bounds=(0, 4)))
    assert run(path, indices=np.array([4], "int32"))[0].shape == (1, 3)
    with pytest.raises(Exception, match="out of data bounds|out of range|indices"):
        run(path, indices=np.array([9], "int32"))


def test_a_graph_of_layers(path: Path):
    a, b = gx.Input((8,)), gx.Input((6, 4))
    left = layers.Dense(4, "relu")(a)
    right = layers.GlobalAveragePooling1D()(layers.Conv1D(4, 3)(b))
    model = gx.Model([a, b], [layers.Add()([left, right]), layers.Concatenate()([left, ops.tanh(right)])])
    report = gx.export.onnx(path, lambda x, y: model([x, y], training=False), Spec("batch 8"), Spec("batch 6 4"))
    assert list(report.outputs.values()) == ["float32[batch, 4]", "float32[batch, 8]"]


class Writer(gx.Model):
    def __init__(self) -> None:
        super().__init__()
        self.table = layers.Embedding(32, 16)
        self.attention = layers.MultiHeadAttention(2, 8, rotary_base=1e4)
        self.head = layers.Dense(32)

    def call(self, tokens: Any) -> Any:
        x = self.table(tokens)
        return self.head(x + self.attention(x, use_causal_mask=True))

    def step(self, tokens: Any, key: Any, value: Any, position: Any) -> Any:
        x = self.table(tokens)
        out, cache = self.attention(x, cache=layers.AttentionCache(key, value, position))
        return {"next": ops.argmax(self.head(x + out)[:, -1], axis=-1), "cache": cache}


@pytest.mark.filterwarnings("ignore:Explicitly requested dtype int64")  # jax, of an index that counts from the end
def test_a_step_of_generation_with_caches_of_free_room(path: Path):
    writer = Writer()
    prompt = np.random.default_rng(0).integers(0, 32, (3, 5)).astype("int32")
    writer(prompt)
    cache = Spec("batch room 2 8")
    report = gx.export.onnx(
        path, writer.step, Spec("batch time", "int32", bounds=(0, 31)), cache, cache, Spec("", "int32"),
        constraints=["room >= time"],
    )  # fmt: skip
    assert list(report.outputs) == ["next", "cache/key", "cache/value", "cache/position"]
    session = onnxruntime.InferenceSession(str(path))
    state = {"key": np.zeros((3, 12, 2, 8), "float32"), "value": np.zeros((3, 12, 2, 8), "float32")}
    state["position"] = np.array(0, "int32")
    tokens, text = prompt, prompt
    for _ in range(4):
        token, *new = session.run(None, {"tokens": tokens, **state})
        state = dict(zip(("key", "value", "position"), new, strict=True))
        tokens = token[:, None].astype("int32")
        wanted = np.asarray(writer(text))[:, -1].argmax(-1)
        np.testing.assert_array_equal(token, wanted)
        text = np.concatenate([text, tokens], axis=1)


@pytest.mark.parametrize("opset", [17, 18, 21])
def test_versions_of_the_operators(path: Path, opset: int):
    model = gx.Sequential([layers.Conv2D(4, 3), layers.MaxPooling2D(2), layers.Flatten(), layers.Dense(3, "softmax")])
    report = gx.export.onnx(path, lambda x: ops.max(model(x, training=False), axis=1), Spec("batch 8 8 3"), opset=opset)
    assert report.opset == opset


def test_a_version_that_the_runtime_does_not_have_is_told(path: Path):
    with pytest.raises(ExportError, match="opset=17"):
        gx.export.onnx(path, layers.Dense(3), Spec("batch 8"), opset=90)
    assert not any(path.parent.iterdir())


def test_half_precision(path: Path):
    model = gx.Sequential([layers.Dense(16, "relu", dtype="float16"), layers.Dense(3, dtype="float16")])
    report = gx.export.onnx(path, model, Spec("batch 8", "float16"))
    assert report.outputs == {"output": "float16[batch, 3]"}
    assert report.error < 1e-2


def test_weights_beside_the_file(path: Path):
    model = gx.Sequential([layers.Dense(64, "relu"), layers.Dense(3)])
    x = normal(4, 32)
    model(x)
    report = gx.export.onnx(path, model, x, weights="apart")
    beside = path.with_name("model.safetensors")
    assert report.bytes == path.stat().st_size + beside.stat().st_size
    assert path.stat().st_size < 4000
    np.testing.assert_allclose(run(path, x=x)[0], model(x), atol=1e-5)
    safetensors = pytest.importorskip("safetensors.numpy")
    np.testing.assert_array_equal(safetensors.load_file(beside)["layers/0/kernel"], model.layers[0].kernel.numpy())
    path.unlink()
    with pytest.raises(DestinationExists, match=r"model\.safetensors"):
        gx.export.onnx(path, model, x, weights="apart")


def test_weights_of_an_artefact_are_shared(tmp_path: Path):
    model = gx.Sequential([layers.Dense(64, "relu"), layers.Dense(3)])
    x = normal(4, 32)
    model(x)
    folder = tmp_path / "net"
    gx.export.save(folder, model, x, roots={"net": model})
    before = (folder / "weights.safetensors").read_bytes()
    report = gx.export.onnx(folder / "predict.onnx", model, x, weights="apart")
    assert not (folder / "predict.safetensors").exists()
    assert report.bytes < 4000
    assert (folder / "weights.safetensors").read_bytes() == before
    np.testing.assert_allclose(run(folder / "predict.onnx", x=x)[0], model(x), atol=1e-5)


def test_weights_of_a_loop_are_in_the_file_once(path: Path):
    model = gx.Sequential([layers.LSTM(32), layers.Dense(2)])
    report = gx.export.onnx(path, model, Spec("batch time 16"), constraints=["time >= 2"])
    weights = sum(variable.size * 4 for variable in model.variables)
    assert weights < report.bytes < weights + 8000


def test_strides_over_free_sizes_round_up_at_odd_ones(path: Path):
    model = gx.Sequential([layers.Conv2D(4, 3, strides=2, padding="same"), layers.GlobalAveragePooling2D()])
    gx.export.onnx(path, model, Spec("batch h w 3"), constraints=["h >= 8", "w >= 8"])
    for size in range(8, 13):
        x = normal(2, size, size + 1, 3, seed=size)
        np.testing.assert_allclose(run(path, x=x)[0], model(x), atol=1e-5)
