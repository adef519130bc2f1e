"""model.export: a model as a program that runs without graftax."""

from pathlib import Path

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import ExportError, NotBuiltError

X = np.random.default_rng(0).normal(size=(6, 3)).astype("float32")


def test_a_trained_model_is_exported_as_it_predicts(tmp_path: Path) -> None:
    model = gx.Sequential([layers.Dense(4, "relu"), layers.BatchNormalization(), layers.Dropout(0.5), layers.Dense(1)])
    model.compile(optimizer=gx.optimizers.Adam(0.1), loss="mse")
    model.fit(X, X[:, :1], epochs=2, batch_size=3, verbose=0)
    report = model.export(tmp_path / "net")
    assert report.signatures["predict"].rows
    assert "model/layers/1/moving_mean" in gx.export.load(tmp_path / "net").values
    np.testing.assert_allclose(gx.export.load(tmp_path / "net").predict(X), model.predict(X, verbose=0), rtol=1e-6)


@pytest.mark.broad
def test_a_graph_of_layers_takes_what_its_inputs_say(tmp_path: Path) -> None:
    x, tokens = gx.Input((3,), name="x"), gx.Input((4,), dtype="int32", name="tokens")
    pooled = layers.GlobalAveragePooling1D()(layers.Embedding(9, 3)(tokens))
    model = gx.Model([x, tokens], {"sum": x + pooled})
    model.export(tmp_path / "net", check=False)
    predict = gx.export.load(tmp_path / "net").predict
    assert [one["shape"] for one in predict.about["inputs"]] == [["batch", 3], ["batch", 4]]
    ids = np.arange(24, dtype="int32").reshape(6, 4) % 9
    np.testing.assert_allclose(predict([X, ids])["sum"], model([X, ids])["sum"], rtol=1e-6)


def test_a_model_that_was_not_called_needs_inputs(tmp_path: Path) -> None:
    model = gx.Sequential([layers.Dense(1)])
    with pytest.raises(NotBuiltError, match="has not been called"):
        model.export(tmp_path / "net")
    model.build((None, 3))
    model(X)
    with pytest.raises(NotBuiltError, match=r"(?s)was built for the shape \(None, 3\), not by.*Spec\('batch 3'\)"):
        model.export(tmp_path / "net")
    model.export(tmp_path / "net", gx.export.Spec("batch 3"), check=False, platforms=("cpu",))
    with pytest.raises(gx.errors.DestinationExists):
        model.export(tmp_path / "net", gx.export.Spec("batch 3"))
    model.export(tmp_path / "net", X, overwrite=True, weights="inside", vjp_order=1, check=False)


@pytest.mark.broad
def test_state_that_moves_at_each_call_is_part_of_the_artefact_if_that_is_said(tmp_path: Path) -> None:
    model = gx.Sequential([layers.GRU(4, stateful=True, return_sequences=True), layers.Dense(1)])
    steps = np.random.default_rng(1).normal(size=(2, 6, 3)).astype("float32")
    model(steps[:, :2])
    with pytest.raises(ExportError) as caught:
        model.export(tmp_path / "net", gx.export.Spec("2 time 3"))
    assert "Sequential assigns layers/0/carried/0, with training=False, too" in str(caught.value)
    assert "assigns=True in model.export(path)" in str(caught.value)
    model.layers[0].reset_state()
    wanted = model(steps)
    model.layers[0].reset_state()
    report = model.export(tmp_path / "net", gx.export.Spec("2 time 3"), assigns=True)
    assert report.signatures["predict"].checked is not None
    artefact = gx.export.load(tmp_path / "net")
    found = [artefact.predict(steps[:, start:stop]) for start, stop in ((0, 1), (1, 4), (4, 6))]
    np.testing.assert_allclose(np.concatenate(found, axis=1), wanted, rtol=1e-6, atol=1e-6)
