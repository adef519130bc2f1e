"""Layers that a loss calls, such as a frozen teacher, are no part of the model's call: they run in inference."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X = np.ones((4, 50), dtype="float32")


def zeros(like):
    return 0.0 * ops.mean(like)


class InLoss(gx.Model):
    def __init__(self, part):
        super().__init__()
        self.dense, self.part = layers.Dense(50), part

    def call(self, x):
        return self.dense(x)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
        return ops.mean((self.part(y) - y) ** 2) + zeros(y_pred)


class InOwnStep(InLoss):
    def train_step(self, batch):
        x, y = batch
        loss = self.optimizer.minimize(
            lambda: self.compute_loss(x, y, self(x, training=True)), self.dense.trainable_variables
        )
        return {"loss": loss}


def by_function(part):
    model = gx.Sequential([layers.Dense(50)])
    return model, lambda y, y_pred: ops.mean((part(y) - y) ** 2) + zeros(y_pred)


def by_loss(part):
    class Distance(gx.losses.Loss):
        def __init__(self):
            super().__init__()
            self.part = part

        def call(self, y_true, y_pred):
            return ops.mean((self.part(y_true) - y_true) ** 2, axis=-1) + zeros(y_pred)

    return gx.Sequential([layers.Dense(50)]), Distance()


WAYS = {
    "function": by_function,
    "loss": by_loss,
    "compute_loss": lambda part: (InLoss(part), None),
    "own step": lambda part: (InOwnStep(part), None),
}
RUNS = {
    "fit": lambda model: model.fit(X, X, verbose=0).history["loss"][0],
    "train_on_batch": lambda model: model.train_on_batch(X, X)["loss"],
    "evaluate": lambda model: model.evaluate(X, X, verbose=0)["loss"],
}


@pytest.mark.parametrize("eager", [False, True], ids=["compiled", "eager"])
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.in_turn(3)
def test_a_loss_calls_its_layers_in_inference(way, run, eager):
    part = layers.Dropout(0.5)
    model, loss = WAYS[way](part)
    model.compile("sgd", loss, run_eagerly=eager)
    model(X)
    assert float(RUNS[run](model)) == 0.0


@pytest.mark.parametrize("way", ["function", "compute_loss"])
def test_a_normalization_in_a_loss_keeps_its_statistics(way):
    part = layers.BatchNormalization()
    part(X)
    before = np.asarray(part.moving_mean)
    model, loss = WAYS[way](part)
    model.compile("sgd", loss)
    model.fit(X, X, verbose=0)
    np.testing.assert_array_equal(part.moving_mean, before)


def test_a_loss_may_ask_for_training():
    part = layers.Dropout(0.5)
    model = gx.Sequential([layers.Dense(50)])
    model.compile("sgd", lambda y, y_pred: ops.mean((part(y, training=True) - y) ** 2) + zeros(y_pred))
    assert model.fit(X, X, verbose=0).history["loss"][0] > 0.5
