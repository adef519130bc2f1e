"""Rules of optimizers see the paths of the model that is trained, whoever owned its weights first."""

import gc

import numpy as np
import pytest

import graftax as gx
from graftax import layers, optimizers

RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 4)).astype("float32")
Y = RNG.normal(size=(8, 4)).astype("float32")
MSE = gx.losses.MeanSquaredError()
FROZEN = {"frozen": True}


class Net(gx.Model):
    """A body of two layers and a head, which may be one that the body has, too; its step is its own."""

    def __init__(self, body, head):
        super().__init__()
        self.layers = [body, head]

    def call(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class OwnStep(Net):
    def train_step(self, batch):
        x, y = batch
        return {"loss": self.optimizer.minimize(lambda: MSE(y, self(x)), self)}


class StepOfParts(Net):
    """Gives its parts to the optimizer, one after the other: rules are still about the whole."""

    def train_step(self, batch):
        x, y = batch
        self.optimizer.minimize(lambda: MSE(y, self(x)), self.layers[0])
        return {"loss": self.optimizer.minimize(lambda: MSE(y, self(x)), self.layers[1].trainable_variables)}


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

# --- whose weights they are: kind of model -> (model, what must live) ---------------------------------------------


def weights(kind):
    """Return a model whose weights hang in nothing else."""
    gx.set_random_seed(3)
    model = kind(gx.Sequential([layers.Dense(4), layers.Dense(4)]), layers.Dense(4))
    model(X)
    return model


def older_model(kind):
    fresh = weights(kind)
    older = gx.Sequential([layers.Dense(4), layers.Dense(4), layers.Dense(1)])
    older(X)
    model = kind(older[:2], layers.Dense(4))
    model(X)
    gx.assign_state(model, gx.state(fresh))
    assert [v.path for v in model.variables] != list(model.named_variables())
    return model, older


def older_model_in_other_order(kind):
    fresh = weights(kind)
    older = gx.Sequential([layers.Dense(4), layers.Dense(4), layers.Dense(4)])
    older(X)
    body = gx.Sequential([older.layers[2], older.layers[0]])
    model = kind(body, older.layers[1])
    model(X)
    gx.assign_state(model, gx.state(fresh))
    return model, (older, body)


def model_that_is_gone(kind):
    model, older = older_model(kind)
    del older
    gc.collect()
    return model, None


def part_of_another(kind):
    model = weights(kind)
    whole = gx.Module()
    whole.layers = [model]
    return model, whole


OWNERS = [older_model, older_model_in_other_order, model_that_is_gone, part_of_another]

RULES = [
    ("layers/1/**", {"learning_rate_multiplier": 0.25}),
    ("layers/0/layers/0/**", FROZEN),
    ("layers/0/layers/1/kernel", {"weight_decay": 0.5}),
]
OPTIMIZERS = {
    "rules": lambda: optimizers.SGD(0.1, momentum=0.5, rules=RULES),
    "muon": lambda: optimizers.Muon(0.1, adamw=("layers/0/layers/0/**", "**/bias")),
    "within": lambda: optimizers.SGD(
        0.1, rules=[("layers/0/**", {"optimizer": optimizers.Adam(0.1, rules=RULES[1:])})]
    ),
    "lookahead": lambda: optimizers.Lookahead(optimizers.SGD(0.1, rules=RULES), every=2),
    "sam": lambda: optimizers.SAM(optimizers.SGD(0.1, rules=RULES)),
    "accumulated": lambda: optimizers.AdamW(0.1, accumulation_steps=2, ema_momentum=0.5, rules=RULES),
    "cross_shard": lambda: optimizers.CrossShard(optimizers.SGD(0.1, rules=RULES)),
}


def values_after(train, model, optimizer):
    train(model, optimizer)
    return gx.state(model)


def expect_same(one, other):
    assert one.keys() == other.keys()
    for path, value in one.items():
        np.testing.assert_allclose(other[path], value, rtol=2e-5, atol=1e-6, err_msg=path)


@pytest.mark.in_turn(4)
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


@pytest.mark.parametrize("kind", [OwnStep, StepOfParts])
@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("train", [by_fit, by_batch_eagerly])
def test_rules_see_the_model_in_steps_of_its_own(train, owner, kind):
    expected = values_after(train, weights(kind), optimizers.SGD(0.1, rules=RULES))
    model, lives = owner(kind)
    expect_same(expected, values_after(train, model, optimizers.SGD(0.1, rules=RULES)))
    del lives
