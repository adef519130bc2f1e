"""Copies of weights that are kept."""

import numpy as np

import graftax as gx
from graftax import layers
from graftax.training.weights import KeptWeights, weights_of
from tests.training.lines import X, Y, line


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


def test_a_copy_survives_training():
    model = line(0.1)
    model.fit(X, Y, verbose=0)
    kept, before = KeptWeights(model), model.variables[0].numpy()
    model.fit(X, Y, epochs=2, verbose=0)
    kept.restore(model)
    np.testing.assert_array_equal(model.variables[0].numpy(), before)
    model.fit(X, Y, verbose=0)
