"""Exact resume with real layers and a real optimizer: straight through, or saved and restored, equal to the bit."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers


class Program:
    """A model with dropout and batch statistics, an optimizer and a compiled step."""

    def __init__(self):
        self.model = gx.Sequential(
            [layers.Dense(8, activation="relu"), layers.BatchNormalization(), layers.Dropout(0.3), layers.Dense(1)]
        )
        self.optimizer = gx.optimizers.Adam(1e-2)
        self.checkpoint = gx.Checkpoint(model=self.model, optimizer=self.optimizer)

        @gx.jit
        def step(x, y):
            def loss():
                return ((self.model(x, training=True) - y) ** 2).mean()

            value, gradients = gx.value_and_grad(loss, wrt=self.model.trainable_variables)()
            self.optimizer.apply(gradients, self.model.trainable_variables)
            return value

        self.step = step

    def train(self, steps):
        x = np.linspace(-1, 1, 32, dtype="float32").reshape(8, 4)
        y = x[:, :1] ** 2
        return [float(self.step(x, y)) for _ in range(steps)]

    def build(self):
        self.model(np.zeros((8, 4), "float32"))


@pytest.mark.parametrize("built", [True, False], ids=["built", "deferred"])
def test_resuming_is_exact(tmp_path, built):
    straight = Program()
    straight.build()
    straight.train(2)
    straight.checkpoint.save(tmp_path / "c", step=2)
    expected = straight.train(3)

    gx.set_random_seed(99)
    resumed = Program()
    if built:
        resumed.build()
    report = resumed.checkpoint.restore(tmp_path / "c")
    resumed.build()
    if not built:
        assert report.restored
    assert resumed.train(3) == expected
    report.assert_consumed()
    for a, b in zip(straight.model.variables, resumed.model.variables, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=a.path)


def fitted(model, first, last):
    x = np.linspace(-1, 1, 48, dtype="float32").reshape(12, 4)
    return model.fit(x, x[:, :1] ** 2, batch_size=4, initial_epoch=first, epochs=last, verbose=0).history["loss"]


class Noisy(gx.Layer):
    """Draws from the global stream."""

    def call(self, x):
        return x + gx.random.normal(x.shape, stddev=0.1)


def compiled():
    model = gx.Sequential([layers.Dense(8, activation="relu"), Noisy(), layers.Dropout(0.3), layers.Dense(1)])
    model.compile(gx.optimizers.Adam(1e-2), "mse")
    return model


@pytest.mark.broad
def test_fit_resumes_in_a_process_that_sets_no_seed(tmp_path):
    """Orders of rows, dropout and the global stream follow from what is saved."""
    gx.set_random_seed(21)
    straight = compiled()
    fitted(straight, 0, 2)
    gx.Checkpoint(model=straight, optimizer=straight.optimizer).save(tmp_path / "c", step=2)
    expected = fitted(straight, 2, 4)
    gx.set_random_seed(99)  # as a new process has
    resumed = compiled()
    resumed(np.zeros((4, 4), "float32"))
    gx.Checkpoint(model=resumed, optimizer=resumed.optimizer).restore(tmp_path / "c").assert_consumed()
    assert fitted(resumed, 2, 4) == expected
    for a, b in zip(straight.variables, resumed.variables, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=a.path)
