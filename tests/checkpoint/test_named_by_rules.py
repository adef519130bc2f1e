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
