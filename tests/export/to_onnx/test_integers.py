"""Weights as integers, and products of integers: grafted, trained for it, or rounded on calibration data."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, reparam
from graftax.core.errors import ArgumentError
from graftax.export.spec import Spec
from graftax.export.to_onnx.integers import on_grid, round_to_codes

onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.onnx"


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def run(path: Path, **inputs: Any) -> np.ndarray:
    return onnxruntime.InferenceSession(str(path)).run(None, inputs)[0]


def mlp() -> Any:
    model = gx.Sequential([layers.Dense(64, "relu"), layers.Dense(64, "relu"), layers.Dense(4)])
    model(normal(2, 64))
    return model


@pytest.mark.parametrize("bits", range(2, 9))
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_weights_on_a_grid_are_found_and_kept_exactly(bits: int, axis: int | None):
    most = 2 ** (bits - 1) - 1
    weights = normal(40, 30)
    top = np.abs(weights).max() if axis is None else np.abs(weights).max(1 - axis, keepdims=True)
    scale = (top / np.float32(most)).astype("float32")
    weights = np.rint(weights / scale) * scale
    found = on_grid(weights)
    assert found is not None
    again = found.codes.astype("float32") * found.scale_for(2)
    np.testing.assert_allclose(again, weights, rtol=1e-6)


def test_weights_on_no_grid_are_not():
    assert on_grid(normal(40, 30)) is None
    assert on_grid(np.zeros((4, 4), "float32")) is None
    assert on_grid(np.array([[np.nan, 1.0]], "float32")) is None
    assert np.abs(round_to_codes(normal(40, 30), 1).codes).max(0).tolist() == [127] * 30


@pytest.mark.parametrize(
    "creator",
    [reparam.Int8(), reparam.Int8(per="tensor"), reparam.Int4(), reparam.FakeQuant(8), reparam.FakeQuant(4, "channel")],
    ids=repr,
)
def test_weights_on_a_grid_are_stored_as_integers_and_lose_nothing(path: Path, creator: Any):
    model = mlp()
    plain = gx.export.onnx(path, model, normal(4, 64))
    gx.graft(model, creator, where="**/kernel")
    report = gx.export.onnx(path, model, normal(4, 64), overwrite=True)
    assert report.integer_products == 0
    assert report.bytes < plain.bytes / 2.5
    assert report.error < 1e-5


@pytest.mark.parametrize("creator", [reparam.Int8(), reparam.Int4(), reparam.FakeQuant(8)], ids=repr)
def test_products_of_integers(path: Path, creator: Any):
    model = mlp()
    gx.graft(model, creator, where="**/kernel")
    report = gx.export.onnx(path, model, normal(16, 64), products="int8")
    assert report.integer_products == 3
    assert report.operators["MatMulInteger"] == report.operators["DynamicQuantizeLinear"] == 3
    assert 0 < report.error < 0.1


def test_trained_fake_quant_weights_are_their_codes(path: Path):
    x, y = normal(256, 8), normal(256, 1, seed=1)
    with gx.variable_creator_scope(reparam.FakeQuant(8, per="channel"), where="**/kernel"):
        model = gx.Sequential([layers.Dense(128, "relu"), layers.Dense(1)])
        model(x)
    model.compile(gx.optimizers.Adam(1e-2), "mse")
    model.fit(x, y, epochs=2, verbose=0)
    wanted = np.asarray(model(x, training=False))
    report = gx.export.onnx(path, model, x)
    kernel = model.layers[0].kernel.numpy()
    codes = np.rint(kernel / (np.abs(kernel).max(0) / 127)).astype("int8")
    assert codes.tobytes() in path.read_bytes()
    assert report.error < 1e-5
    np.testing.assert_allclose(run(path, x=x), wanted, atol=1e-5)


def test_heads_share_scales_and_products_with_them_are_of_integers(path: Path):
    model = gx.Sequential([layers.MultiHeadAttention(2, 8), layers.Dense(4)])
    x = normal(3, 5, 16)
    model(x)
    gx.graft(model, reparam.Int8(), where="**/kernel")
    report = gx.export.onnx(path, model, Spec("batch time 16"), products="int8")
    assert report.integer_products == 5


def test_calibration_rounds_all_and_keeps_ranges_in_the_file(path: Path):
    model = gx.Sequential([
        layers.Conv2D(16, 3, padding="same", activation="relu"), layers.Conv2D(16, 3, activation="relu"),
        layers.GlobalAveragePooling2D(), layers.Dense(4),
    ])  # fmt: skip
    x = normal(8, 10, 10, 8)
    model(x)
    plain = gx.export.onnx(path, model, x)
    report = gx.export.onnx(path, model, x, products="int8", calibration=[x[:4], x[4:]], overwrite=True)
    assert report.operators["QLinearConv"] == 2
    assert report.operators["QuantizeLinear"] == 3
    assert "DynamicQuantizeLinear" not in report.operators
    assert report.integer_products == 3
    assert report.bytes < plain.bytes / 2
    wanted = np.asarray(model(x, training=False))
    assert np.abs(run(path, x=x) - wanted).max() < 0.05 * np.abs(wanted).max()


def test_calibration_in_a_loop_rounds_by_the_values_of_each_step(path: Path):
    model = gx.Sequential([layers.LSTM(32), layers.Dense(2)])
    x = normal(8, 6, 16)
    report = gx.export.onnx(path, model, x, products="int8", calibration=[x])
    assert report.operators["DynamicQuantizeLinear"] >= 1
    assert report.operators["QuantizeLinear"] >= 1


def test_calibration_takes_several_inputs_as_tuples(path: Path):
    model = mlp()
    x, y = normal(8, 64), normal(8, 64, seed=1)
    report = gx.export.onnx(path, lambda a, b: model(a + b), x, y, products="int8", calibration=[(x, y)])
    assert report.integer_products == 3


@pytest.mark.parametrize(
    ("batches", "message"),
    [([], "without a batch"), ([np.ones((2, 64), "int32")], "batch 0"), ([np.ones(64, "float32")], "batch 0")],
)
def test_calibration_data_must_be_what_the_function_takes(path: Path, batches: list[Any], message: str):
    with pytest.raises(ArgumentError, match=message):
        gx.export.onnx(path, mlp(), normal(4, 64), products="int8", calibration=batches)
    assert not any(path.parent.iterdir())
