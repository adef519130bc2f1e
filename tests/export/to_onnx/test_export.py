"""What the export to ONNX takes and refuses; none of these needs ONNX Runtime."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError, DestinationExists, ExportError, MissingLibraryError, NotBuiltError
from graftax.export.spec import Spec
from graftax.export.to_onnx import messages, runtime

ROWS = Spec("batch 8")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.onnx"


def written(path: Path, function: Any, *inputs: Any, **options: Any) -> Any:
    return gx.export.onnx(path, function, *inputs, check=False, **options)


def test_a_report_says_what_was_written(path: Path):
    report = written(path, layers.Dense(3, "relu"), ROWS)
    assert report.inputs == {"x": "float32[batch, 8]"}
    assert report.outputs == {"output": "float32[batch, 3]"}
    assert report.operators == {"MatMul": 1, "Add": 1, "Relu": 1}
    assert report.bytes == path.stat().st_size
    assert str(report).startswith(f"{path}: ")
    assert "not compared" in str(report)


def test_what_a_module_takes_is_known_from_its_first_call(path: Path):
    layer = layers.Dense(3)
    with pytest.raises(NotBuiltError, match="Spec"):
        written(path, layer)
    layer(np.ones((2, 8), "float32"))
    assert written(path, layer).inputs == {"x": "float32[batch, 8]"}


def test_names_of_inputs_results_and_weights_are_those_of_the_program(path: Path):
    model = gx.Sequential([layers.Dense(3)])

    def both(x: Any, state: Any) -> Any:
        return {"y": model(x, training=False), "next": (state["h"] + 1,)}

    report = written(path, both, ROWS, {"h": Spec("batch")})
    assert list(report.inputs) == ["x", "state/h"]
    assert list(report.outputs) == ["y", "next/0"]
    assert b"layers/0/kernel" in path.read_bytes()


def test_a_result_called_like_an_input_or_a_node_has_a_name_of_its_own(path: Path):
    report = written(path, lambda x, mul_1: {"x": x * mul_1 * 2, "add_2": x + 1}, ROWS, ROWS)
    assert list(report.inputs) == ["x", "mul_1"]
    assert list(report.outputs) == ["new/x", "add_2"]


def test_folded_weights_are_listed_and_leave_no_trace(path: Path):
    model = gx.Sequential([layers.Dense(3)])
    model(np.ones((1, 8), "float32"))
    gx.graft(model, gx.reparam.LoRA(rank=2), where="**/kernel")
    assert written(path, model, ROWS).folded == ("layers/0/kernel",)
    assert b"lora" not in path.read_bytes()


def test_an_operation_without_counterpart_is_told_with_its_layer_and_line(path: Path):
    class Odd(gx.Layer):
        def call(self, x: Any) -> Any:
            return ops.svd(x)[1]

    model = gx.Sequential([Odd(name="odd")])
    with pytest.raises(ExportError, match=r"svd.*of float32\[batch, 8\] cannot be written as ONNX") as caught:
        written(path, model, ROWS)
    told = str(caught.value)
    assert "ops.svd(x)[1]" in told
    assert "where: the layer layers/0" in told
    assert "gx.export.save" in told
    assert not path.exists()


def test_what_draws_is_refused_with_advice(path: Path):
    layer = layers.Dropout(0.5)
    with pytest.raises(ExportError):  # in training it also moves its seed
        written(path, lambda x: layer(x, training=True), ROWS)

    def noisy(x: Any) -> Any:
        return x + gx.random.normal(x.shape[1:], seed=3)

    with pytest.raises(ExportError, match="training=False"):
        written(path, noisy, ROWS)


def test_bfloat16_is_refused_with_advice(path: Path):
    model = gx.Sequential([layers.Dense(3, dtype="bfloat16")])
    with pytest.raises(ExportError, match="float16"):
        written(path, model, ROWS)
    with pytest.raises(ExportError, match="float16"):
        written(path, lambda x: x * 2, Spec("batch 8", "bfloat16"))


def test_complex_numbers_are_refused_with_advice(path: Path):
    with pytest.raises(ExportError, match="real and imaginary"):
        written(path, lambda x: x, Spec("batch 8", "complex64"))


def test_python_inside_is_refused(path: Path):
    def asks(x: Any) -> Any:
        return gx.py_function(lambda v: v, [gx.ArraySpec((3,), "float32")], x[0, :3])

    with pytest.raises(ExportError):
        written(path, asks, ROWS)


def test_what_came_later_to_onnx_says_from_when_on(path: Path):
    def bits(x: Any) -> Any:
        return ops.bitwise_and(x, 3)

    with pytest.raises(ExportError, match="opset=18"):
        written(path, bits, Spec("batch", "int32"))
    assert written(path, bits, Spec("batch", "int32"), opset=18).operators["BitwiseAnd"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"products": "int4"}, "products='int4'"),
        ({"weights": "beside"}, "weights='beside'"),
        ({"opset": 16}, "opset=16"),
        ({"opset": True}, "opset=True"),
        ({"tolerance": 0.1}, "tolerance=0.1 with check=False"),
        ({"calibration": [np.ones((2, 8))]}, "calibration= with products='float32'"),
    ],
)
def test_options_that_are_none_or_idle_raise(path: Path, options: dict[str, Any], message: str):
    with pytest.raises(ArgumentError, match=message):
        written(path, layers.Dense(3), ROWS, **options)
    assert not path.exists()


def test_ex20_a_file_is_replaced_only_on_request(path: Path):
    path.write_text("mine")
    with pytest.raises(DestinationExists):
        written(path, layers.Dense(3), ROWS)
    assert path.read_text() == "mine"
    written(path, layers.Dense(3), ROWS, overwrite=True)
    assert path.stat().st_size > 100


def test_a_signature_brings_its_own_settings(path: Path):
    layer = layers.Dense(3)
    signature = gx.export.Signature(layer, ROWS)
    assert written(path, signature).inputs == {"x": "float32[batch, 8]"}
    with pytest.raises(ArgumentError, match="a Signature has these itself"):
        written(path, signature, ROWS, overwrite=True)
    step = gx.export.Signature(layer, ROWS, assigns=True)
    with pytest.raises(ExportError, match="keeps no values from one run to the next"):
        written(path, step, overwrite=True)


def test_ex16_without_onnxruntime_it_says_what_to_install(path: Path, monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(runtime, "import_module", missing)
    with pytest.raises(MissingLibraryError, match=r"pip install 'graftax\[onnx\]', or check=False"):
        gx.export.onnx(path, layers.Dense(3), ROWS)
    assert not any(path.parent.iterdir())
    assert written(path, layers.Dense(3), ROWS).sizes == ()


def test_integer_products_need_integers(path: Path):
    model = gx.Sequential([layers.Dense(3)])
    model(np.random.default_rng(0).normal(size=(2, 8)).astype("float32"))
    with pytest.raises(ExportError, match="Int8"):
        written(path, model, ROWS, products="int8")
    assert not any(path.parent.iterdir())


def test_messages_are_those_of_the_protocol():
    # by hand, from the numbers of the fields in the description of the format
    array = messages.tensor("w", np.array([1.0], "float32"))
    assert array == bytes([0x08, 1, 0x10, 1, 0x42, 1, ord("w"), 0x4A, 4, 0, 0, 0x80, 0x3F])
    node = messages.node("Relu", ["x"], ["y"], "n", {"axis": -1})
    minus_one = bytes([0xFF] * 9 + [1])
    setting = bytes([0x0A, 4]) + b"axis" + bytes([0x18]) + minus_one + bytes([0xA0, 1, 2])
    assert node == b"\x0a\x01x\x12\x01y\x1a\x01n\x22\x04Relu" + bytes([0x2A, len(setting)]) + setting
    shape = b"\x0a\x07\x12\x05batch\x0a\x03\x08\xac\x02"
    kind = b"\x08\x07\x12" + bytes([len(shape)]) + shape
    inside = b"\x0a" + bytes([len(kind)]) + kind
    assert messages.value("x", "int64", ["batch", 300]) == b"\x0a\x01x\x12" + bytes([len(inside)]) + inside
