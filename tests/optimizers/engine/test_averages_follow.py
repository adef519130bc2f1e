"""Averages of the weights follow the values at each update, whatever it is that the update moves."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.optimizers import SGD, Adam

pytestmark = pytest.mark.filterwarnings("ignore:LossScale")  # gradients are made up, and scaled by hand or not at all


def follow(values, momentum):
    """The average after each update, by hand."""
    average = values[0]
    for value in values[1:]:
        average = momentum * average + (1 - momentum) * value
    return average


def pair():
    return gx.Variable([0.0], name="a"), gx.Variable([0.0], name="b")


def frozen(optimizer, a, b, run):
    b.trainable = False
    run(lambda: optimizer.apply([[-1.0]], [a]))()


def without_gradient(optimizer, a, b, run):
    with pytest.warns(UserWarning, match="no gradient for b"):
        run(lambda: optimizer.apply([[-1.0], None], [a, b]))()


def left_out(optimizer, a, b, run):
    run(lambda: optimizer.apply([[-1.0]], [a]))()


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("run", [lambda f: f, gx.jit], ids=["eager", "compiled"])
@pytest.mark.parametrize("way", [frozen, without_gradient, left_out])
def test_what_an_update_leaves_alone_arrives_at_its_value(way, run):
    """`averaged()` evaluated with a value that the weight had left long ago."""
    (a, b), optimizer = pair(), SGD(1.0, ema_momentum=0.5)
    values = [1.0, 2.0, 3.0]
    for _ in values:
        optimizer.apply([[-1.0], [-1.0]], [a, b])
    for _ in range(4):
        way(optimizer, a, b, run)
    with optimizer.averaged():
        assert a.numpy().tolist() == [follow([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 0.5)]
        assert b.numpy().tolist() == [follow([*values, 3.0, 3.0, 3.0, 3.0], 0.5)]
    assert (a.numpy().tolist(), b.numpy().tolist()) == ([7.0], [3.0])


def test_what_is_assigned_to_a_frozen_variable_is_followed_too():
    (a, b), optimizer = pair(), SGD(1.0, ema_momentum=0.5)
    optimizer.apply([[-1.0], [-1.0]], [a, b])
    b.trainable = False
    b.assign([9.0])
    for _ in range(2):
        optimizer.apply([[-1.0]], [a])
    with optimizer.averaged():
        assert b.numpy().tolist() == [follow([1.0, 9.0, 9.0], 0.5)]


def test_accumulation_and_skipped_updates_move_no_average():
    (a, b), optimizer = pair(), SGD(1.0, ema_momentum=0.5, accumulation_steps=2)
    for _ in range(2):
        optimizer.apply([[-1.0], [-1.0]], [a, b])
    b.trainable = False
    for _ in range(3):  # one update, and half of another
        optimizer.apply([[-1.0]], [a])
    with optimizer.averaged():
        assert b.numpy().tolist() == [1.0]
        assert a.numpy().tolist() == [follow([1.0, 2.0], 0.5)]
    scaled = Adam(0.1, ema_momentum=0.5, loss_scale=2.0)
    c, d = pair()
    scaled.apply([[1.0], [1.0]], [c, d])
    before = scaled.slot(d, "moving_average").numpy()
    d.assign([5.0])
    scaled.apply([[np.inf]], [c])
    np.testing.assert_array_equal(scaled.slot(d, "moving_average"), before)
    scaled.apply([[1.0]], [c])
    assert scaled.slot(d, "moving_average").numpy() > before


@pytest.mark.broad
def test_a_layer_that_is_frozen_between_two_fits():
    x = np.random.default_rng(0).normal(size=(32, 3)).astype("float32")
    model = gx.Sequential([layers.Dense(3), layers.Dense(1)])
    model.compile(Adam(0.05, ema_momentum=0.8), "mse")
    model.fit(x, x[:, :1], epochs=3, verbose=0)
    model.layers[0].trainable = False
    kernel = model.layers[0].kernel
    stays = kernel.numpy()
    model.fit(x, x[:, :1], epochs=60, verbose=0)
    np.testing.assert_array_equal(kernel, stays)
    with model.optimizer.averaged():
        np.testing.assert_allclose(kernel, stays, atol=1e-5)
