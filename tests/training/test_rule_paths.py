"""Rules of optimizers see the paths of the model that is trained, whoever owned its weights first."""

import numpy as np
import pytest

import graftax as gx
from graftax import optimizers
from tests.training.transferred import (
    MSE,
    OPTIMIZERS,
    OWNERS,
    RULES,
    Net,
    OwnStep,
    StepOfParts,
    X,
    Y,
    expect_same,
    weights,
)

# --- how a program trains: (model, optimizer) -> nothing --------------------------------------------------------------


def by_fit(model, optimizer):
    model.compile(optimizer, "mse")
    model.fit(X, Y, epochs=3, verbose=0, shuffle=False)


def by_fit_in_groups(model, optimizer):
    model.compile(optimizer, "mse", steps_per_execution=2)
    model.fit(X, Y, batch_size=4, epochs=2, verbose=0, shuffle=False)


def by_batch_eagerly(model, optimizer):
    model.compile(optimizer, "mse", run_eagerly=True)
    for _ in range(3):
        model.train_on_batch(X, Y)


def by_its_step(model, optimizer):
    model.compile(optimizer, "mse")
    step = gx.jit(model.train_step)
    for _ in range(3):
        step((X, Y))


def by_minimize(model, optimizer):
    for _ in range(3):
        optimizer.minimize(lambda: MSE(Y, model(X)), model)


def by_apply(model, optimizer):
    if isinstance(optimizer, optimizers.SAM):
        pytest.skip("it has no apply")
    for _ in range(3):
        optimizer.apply(gx.grad(lambda: MSE(Y, model(X)), wrt=model)(), model)


def by_build_and_lists(model, optimizer):
    if isinstance(optimizer, optimizers.SAM):
        pytest.skip("it has no build")
    optimizer.build(model)
    for _ in range(3):
        optimizer.minimize(lambda: MSE(Y, model(X)), model.trainable_variables)


def by_a_compiled_step(model, optimizer):
    step = gx.jit(lambda x, y: optimizer.minimize(lambda: MSE(y, model(x)), model))
    for _ in range(3):
        step(X, Y)


def by_pure_updates(model, optimizer):
    if isinstance(optimizer, optimizers.SAM):
        pytest.skip("it has no pure_update")
    state = optimizer.pure_state(model)
    values = {path: v.value for path, v in model.named_variables().items() if v.trainable}

    def loss(values):
        return MSE(Y, gx.functional_call(model, {**gx.state(model), **values}, X)[0])

    for _ in range(3):
        values, state = optimizer.pure_update(gx.grad(loss)(values), state, values)
    for path, variable in model.named_variables().items():
        variable.assign(values[path])


WAYS = [
    by_fit,
    by_fit_in_groups,
    by_batch_eagerly,
    by_its_step,
    by_minimize,
    by_apply,
    by_build_and_lists,
    by_a_compiled_step,
    by_pure_updates,
]


def values_after(train, model, optimizer):
    train(model, optimizer)
    return gx.state(model)


@pytest.mark.in_turn(120, broad=19)
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("train", WAYS)
def test_rules_see_the_model_that_is_trained(train, owner, name):
    fresh = weights(Net)
    start = gx.state(fresh)
    expected = values_after(train, fresh, OPTIMIZERS[name]())
    assert any(not np.array_equal(start[path], value) for path, value in expected.items())
    model, lives = owner(Net)
    expect_same(expected, values_after(train, model, OPTIMIZERS[name]()))
    del lives


@pytest.mark.in_turn(8, 1, broad=3)
@pytest.mark.parametrize("kind", [OwnStep, StepOfParts])
@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("train", [by_fit, by_batch_eagerly])
def test_rules_see_the_model_in_steps_of_its_own(train, owner, kind):
    expected = values_after(train, weights(kind), optimizers.SGD(0.1, rules=RULES))
    model, lives = owner(kind)
    expect_same(expected, values_after(train, model, optimizers.SGD(0.1, rules=RULES)))
    del lives
