"""A resumed run writes into the arrays, lists and dicts that are there, if the saved run had written into its own."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X = np.ones((4, 1), "float32")


class KilledError(Exception):
    pass


class Holds(gx.Callback):
    """Writes labels into what it holds, which the run trains on; `last` is another object in each epoch."""

    def __init__(self, held, y):
        self.held, self.y, self.last = held, y, y

    def on_epoch_end(self, epoch, logs=None):
        self.y[...] = epoch + 1
        self.last = np.full((4, 1), -5.0, "float32")
        if isinstance(self.held, list | dict):
            self.held[0] = epoch


class Target(gx.Model):
    def __init__(self, target):
        super().__init__()
        self.dense, self.target = layers.Dense(1, use_bias=False, kernel_initializer="zeros"), target

    def call(self, x):
        return self.dense(x)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
        return ops.mean((y_pred - self.target) ** 2)


def kill(at, model):
    def stop(batch, logs):
        if at and int(model.optimizer.iterations) == at:
            raise KilledError

    return gx.callbacks.LambdaCallback(on_train_batch_end=stop)


def run(folder, hold, at=None):
    """Return the kernel after four epochs of two steps, or None if it was killed before."""
    y = np.zeros((4, 1), "float32")
    model = gx.Sequential([layers.Dense(1, use_bias=False, kernel_initializer="zeros")])
    model.compile(gx.optimizers.SGD(0.1), "mse")
    held = hold(y)
    callback = Holds(held, y if held is None else None)
    if held is not None:
        callback.on_epoch_end = lambda epoch, logs=None: y_of(callback.held).__setitem__(..., epoch + 1.0)
    hooks = [callback, gx.callbacks.ModelCheckpoint(folder, every=1), kill(at, model)]
    try:
        model.fit(X, y, batch_size=2, epochs=4, verbose=0, shuffle=False, resume=folder, callbacks=hooks)
    except KilledError:
        return None
    assert callback.last is None or callback.last is not y
    return float(model.layers[0].kernel.numpy()[0, 0])


def y_of(held):
    while not isinstance(held, np.ndarray):
        held = held["y"] if isinstance(held, dict) else held[0]
    return held


HOLDS = {
    "the array": lambda y: None,
    "a list": lambda y: [y],
    "a dict": lambda y: {"y": y, "n": 1},
    "a list in a dict in a tuple": lambda y: ({"y": [y]},),
}


@pytest.mark.parametrize("hold", HOLDS)
@pytest.mark.parametrize("at", [3, 5])
def test_the_data_of_the_run_are_written_to_again(hold, at, tmp_path):
    whole = run(tmp_path / "whole", HOLDS[hold])
    assert run(tmp_path / "run", HOLDS[hold], at) is None
    assert run(tmp_path / "run", HOLDS[hold]) == whole


@pytest.mark.parametrize("at", [3, 5])
def test_an_array_of_the_model_that_a_callback_writes_to(at, tmp_path):
    def go(folder, at=None):
        target = np.zeros(1, "float32")
        model = Target(target)
        model.compile(gx.optimizers.SGD(0.1))

        def write(epoch, logs):
            target[:] = epoch + 1.0

        hooks = [gx.callbacks.LambdaCallback(on_epoch_end=write), gx.callbacks.ModelCheckpoint(folder, every=1)]
        try:
            model.fit(X, batch_size=2, epochs=4, verbose=0, resume=folder, callbacks=[*hooks, kill(at, model)])
        except KilledError:
            return None
        return float(model.dense.kernel.numpy()[0, 0])

    whole = go(tmp_path / "whole")
    assert go(tmp_path / "run", at) is None
    assert go(tmp_path / "run") == whole


def test_an_object_that_was_replaced_is_not_written_into(tmp_path):
    """The attribute held the data of the run at the start, and something else when it was saved."""
    assert run(tmp_path / "run", HOLDS["the array"], 5) is None
    y = np.zeros((4, 1), "float32")
    model = gx.Sequential([layers.Dense(1, use_bias=False)])
    model.compile(gx.optimizers.SGD(0.1), "mse")
    callback = Holds(None, y)
    hooks = [callback, gx.callbacks.ModelCheckpoint(tmp_path / "run", every=1)]
    model.fit(X, y, batch_size=2, epochs=3, verbose=0, shuffle=False, resume=tmp_path / "run", callbacks=hooks)
    np.testing.assert_array_equal(y, 3.0)
    np.testing.assert_array_equal(callback.last, -5.0)
