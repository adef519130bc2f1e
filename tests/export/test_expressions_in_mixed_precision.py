"""Weights that are expressions, in layers of mixed precision: the artefact has the values as they are stored."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ExportMismatch
from graftax.export import Signature, Spec
from graftax.export.comparison import computes_in_half, difference
from graftax.export.updating import update
from tests.export.artefacts import numbers

CREATORS = {
    "fake_quant": gx.reparam.FakeQuant(8, per="channel"),
    "asymmetric": gx.reparam.FakeQuant(4, symmetric=False),
    "int8": gx.reparam.Int8(),
    "int4": gx.reparam.Int4(),
    "lora": gx.reparam.LoRA(rank=2),
    "weight_norm": gx.reparam.WeightNorm(),
}
ON_A_GRID = ("fake_quant", "asymmetric", "int8", "int4")
X = numbers(6, 8)


def grafted(name: str, policy: str) -> gx.Sequential:
    gx.random.set_random_seed(0)
    model = gx.Sequential([layers.Dense(8, "relu", dtype=policy), layers.Dense(8, dtype=policy), layers.Dense(3)])
    model(X)
    gx.graft(model, CREATORS[name], where="**/kernel")
    for one in model.trainable_variables:
        one.assign(one.numpy() + 0.1 * numbers(*one.shape, seed=1))
    return model


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("name", CREATORS)
def test_values_are_those_outside_of_layers_and_go_back(name: str, policy: str, tmp_path: Path) -> None:
    model = grafted(name, policy)
    before = np.asarray(model(X, training=False))
    report = model.export(tmp_path / "net")
    artefact = gx.export.load(tmp_path / "net")
    np.testing.assert_allclose(artefact.predict(X), before, atol=1e-5)
    assert len(report.integers) == (3 if name in ON_A_GRID else 0)
    for i in range(3):
        place = f"model/layers/{i}/kernel"
        assert str(artefact.values[place].dtype) == "float32"
        np.testing.assert_array_equal(artefact.values[place], model.layers[i].kernel)
    assert str(gx.export.take_back(artefact, model=model)) == "6"
    np.testing.assert_array_equal(np.asarray(model(X, training=False)), before)


@pytest.mark.broad
def test_new_weights_are_rounded_to_the_grid(tmp_path: Path) -> None:
    model, other = grafted("fake_quant", "mixed_bfloat16"), grafted("fake_quant", "mixed_bfloat16")
    for one in other.trainable_variables:
        one.assign(one.numpy() * 1.5)
    model.export(tmp_path / "net")
    gx.Checkpoint(model=other).save(tmp_path / "checkpoint")
    assert len(update(tmp_path / "net", tmp_path / "checkpoint").rounded) == 3
    found = gx.export.load(tmp_path / "net").predict(X)
    np.testing.assert_allclose(found, np.asarray(other(X, training=False)), atol=1e-5)


@pytest.mark.broad
def test_two_programs_read_one_expression_in_two_dtypes(tmp_path: Path) -> None:
    layer = layers.Dense(4, dtype="mixed_bfloat16")
    layer(X)
    gx.graft(layer, gx.reparam.WeightNorm(), where="kernel")
    signatures = {
        "predict": Signature(layer, Spec("batch 8")),
        "size": Signature(lambda x: ops.sum(ops.square(layer.kernel)) + ops.sum(x), Spec("batch 8")),
    }
    gx.export.save(tmp_path / "net", signatures, roots=layer)
    artefact = gx.export.load(tmp_path / "net")
    np.testing.assert_array_equal(artefact.predict(X).astype("float32"), np.asarray(layer(X)).astype("float32"))
    expected = np.sum(np.square(layer.kernel.numpy())) + X.sum()
    np.testing.assert_allclose(artefact.size(X), expected, rtol=1e-5)


class TwiceInTraining(gx.reparam.Reparam):
    """A weight that is twice as large in a training call."""

    def __init__(self, next_creator: Any, spec: Any) -> None:
        super().__init__(spec)
        self.base = next_creator(spec.replace(name="base"))

    def forward(self) -> Any:
        return self.base * (2.0 if self.training else 1.0)

    def inverse(self, value: Any) -> None:
        self.base.assign(value)


def in_training() -> layers.Dense:
    layer = layers.Dense(4)
    layer(X)
    gx.graft(layer, TwiceInTraining, where="kernel")
    return layer


@pytest.mark.broad
@pytest.mark.parametrize("order", [(False, True), (True, False)])
def test_two_programs_with_other_training_flags_have_their_own_values(order: Any, tmp_path: Path) -> None:
    layer = in_training()
    names = {False: "predict", True: "training"}

    def signature(training: bool) -> Signature:
        return Signature(lambda x: layer(x, training=training), Spec("batch 8"))

    signatures = {names[flag]: signature(flag) for flag in order}
    gx.export.save(tmp_path / "net", signatures, roots=layer, check=False)
    artefact = gx.export.load(tmp_path / "net")
    np.testing.assert_allclose(artefact.predict(X), layer(X), rtol=1e-6)
    np.testing.assert_allclose(artefact.training(X), layer(X, training=True), rtol=1e-6)


@pytest.mark.broad
def test_one_program_with_both_training_flags(tmp_path: Path) -> None:
    layer = in_training()

    def both(x: Any) -> Any:
        return layer(x), layer(x, training=True), layer(x)

    gx.export.save(tmp_path / "net", Signature(both, Spec("batch 8")), roots=layer, check=False)
    for one, other in zip(gx.export.load(tmp_path / "net").predict(X), both(X), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_the_rounding_of_half_precision_is_allowed_in_results_of_any_dtype() -> None:
    one, other = np.array([1.0], "float32"), np.array([1.003], "float32")
    assert difference("x", one, other, lambda: True) > 1e-3
    with pytest.raises(ExportMismatch, match="rounding explains 1e-05"):
        difference("x", one, other)
    with pytest.raises(ExportMismatch, match="rounding explains 1e-02"):
        difference("x", one, 1.1 * other, lambda: True)
    with pytest.raises(ExportMismatch):
        difference("x", np.array([1], "int32"), np.array([2], "int32"), lambda: True)


@pytest.mark.broad
@pytest.mark.parametrize(("policy", "halves"), [("float32", False), ("mixed_bfloat16", True), ("mixed_float16", True)])
def test_programs_tell_whether_they_compute_in_half_precision(policy: str, halves: bool, tmp_path: Path) -> None:
    model = gx.Sequential([layers.Dense(2, dtype=policy), layers.Dense(2)])
    model(X)
    model.export(tmp_path / "net")
    assert computes_in_half(gx.export.load(tmp_path / "net").predict) is halves
