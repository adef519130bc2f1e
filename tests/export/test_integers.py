"""Weights on a grid are stored as integers, and lose nothing: files are a quarter, and less."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, reparam
from graftax.core.errors import ExportError, MatchError
from graftax.export import Spec
from graftax.export.updating import update
from tests.export.artefacts import numbers, run_alone

X = numbers(9, 17)
FORMS = {
    # what stands behind the kernels, and bits of a weight that is stored
    "float": (None, 32),
    "rounded": (reparam.FakeQuant(8), 8),
    "rounded by channel": (reparam.FakeQuant(8, per="channel"), 8),
    "rounded with a zero": (reparam.FakeQuant(8, per="channel", symmetric=False), 8),
    "12 bits": (reparam.FakeQuant(12), 16),
    "4 bits": (reparam.FakeQuant(4), 4),
    "3 bits with a zero": (reparam.FakeQuant(3, symmetric=False), 4),
    "int8": (reparam.Int8(), 8),
    "int4": (reparam.Int4(per="tensor"), 4),
}
ALONE = """
with np.load(sys.argv[2]) as arrays:
    for integers in ("numbers", "keep"):
        artefact = run.load(sys.argv[1], integers=integers)
        np.testing.assert_allclose(artefact.predict(arrays["x"]), arrays["y"], rtol=1e-5, atol=1e-6)
        print(sorted({str(one.dtype) for one in artefact.values.values()}))
"""


def net(creator: Any = None, width: int = 63) -> gx.Sequential:
    gx.set_random_seed(0)
    model = gx.Sequential([layers.Dense(width, "relu"), layers.Dense(35, "relu"), layers.Dense(3)])
    model(X)
    if creator is not None:
        gx.graft(model, creator, where="**/kernel")
    return model


@pytest.mark.broad
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "rounded by channel" else pytest.mark.slow) for name in FORMS]
)
def test_kernels_on_a_grid_are_stored_as_integers_and_lose_no_bit(name: str, tmp_path: Path) -> None:
    creator, bits = FORMS[name]
    model = net(creator)
    report = model.export(tmp_path / "net", X)
    kernels = [f"model/layers/{i}/kernel" for i in range(3)]
    assert list(report.integers) == (kernels if creator is not None else [])
    count = sum(layer.kernel.size for layer in model.layers)
    assert (tmp_path / "net" / "weights.safetensors").stat().st_size < count * bits / 8 + 2500
    artefact, kept = gx.export.load(tmp_path / "net"), gx.export.load(tmp_path / "net", integers="keep")
    for path, layer in zip(kernels, model.layers, strict=True):
        np.testing.assert_array_equal(artefact.values[path], layer.kernel)
        assert (f"{path}/codes" in kept.values) == (creator is not None)
    assert len(artefact.values) == report.values == 6
    wanted = gx.jit(lambda x: model(x, training=False))(X)
    for one in (artefact, kept):
        np.testing.assert_allclose(one.predict(X), wanted, rtol=1e-5, atol=1e-6)
    assert gx.export.check(tmp_path / "net").errors["predict"] < 1e-6


@pytest.mark.slow
def test_where_there_is_no_graftax_integers_become_numbers_or_are_kept(tmp_path: Path) -> None:
    model = net(reparam.FakeQuant(4))
    model.export(tmp_path / "net", X)
    np.savez(tmp_path / "data.npz", x=X, y=model(X))
    assert run_alone(ALONE, tmp_path / "net", tmp_path / "data.npz").splitlines() == [
        "['float32']",
        "['float32', 'uint8']",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("integers", ["numbers", "keep"])
@pytest.mark.parametrize("creator", [reparam.FakeQuant(8, symmetric=False), reparam.Int8(), reparam.Int4()], ids=repr)
def test_what_is_taken_back_is_what_was_there(creator: Any, integers: Any, tmp_path: Path) -> None:
    model = net(creator)
    model.export(tmp_path / "net", X)
    artefact = gx.export.load(tmp_path / "net", integers=integers)
    before = {one.path: one.numpy() for one in model.variables}
    assert str(gx.export.take_back(artefact, model=model)) == "6"
    for one in model.variables:  # what is rounded is not overwritten with what it was rounded to
        np.testing.assert_array_equal(one, before[one.path])
    other = net(creator, width=63)
    for one in other.variables:
        one.assign(np.zeros_like(one.numpy()))
    gx.export.take_back(artefact, model=other)
    for one, layer in zip(other.layers, model.layers, strict=True):
        np.testing.assert_allclose(one.kernel, layer.kernel, rtol=0, atol=1e-7)
    if not isinstance(creator, reparam.FakeQuant):
        for one in other.variables:
            np.testing.assert_array_equal(one, before[one.path])


@pytest.mark.slow
def test_new_integers_come_from_a_checkpoint(tmp_path: Path) -> None:
    model = net(reparam.Int8())
    model.export(tmp_path / "net", X)
    size = (tmp_path / "net" / "weights.safetensors").stat().st_size
    model.layers[0].kernel.assign(numbers(17, 63, seed=3))
    gx.Checkpoint(model=model).save(tmp_path / "ckpt")
    update(tmp_path / "net", tmp_path / "ckpt")
    assert (tmp_path / "net" / "weights.safetensors").stat().st_size == size
    np.testing.assert_array_equal(
        gx.export.load(tmp_path / "net").values["model/layers/0/kernel"], model.layers[0].kernel
    )
    gx.export.check(tmp_path / "net")
    gx.ungraft(model)
    gx.Checkpoint(model=model).save(tmp_path / "plain")
    update(tmp_path / "net", tmp_path / "plain")
    assert (tmp_path / "net" / "weights.safetensors").stat().st_size == size
    gx.export.check(tmp_path / "net")


@pytest.mark.slow
@pytest.mark.parametrize(
    "creator",
    [
        reparam.FakeQuant(8),
        reparam.FakeQuant(6, per="channel"),
        reparam.FakeQuant(4, symmetric=False),
        reparam.Int8(),
        reparam.Int4(),
    ],
    ids=repr,
)
def test_numbers_of_a_checkpoint_are_rounded_to_the_grid_that_follows_from_them(creator: Any, tmp_path: Path) -> None:
    model = net(creator)
    model.export(tmp_path / "net", X)
    other = net(None)
    for layer in other.layers:
        layer.kernel.assign(numbers(*layer.kernel.shape, seed=7))
    gx.Checkpoint(model=other).save(tmp_path / "plain")
    wanted = net(creator)
    for one, layer in zip(wanted.layers, other.layers, strict=True):
        one.kernel.assign(layer.kernel.numpy())
    size = (tmp_path / "net" / "weights.safetensors").stat().st_size
    report = update(tmp_path / "net", tmp_path / "plain")
    assert report.rounded == tuple(f"model/layers/{i}/kernel" for i in range(len(model.layers)))
    assert f"{len(model.layers)} of them rounded to their grid" in str(report)
    assert (tmp_path / "net" / "weights.safetensors").stat().st_size == size
    values = gx.export.load(tmp_path / "net").values
    for i, layer in enumerate(wanted.layers):
        np.testing.assert_allclose(values[f"model/layers/{i}/kernel"], layer.kernel, rtol=1e-6, atol=0)
    gx.export.check(tmp_path / "net")


@pytest.mark.slow
def test_what_is_trained_on_finds_its_way_from_a_checkpoint(tmp_path: Path) -> None:
    model = net(reparam.FakeQuant(8))
    model.export(tmp_path / "net", X)
    for layer in model.layers:
        layer.kernel.assign(numbers(*layer.kernel.shape, seed=5))
    gx.Checkpoint(model=model).save(tmp_path / "ckpt")
    update(tmp_path / "net", tmp_path / "ckpt")
    artefact = gx.export.load(tmp_path / "net")
    assert [*artefact.integers] == [f"model/layers/{i}/kernel" for i in range(len(model.layers))]
    np.testing.assert_allclose(artefact.predict(X), model(X, training=False), rtol=1e-6, atol=1e-6)


def test_an_artefact_that_does_not_know_its_grid_keeps_its_integers(tmp_path: Path) -> None:
    net(reparam.FakeQuant(8)).export(tmp_path / "net", X, check=False)
    manifest = json.loads((tmp_path / "net" / "manifest.json").read_text())
    for about in manifest["values"].values():
        about.pop("grid", None)
    del manifest["sha256"]
    (tmp_path / "net" / "manifest.json").write_text(json.dumps(manifest))
    gx.Checkpoint(model=net(None)).save(tmp_path / "plain")
    with pytest.raises(MatchError, match="does not say of which grid"):
        update(tmp_path / "net", tmp_path / "plain")


@pytest.mark.slow
def test_integers_stay_where_they_are_where_an_adapter_lies_on_them_or_weights_are_inside(tmp_path: Path) -> None:
    model = net(reparam.Int8())
    gx.graft(model, reparam.LoRA(rank=2), where="layers/0/kernel")
    report = model.export(tmp_path / "lora", X)
    assert list(report.integers) == ["model/layers/0/kernel/base", *(f"model/layers/{i}/kernel" for i in (1, 2))]
    assert {one.path for one in model.trainable_variables} <= {
        path.removeprefix("model/") for path in gx.export.load(tmp_path / "lora").values
    }
    report = model.export(tmp_path / "inside", X, weights="inside")
    assert report.integers == ()
    assert report.signatures["predict"].bytes < 12_000


def test_other_words_and_forged_integers_are_refused(tmp_path: Path) -> None:
    net(reparam.FakeQuant(8)).export(tmp_path / "net", X, check=False)
    with pytest.raises(ExportError, match='integers="keep"'):
        gx.export.load(tmp_path / "net", integers="float")  # type: ignore[arg-type]
    manifest = json.loads((tmp_path / "net" / "manifest.json").read_text())
    value = manifest["values"]["model/layers/0/kernel"]
    for change in ({"shape": [17, 64]}, {"dtype": "object"}, {"integers": {}}, {"integers": 3}, {"integers": {"x": 1}}):
        manifest["values"]["model/layers/0/kernel"] = {**value, **change}
        (tmp_path / "net" / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(ExportError, match="the artefact"):
            gx.export.load(tmp_path / "net")


@pytest.mark.slow
def test_a_dtype_of_16_bits_has_integers_too(tmp_path: Path) -> None:
    gx.set_random_seed(0)
    model = gx.Sequential([layers.Dense(8, dtype="bfloat16"), layers.Dense(3, dtype="float16")])
    model(X)
    gx.graft(model, reparam.FakeQuant(8), where="**/kernel")
    report = model.export(tmp_path / "net", Spec("batch 17"))
    assert len(report.integers) == 2
    values = gx.export.load(tmp_path / "net").values
    for i, layer in enumerate(model.layers):
        np.testing.assert_array_equal(values[f"model/layers/{i}/kernel"], layer.kernel)
        assert str(values[f"model/layers/{i}/kernel"].dtype) == layer.kernel.dtype
