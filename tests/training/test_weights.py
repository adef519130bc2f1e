"""Which Variables are the weights of a model."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.training.weights import weights_of


def model_of_two():
    model = gx.Sequential([layers.Dense(2), layers.BatchNormalization()])
    model(np.ones((1, 3), "float32"))
    return model


def test_weights_are_those_of_layers_in_their_order():
    model = model_of_two()
    model.compile("adam", "mse", metrics=["mae"])
    x = np.ones((4, 3), "float32")
    model.fit(x, x[:, :2], verbose=0)
    assert [v.path for v in weights_of(model)] == [
        *(f"layers/0/{name}" for name in ("kernel", "bias")),
        *(f"layers/1/{name}" for name in ("gamma", "beta", "moving_mean", "moving_variance")),
    ]


def test_load_weights_names_what_takes_options(tmp_path):
    model = gx.Sequential([gx.Input((4,)), gx.layers.Dense(2)])
    model.save_weights(tmp_path / "w")
    other = gx.Sequential([gx.Input((4,)), gx.layers.Dense(2), gx.layers.Dense(3)])
    with pytest.raises(gx.errors.MissingInCheckpoint) as caught:
        other.load_weights(tmp_path / "w")
    instead = caught.value.instead
    assert instead.startswith("gx.Checkpoint(model=model).restore('")
    assert "which takes skip=, map=, mode= and cast=. There, skip=" in instead
    restored = gx.Checkpoint(model=other).restore(tmp_path / "w", only="model/**", skip="model/layers/1")
    assert len(restored.restored) == 2
