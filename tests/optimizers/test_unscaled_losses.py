"""An optimizer with ``loss_scale`` says so where it gets gradients of a loss that nothing has scaled."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X, Y = np.eye(4, dtype="float32"), np.ones((4, 1), "float32")


class Plain(gx.Model):
    """A model whose step takes the gradient of the loss as it is."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1, use_bias=False, kernel_initializer="zeros")
        self(X)

    def call(self, x):
        return self.dense(x)

    def scaled(self, loss):
        return loss

    def train_step(self, batch):
        x, y = batch
        with gx.GradientTape() as tape:
            loss = ops.mean((self(x, training=True) - y) ** 2)
            scaled = self.scaled(loss)
        weights = self.trainable_variables
        self.optimizer.apply(tape.gradient(scaled, weights), weights)
        return {"loss": loss}


class Scaled(Plain):
    def scaled(self, loss):
        return self.optimizer.scale_loss(loss)


def optimizer(scale=1024.0):
    return gx.optimizers.SGD(1.0, loss_scale=scale)


@pytest.mark.parametrize("scale", [1024.0, "dynamic"])
@pytest.mark.parametrize("is_eager", [True, False], ids=["eager", "compiled"])
def test_a_step_of_ones_own(is_eager, scale):
    model = Plain()
    model.compile(optimizer(scale), run_eagerly=is_eager)
    with pytest.warns(UserWarning, match=r"optimizer\.scale_loss\(loss\)") as told:
        model.fit(X, Y, epochs=3, batch_size=2, verbose=0)
    assert len(told) == 1
    assert "test_unscaled_losses.py" in told[0].filename
    model = Scaled()
    model.compile(optimizer(scale), run_eagerly=is_eager)
    model.fit(X, Y, batch_size=4, verbose=0)
    np.testing.assert_allclose(model.dense.kernel, np.full((4, 1), 0.5), rtol=1e-6)


def test_what_scales_by_itself_says_nothing():
    w = gx.Variable([1.0])
    one = optimizer()
    one.minimize(lambda: ops.sum(w * w), [w])
    for other in (one, *copy.deepcopy((w, one))[1:], pickle.loads(pickle.dumps((w, one)))[1]):
        assert other.loss_scale._gx_is_asked
    model = gx.Sequential([layers.Dense(1)])
    model.compile(optimizer(), "mse")
    model.fit(X, Y, verbose=0)
    model.train_on_batch(X, Y)


def test_a_loop_of_ones_own_is_told_once():
    w, one = gx.Variable([1.0]), optimizer()
    step = gx.jit(lambda: one.apply([2 * w.value], [w]))
    with pytest.warns(UserWarning, match="no loss was multiplied by it"):
        step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step()
        one.apply([[1.0]], [w])


def test_a_factor_of_1_only_leaves_out_what_is_not_finite():
    w, one = gx.Variable([1.0]), optimizer(1.0)
    for gradient in (np.inf, 0.25):
        one.apply([[gradient]], [w])
    assert w.numpy().tolist() == [0.75]
