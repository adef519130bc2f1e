"""model.export: a model as a program that runs without graftax."""

from pathlib import Path

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import NotBuiltError

X = np.random.default_rng(0).normal(size=(6, 3)).astype("float32")


def test_a_trained_model_is_exported_as_it_predicts(tmp_path: Path) -> None:
    model = gx.Sequential([layers.Dense(4, "relu"), layers.BatchNormalization(), layers.Dropout(0.5), layers.Dense(1)])
    model.compile(optimizer=gx.optimizers.Adam(0.1), loss="mse")
    model.fit(X, X[:, :1], epochs=2, batch_size=3, verbose=0)
    report = model.export(tmp_path / "net")
    assert report.signatures["predict"].rows
    assert "model/layers/1/moving_mean" in gx.export.load(tmp_path / "net").values
    np.testing.assert_allclose(gx.export.load(tmp_path / "net").predict(X), model.predict(X, verbose=0), rtol=1e-6)


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
    model.export(tmp_path / "net", gx.export.Spec("batch 3"), check=False, platforms=("cpu",))
    with pytest.raises(gx.errors.DestinationExists):
        model.export(tmp_path / "net", gx.export.Spec("batch 3"))
    model.export(tmp_path / "net", X, overwrite=True, weights="inside", vjp_order=1, check=False)
