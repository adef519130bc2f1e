"""Weights as arrays: copies that are kept, and what is refused."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import ArgumentTypeError, ShapeError
from graftax.training.weights import KeptWeights, assign_weights, weights_of
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


def test_all_or_none():
    model = model_of_two()
    before = [v.numpy() for v in weights_of(model)]
    with pytest.raises(ShapeError, match="layers/0/bias"):
        assign_weights(weights_of(model), [np.zeros((3, 2)), np.zeros(3), *before[2:]])
    with pytest.raises(ArgumentTypeError, match="5 arrays for 6 weights"):
        assign_weights(weights_of(model), before[:5])
    with pytest.raises(ArgumentTypeError, match="a list of arrays"):
        assign_weights(weights_of(model), "weights")
    for variable, value in zip(weights_of(model), before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)


def test_a_copy_survives_training():
    model = line(0.1)
    model.fit(X, Y, verbose=0)
    kept, before = KeptWeights(model), model.variables[0].numpy()
    model.fit(X, Y, epochs=2, verbose=0)
    kept.restore(model)
    np.testing.assert_array_equal(model.variables[0].numpy(), before)
    model.fit(X, Y, verbose=0)
