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
