"""Metrics that have counted before begin anew with the first epoch or evaluation after `compile`, as with each."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, metrics

X, Y = np.ones((8, 3), "float32"), np.zeros((8, 1), "float32")

WAYS = {
    "evaluate": lambda model, y: model.evaluate(X, y, verbose=0)["mae"],
    "test_on_batch": lambda model, y: model.test_on_batch(X, y)["mae"],
    "first epoch": lambda model, y: model.fit(X, y, verbose=0).history["mae"][0],
    "validation": lambda model, y: model.fit(X, Y, validation_data=(X, y), verbose=0).history["val_mae"][0],
}


@pytest.mark.in_turn(4, broad=2)
@pytest.mark.parametrize("argument", ["metrics", "weighted_metrics"])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_shared_metrics_begin_anew_in_each_model(way, argument):
    shared = [metrics.MeanAbsoluteError(name="mae")]
    for target in (1.0, 2.0, 3.0):
        model = gx.Sequential([layers.Dense(1, kernel_initializer="zeros")])
        model.compile(gx.optimizers.SGD(0.0), "mse", **{argument: shared})
        assert float(way(model, Y + target)) == pytest.approx(target)


def test_a_metric_updated_by_hand_begins_anew():
    mae = metrics.MeanAbsoluteError(name="mae")
    mae.update(Y, Y + 7.0)
    model = gx.Sequential([layers.Dense(1, kernel_initializer="zeros")])
    model.compile(gx.optimizers.SGD(0.0), "mse", metrics=[mae])
    model.reset_metrics()
    assert float(mae.result()) == 0.0
    assert model.evaluate(X, Y + 2.0, verbose=0)["mae"] == pytest.approx(2.0)


@pytest.mark.broad
def test_without_a_reset_it_goes_on():
    mae = metrics.MeanAbsoluteError(name="mae")
    mae.update(Y, Y + 7.0)
    model = gx.Sequential([layers.Dense(1, kernel_initializer="zeros")])
    model.compile(gx.optimizers.SGD(0.0), "mse", metrics=[mae])
    assert model.test_on_batch(X, Y + 2.0, reset_metrics=False)["mae"] == pytest.approx(4.5)
