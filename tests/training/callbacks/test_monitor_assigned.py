"""The number that a callback watches, assigned after the constructor: it is used, and checked alike."""

from tempfile import mkdtemp

import numpy as np
import pytest

import graftax as gx
from graftax.errors import ArgumentError, ArgumentTypeError, DataError

X = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")

CALLBACKS = {
    "EarlyStopping": lambda folder, **given: gx.callbacks.EarlyStopping(**given),
    "ReduceLROnPlateau": lambda folder, **given: gx.callbacks.ReduceLROnPlateau(**given),
    "ModelCheckpoint": lambda folder, **given: gx.callbacks.ModelCheckpoint(mkdtemp(dir=folder), **given),
}
MOMENTS = ["after the constructor", "between fits"]


def fit(callback):
    model = gx.Sequential([gx.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    model.fit(X, X[:, :1], verbose=0, callbacks=[callback])


@pytest.fixture(params=CALLBACKS)
def make(request, tmp_path):
    return lambda **given: CALLBACKS[request.param](tmp_path, **given)


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_unknown_name_is_told_of_as_in_the_constructor(make, moment, tmp_path):
    with pytest.raises(DataError) as before:
        fit(make(monitor="val_losss"))
    callback = make(monitor="loss")
    if moment == "between fits":
        fit(callback)
        if isinstance(callback, gx.callbacks.ModelCheckpoint):
            callback.directory = mkdtemp(dir=tmp_path)
    callback.monitor = "val_losss"
    with pytest.raises(DataError) as now:
        fit(callback)
    assert (now.value.received, now.value.reason) == (before.value.received, before.value.reason)


def test_a_name_that_is_there_is_used(make):
    callback = make(monitor="val_losss", mode="min")
    callback.monitor = "mae"
    assert (callback.monitor.name, callback.monitor.mode) == ("mae", "min")
    fit(callback)
    assert callback.monitor.seen


def test_a_mode_is_inferred_anew_or_kept(make):
    callback = make(monitor="loss")
    callback.monitor = "accuracy"
    assert callback.monitor.mode == "max"
    callback = make(monitor="loss", mode="min")
    callback.monitor = "accuracy"
    assert callback.monitor.mode == "min"


@pytest.mark.parametrize(("value", "error"), [(3, ArgumentTypeError), ("height", ArgumentError)])
def test_what_the_constructor_refuses_is_refused(make, value, error):
    with pytest.raises(error) as before:
        make(monitor=value)
    callback = make(monitor="loss")
    with pytest.raises(error) as now:
        callback.monitor = value
    assert now.value.received == before.value.received
    assert callback.monitor.name == "loss"


def test_the_best_of_another_number_is_forgotten():
    callback = gx.callbacks.EarlyStopping("loss")
    callback.best, callback.wait = 0.1, 3
    callback.monitor = "accuracy"
    assert (callback.best, callback.wait) == (-np.inf, 0)


def test_a_checkpoint_may_watch_nothing_and_something_again(tmp_path):
    callback = gx.callbacks.ModelCheckpoint(tmp_path, monitor="loss")
    callback.monitor = None
    fit(callback)
    assert callback.manager.retention.monitor is None
    callback.monitor = "mae"
    assert callback.monitor.name == "mae"
