"""A callback that compiles the model between two epochs: the next ones use it, and other metrics are said."""

import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.ones((4, 3), "float32")


class Compiles(gx.callbacks.Callback):
    def __init__(self, metrics):
        super().__init__()
        self.metrics = metrics

    def on_epoch_end(self, epoch, logs=None):
        if epoch == 1:
            self.model.compile("sgd", "mae", metrics=self.metrics)


def run(metrics, **options):
    model = gx.Sequential([layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        history = model.fit(X, X[:, :1], epochs=4, verbose=0, callbacks=[Compiles(metrics)], **options).history
    return history, [str(one.message) for one in found]


@pytest.mark.broad
@pytest.mark.parametrize("options", [{}, {"validation_data": (X, X[:, :1]), "validation_freq": 2}])
def test_other_metrics_are_said_once(options):
    history, told = run(["mse"], **options)
    assert (len(history["mae"]), len(history["mse"])) == (2, 2)
    assert len(told) == 1
    assert "compiled again within fit, before epoch 3: the history has 'mae' only before and 'mse' only from" in told[0]
    assert "initial_epoch=2) after fit(..., epochs=2)" in told[0]


@pytest.mark.broad
def test_the_same_metrics_are_as_expected():
    history, told = run(["mae"])
    assert told == []
    assert len(history["loss"]) == len(history["mae"]) == 4
    np.testing.assert_allclose(history["loss"][2:], history["mae"][2:], rtol=1e-6)  # the new loss
