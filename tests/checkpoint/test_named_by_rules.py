"""Optimizers that rules name are found again by their rules, in whichever order the program has them."""

import itertools

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.optimizers import SGD, AdamW

X = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
RULES = {
    "layers/0/**": lambda: SGD(0.05, momentum=0.9),
    "layers/1/**": lambda: SGD(0.5, momentum=0.5),
    "layers/2/**": lambda: SGD(0.2),
}


def program(order):
    model = gx.Sequential([layers.Dense(4, use_bias=False) for _ in range(4)])
    model.build((None, 4))
    names = list(RULES)
    return model, AdamW(0.01, rules=[(names[i], {"optimizer": RULES[names[i]]()}) for i in order])


def step(model, optimizer):
    optimizer.minimize(lambda: ops.mean((model(X) - 1) ** 2), model)


@pytest.mark.parametrize("is_built", [False, True])
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_rules_in_another_order(order, is_built, tmp_path):
    gx.set_random_seed(0)
    model, optimizer = program(range(3))
    for _ in range(3):
        step(model, optimizer)
    gx.Checkpoint(model=model, optimizer=optimizer).save(tmp_path / "saved")
    step(model, optimizer)
    other, again = program(order)
    if is_built:
        step(other, again)
    gx.Checkpoint(model=other, optimizer=again).restore(tmp_path / "saved").assert_consumed()
    step(other, again)
    for one, same in zip(model.variables, other.variables, strict=True):
        np.testing.assert_array_equal(one.numpy(), same.numpy())
    assert [float(one.learning_rate) for one in again.others] == pytest.approx([[0.05, 0.5, 0.2][i] for i in order])


def train(folder, order, epochs, rate):
    """A run in which a callback changes the rate of the last optimizer that a rule names."""
    gx.set_random_seed(0)
    model, optimizer = program(order)
    last = optimizer.others[order.index(2)]

    def change(epoch, logs=None):
        if epoch == 1:
            last.learning_rate = rate

    model.compile(optimizer, "mse")
    callbacks = [gx.callbacks.ModelCheckpoint(folder), gx.callbacks.LambdaCallback(on_epoch_begin=change)]
    model.fit(X, X, epochs=epochs, batch_size=4, shuffle=False, verbose=0, resume=folder, callbacks=callbacks)
    return [variable.numpy() for variable in model.variables], float(last.learning_rate)


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.07])
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_rate_that_a_callback_changed_stays(order, rate, tmp_path, recwarn):
    whole = train(tmp_path / "whole", (0, 1, 2), 4, rate)
    train(tmp_path / "run", (0, 1, 2), 2, rate)
    resumed = train(tmp_path / "run", order, 4, rate)
    assert resumed[1] == pytest.approx(rate)
    for one, same in zip(whole[0], resumed[0], strict=True):
        np.testing.assert_array_equal(one, same)
    assert not recwarn.list
