"""Rules that leave nothing to train, and rules that select nothing any more: both are told once."""

import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")
Y = X[:, :1]


def fit(model, optimizer):
    model.compile(optimizer, "mse")
    for _ in range(2):
        model.fit(X, Y, verbose=0)


def step_by_minimize(model, optimizer):
    for _ in range(2):
        optimizer.minimize(lambda: ops.mean((model(X) - Y) ** 2), model)


def step_by_apply(model, optimizer):
    step = gx.jit(lambda: optimizer.apply(gx.grad(lambda: ops.mean((model(X) - Y) ** 2), wrt=model)(), model))
    for _ in range(2):
        step()


LOOPS = [fit, step_by_minimize, step_by_apply]
STILL = {
    "frozen": lambda: gx.optimizers.SGD(0.1, rules=[("**", {"frozen": True})]),
    "factor 0": lambda: gx.optimizers.Adam(0.1, rules=[("**", {"learning_rate_multiplier": 0.0})]),
    "both": lambda: gx.optimizers.SGD(
        0.1, rules=[("**/kernel", {"frozen": True}), ("**/bias", {"learning_rate_multiplier": 0})]
    ),
    "in another": lambda: gx.optimizers.SGD(
        rules=[("**", {"optimizer": gx.optimizers.Adam(rules=[("**", {"frozen": True})])})]
    ),
}
MOVING = {
    "a part": lambda: gx.optimizers.SGD(0.1, rules=[("layers/0/**", {"frozen": True})]),
    "a later rule": lambda: gx.optimizers.SGD(0.1, rules=[("**", {"frozen": True}), ("**/bias", {"frozen": False})]),
    "a Variable": lambda: gx.optimizers.SGD(
        0.1, rules=[("**", {"learning_rate_multiplier": gx.Variable(0.0, trainable=False)})]
    ),
}


def made():
    model = gx.Sequential([layers.Dense(2), layers.Dense(1)])
    model(X)
    return model


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("optimizer", STILL)
def test_rules_that_leave_nothing_to_train_are_told_once(optimizer, loop):
    model = made()
    before = [variable.numpy() for variable in model.variables]
    with pytest.warns(UserWarning, match="nothing is trained: rules= of") as told:
        loop(model, STILL[optimizer]())
    assert len(told) == 1
    for one, other in zip(before, model.variables, strict=True):
        np.testing.assert_array_equal(one, other.numpy())


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("optimizer", MOVING)
def test_nothing_is_told_where_something_can_change(optimizer, loop):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loop(made(), MOVING[optimizer]())


def test_frozen_weights_are_told_of_once_and_not_as_those_of_rules():
    model = made()
    model.trainable = False
    with pytest.warns(UserWarning, match="nothing is trained: all weights of") as told:
        fit(model, STILL["frozen"]())
    assert all("rules=" not in str(one.message).partition("frozen, ")[0] for one in told)


def test_a_part_that_is_left_alone_is_not_told_of():
    model, optimizer = made(), gx.optimizers.SGD(0.1, rules=[("layers/0/**", {"frozen": True})])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.build(model)
        optimizer.minimize(lambda: ops.mean((model(X) - Y) ** 2), model.layers[0].variables)


def ungraft(model):
    gx.ungraft(model)


def put_another_layer(model):
    model.layers[0] = layers.Dense(2)
    model(X)


@pytest.mark.parametrize("change", [ungraft, put_another_layer])
@pytest.mark.parametrize("loop", LOOPS)
def test_a_rule_that_selects_nothing_any_more_is_told_of(loop, change):
    model = made()
    gx.graft(model, gx.reparam.LoRA(1), where="layers/0/kernel")
    optimizer = gx.optimizers.SGD(0.1, rules=[("**/up", {"learning_rate_multiplier": 2.0})])
    loop(model, optimizer)
    change(model)
    with pytest.warns(UserWarning, match=r"rules= for '\*\*/up' selected weights of Sequential .* before") as told:
        loop(model, optimizer)  # two steps
    assert sum("selected weights" in str(one.message) for one in told) == 1


def test_a_change_of_the_model_that_leaves_the_rules_something_is_not_told_of():
    model, optimizer = made(), gx.optimizers.SGD(0.1, rules=[("**/kernel", {"learning_rate_multiplier": 2.0})])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for change in (lambda: None, lambda: gx.graft(model, gx.reparam.LoRA(1), where="**/kernel")):
            change()
            fit(model, optimizer)
