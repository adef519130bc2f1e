"""Which Variables are the weights of a model."""

import numpy as np

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
