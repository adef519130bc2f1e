"""What `gx.export.onnx` says of what cannot be written: three parts, and a line that can be written."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.errors import GraftaxError
from graftax.export import Spec
from graftax.export.signature import Signature
from graftax.export.to_onnx.calibration import batches_of
from graftax.export.to_onnx.runtime import _words

ROWS = Spec("batch 3")


@pytest.fixture(scope="module")
def model() -> gx.Sequential:
    model = gx.Sequential([layers.Dense(2)])
    model.build((None, 3))
    return model


def refused(*given: Any, **options: Any) -> GraftaxError:
    with pytest.raises(GraftaxError) as caught:
        gx.export.onnx(*given, **{"check": False, **options})
    assert all([caught.value.received, caught.value.reason, caught.value.instead])
    return caught.value


def drawn(x: Any) -> Any:
    return x + gx.random.normal((3,))


@pytest.mark.parametrize(
    ("function", "spec", "line"),
    [
        (lambda x: ops.cholesky(x), Spec("3 3"), "gx.export.save, which exports every operation"),
        (lambda x: x & 3, Spec("batch 3", "int32"), "opset=18"),
        (lambda x: ops.cast(x, "bfloat16"), ROWS, 'gx.set_dtype_policy(model, "float16")'),
        (lambda x: ops.cast(x, "complex64"), ROWS, "ops.real(x) and ops.imag(x)"),
        (drawn, ROWS, "the random numbers as an input"),
        (lambda x: x if x.shape[0] > 2 else 2 * x, ROWS, "constraints=['batch >= 3'] or ['batch <= 2']"),
        (lambda x: ops.reshape(x, (int(x.shape[0]), 3)), ROWS, 'Spec("8 4")'),
        (lambda x: gx.py_function(np.sin, [x], output=ROWS), ROWS, "functions of graftax.ops"),
    ],
    ids=["cholesky", "bits", "bfloat16", "complex", "random", "decision", "number", "python"],
)
def test_functions_that_cannot_be_written(tmp_path: Path, function: Any, spec: Spec, line: str) -> None:
    assert line in refused(tmp_path / "a.onnx", function, spec).instead
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"opset": 11}, "opset=17"),
        ({"opset_version": 17}, "opset= in place of opset_version="),
        ({"dynamic_axes": {}}, 'gx.export.Spec("batch 8")'),
        ({"weights": "external"}, "weights='inside'"),
        ({"fold": "**/kernel"}, "leave fold= out"),
        ({"tolerance": 1e-3}, "leave tolerance= out"),
    ],
    ids=str,
)
def test_options_that_do_not_fit(tmp_path: Path, model: gx.Sequential, options: dict[str, Any], line: str) -> None:
    assert line in refused(tmp_path / "a.onnx", model, ROWS, **options).instead


def test_the_path_comes_first(tmp_path: Path, model: gx.Sequential) -> None:
    error = refused(model, tmp_path / "a.onnx", ROWS)
    assert "first argument, path" in error.received
    assert 'gx.export.onnx("model.onnx", model' in error.instead


@pytest.mark.parametrize("shape", [(None, 3), [None, 3], Spec], ids=["tuple", "list", "spec"])
def test_none_for_a_free_size_is_a_name(tmp_path: Path, model: gx.Sequential, shape: Any) -> None:
    with pytest.raises(gx.errors.ArgumentError) as caught:
        gx.export.onnx(tmp_path / "a.onnx", model, Spec((None, 3)) if shape is Spec else shape, check=False)
    assert caught.value.instead == 'graftax.export.Spec("batch 3")'
    gx.export.onnx(tmp_path / "a.onnx", model, Spec("batch 3"), check=False)


@pytest.mark.parametrize(
    ("batches", "line"),
    [
        ([np.ones((4, 3))], 'calibration=[x[:64].astype("float32")]'),
        (np.ones((4, 3), "float32"), "calibration=[x], a list of batches"),
        ([(np.ones((4, 3), "float32"), np.ones((4, 3), "float32"))], "with 1 array for each batch"),
    ],
    ids=["dtype", "array", "count"],
)
def test_calibration_that_does_not_fit(tmp_path: Path, model: gx.Sequential, batches: Any, line: str) -> None:

    with pytest.raises(gx.errors.ArgumentError) as caught:
        batches_of(batches, Signature(model, ROWS))
    assert line in caught.value.instead


def test_the_words_of_the_runtime_are_those_about_the_file() -> None:
    text = "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Load failed:/a/b.h:46 void f(const &x) const Bad\nmore"
    assert _words(RuntimeError(text)) == "Load failed: Bad"
