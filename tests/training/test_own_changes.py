"""Compiled steps of fit see what their own Python, and what they build, changes: they give what eager steps give."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops


class Scaled(gx.Layer):
    def __init__(self):
        super().__init__()
        self.ready = False

    def build(self, input_shape):
        self.scale = self.add_weight((input_shape[-1],), initializer="ones", name="scale")

    def call(self, x, training=False):
        if training and not self.ready:
            self.scale.assign(1 / (ops.std(x, axis=0) + 1e-6))
            self.ready = True
        return x * self.scale


@pytest.mark.parametrize("build", [True, False])
def test_fit_initialises_by_the_first_batch_once(build):
    x = np.random.default_rng(0).normal(size=(20, 3)).astype("float32") * 5

    def fit(eagerly):
        gx.set_random_seed(0)
        model = gx.Sequential([Scaled(), layers.Dense(1)])
        if build:
            model.build((None, 3))
        model.compile(gx.optimizers.SGD(0.01), "mse", run_eagerly=eagerly)
        return model.fit(x, x[:, :1], batch_size=5, epochs=2, shuffle=False, verbose=0).history["loss"]

    np.testing.assert_allclose(fit(False), fit(True), rtol=1e-4)


@pytest.mark.broad
def test_a_train_step_sees_the_slots_that_its_first_run_made():
    class Normed(gx.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, x):
            return self.dense(x)

        def train_step(self, batch):
            x, y = batch
            norm = sum((ops.sum(ops.abs(r.slot)) for r in self.optimizer.slots()), ops.asarray(0.0))
            loss = self.optimizer.minimize(lambda: ops.mean((self(x) - y) ** 2), self)
            return {"loss": loss, "norm": norm}

    x = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")

    def fit(eagerly):
        gx.set_random_seed(0)
        model = Normed()
        model.compile(gx.optimizers.SGD(0.01, momentum=0.9), "mse", run_eagerly=eagerly)
        return model.fit(x, x[:, :1], batch_size=4, epochs=3, shuffle=False, verbose=0).history["norm"]

    found = fit(False)
    np.testing.assert_allclose(found, fit(True), rtol=1e-4)
    assert min(found) > 0
