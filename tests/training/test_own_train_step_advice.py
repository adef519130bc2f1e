"""A model with a ``train_step`` of its own that is validated by the step of this library, without a loss."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import StateError

X = np.ones((4, 3), "float32")


class Own(gx.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)

    def call(self, x):
        return self.dense(x)

    def train_step(self, batch):
        x, y = batch
        return {"loss": self.optimizer.minimize(lambda: ops.mean((self(x) - y) ** 2), self.trainable_variables)}


class Measured(Own):
    def test_step(self, batch):
        x, y = batch
        return {"loss": ops.mean((self(x, training=False) - y) ** 2)}


@pytest.mark.broad
def test_a_validation_without_a_loss_asks_for_a_test_step():
    model = Own()
    model.compile("sgd")
    told = r"(?s)has no loss.*instead: def test_step\(self, batch\) in Own.*x, y = batch.*; or model\.compile"
    with pytest.raises(StateError, match=told):
        model.fit(X, X[:, :1], validation_data=(X, X[:, :1]), verbose=0)
    model = Measured()
    model.compile("sgd")
    assert "val_loss" in model.fit(X, X[:, :1], validation_data=(X, X[:, :1]), verbose=0).history
