"""One number, whichever way a model is run and whatever is around the layer that adds a term: the plain sum.

The model is ``y = 0 * (x @ kernel)`` and adds ``turns * mean((x @ kernel)**2)``, whose gradient is that of the loss.
"""

from itertools import product

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from tests.conformance.lanes import crossed

RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 2)).astype("float32")
Y = RNG.normal(size=(8, 1)).astype("float32")
KERNEL = RNG.normal(size=(2, 2)).astype("float32")
RATE = 0.1

AROUND = {
    "nothing": (1, lambda f: f),
    "remat": (1, gx.remat),
    "jit": (1, gx.jit),
    "custom_gradient": (1, lambda f: gx.custom_gradient(lambda x: (f(x), lambda dy: dy))),
    "cond": (1, lambda f: lambda x: gx.cond(ops.sum(x * x) > -1, f, lambda x: x * 1.0, x)),
    "switch": (1, lambda f: lambda x: gx.switch(ops.sum(ops.cast(x > 99, "int32")), [f, lambda x: x * 1.0], x)),
    "while_loop": (
        3,
        lambda f: (
            lambda x: gx.while_loop(
                lambda c: c[0] < 3, lambda c: (c[0] + 1, f(c[1])), (ops.asarray(0), x), maximum_iterations=4
            )[1]
        ),
    ),
    "scan": (3, lambda f: lambda x: gx.scan(lambda c, _: (f(c), None), x, length=3)[0]),
    "map_fn": (8, lambda f: lambda x: gx.map_fn(lambda row: f(row), x)),
    "recompute_grad in scan": (
        2,
        lambda f: lambda x: gx.scan(lambda c, _: (gx.recompute_grad(f)(c), None), x, length=2)[0],
    ),
}


class Squares(gx.Layer):
    """Adds the sum of squares, over the size of the whole batch."""

    def call(self, x):
        self.add_loss(ops.sum(ops.square(x)) / X.size)
        return x * 1.0


class Inside(gx.Layer):
    def __init__(self, wrap):
        super().__init__()
        self.squares = Squares()
        self.wrapped = wrap(self.squares)

    def call(self, x):
        return self.wrapped(x)


class Net(gx.Model):
    """Of layers that are called one by one in a train_step of its own, where that is asked for."""

    def __init__(self, wrap, own_step=False):
        super().__init__()
        self.dense = layers.Dense(2, use_bias=False, kernel_initializer=lambda key, shape, dtype: KERNEL)
        self.inside = Inside(wrap)
        self.head = layers.Dense(1, use_bias=False, kernel_initializer="zeros")
        self.own_step = own_step

    def call(self, x):
        return self.head(self.inside(self.dense(x)))

    def train_step(self, batch):
        if not self.own_step:
            return super().train_step(batch)
        x, y = batch[:2]
        loss = lambda: self.compute_loss(x, y, self.head(self.inside(self.dense(x))))  # noqa: E731
        return {"loss": self.optimizer.minimize(loss, self.trainable_variables)}


def expected(kernel, turns):
    """The term for X, and its gradient; a map over rows sums up to the plain term."""
    turns = 1 if turns == 8 else turns
    made = X @ kernel
    return turns * float((made**2).sum() / X.size), turns * 2 * X.T @ made / X.size


def compiled(name, own_step=False, eager=False):
    turns, wrap = AROUND[name]
    model = Net(wrap, own_step)
    model.compile(gx.optimizers.SGD(RATE), "mse", run_eagerly=eager)
    return model, turns


MSE = float((Y**2).mean())


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", AROUND)
def test_calls_and_gradients(name):
    model, turns = compiled(name)
    model(X)
    term, gradient = expected(KERNEL, turns)
    kernel = model.dense.kernel

    def total(x):
        model(x)
        return sum(model.losses)

    def taped(x):
        with gx.GradientTape() as tape:
            value = total(x)
        return value, tape.gradient(value, kernel)

    both = gx.value_and_grad(total, wrt=kernel)
    x = ops.asarray(X)
    for run in (both, gx.jit(both), taped, gx.jit(taped)):
        for _ in range(2):
            value, found = run(x)
            assert float(value) == pytest.approx(term, rel=1e-5)
            np.testing.assert_allclose(found, gradient, rtol=1e-5)
            assert sum(map(float, model.losses)) == pytest.approx(term, rel=1e-5)
    for run in (total, gx.jit(total)):
        assert float(run(2 * x)) == pytest.approx(4 * term, rel=1e-5)
        assert float(run(x)) == pytest.approx(term, rel=1e-5)


@pytest.mark.in_turn(4, 1)
@pytest.mark.parametrize("name", ["nothing", "remat", "jit", "cond"])
def test_other_derivatives(name):
    model, turns = compiled(name)
    model(X)
    term, gradient = expected(KERNEL, turns)

    def total(x):
        model(x)
        return sum(model.losses)

    x = ops.asarray(X)
    value, slope = gx.jvp(total, (x,), (x,))
    assert (float(value), float(slope)) == pytest.approx((term, 2 * term), rel=1e-5)
    found = gx.jacobian(lambda: ops.reshape(total(x), (1,)), wrt=model.dense.kernel)
    np.testing.assert_allclose(found[0], gradient, rtol=1e-5)
    assert float(gx.value_and_gradients_function(total)(x)[0]) == pytest.approx(term, rel=1e-5)
    assert sum(map(float, model.losses)) == pytest.approx(term, rel=1e-5)


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize(("name", "own_step", "eager"), crossed([*AROUND], [*product([False, True], repeat=2)]))
def test_training(name, own_step, eager):
    model, turns = compiled(name, own_step, eager)
    kernel = KERNEL.copy()
    head = np.zeros((2, 1), "float32")

    def step():
        term, gradient = expected(kernel, turns)
        made = X @ kernel
        error = made @ head - Y
        wrong = 2 * error / Y.size
        loss = float((error**2).mean()) + term
        down = X.T @ wrong @ head.T + gradient, made.T @ wrong
        return loss, down

    def now():
        return pytest.approx(step()[0], rel=1e-4)

    assert model.evaluate(X, Y, verbose=0)["loss"] == now()
    for _ in range(2):
        loss, down = step()
        assert model.train_on_batch(X, Y)["loss"] == pytest.approx(loss, rel=1e-4)
        kernel, head = kernel - RATE * down[0], head - RATE * down[1]
        np.testing.assert_allclose(model.dense.kernel, kernel, rtol=1e-4)
        assert model.test_on_batch(X, Y)["loss"] == now()
    loss, down = step()
    after = model.fit(X, Y, batch_size=8, shuffle=False, verbose=0, validation_data=(X, Y)).history
    kernel, head = kernel - RATE * down[0], head - RATE * down[1]
    assert after["loss"] == [pytest.approx(loss, rel=1e-4)]
    assert after["val_loss"] == [now()]


@pytest.mark.broad
def test_several_steps_in_one_execution_begin_anew_each():
    model, turns = compiled("scan")
    model.compile(gx.optimizers.SGD(0.0), "mse", steps_per_execution=2)
    several = model.fit(np.tile(X, (4, 1)), np.tile(Y, (4, 1)), batch_size=8, verbose=0, shuffle=False)
    assert several.history["loss"] == [pytest.approx(MSE + expected(KERNEL, turns)[0], rel=1e-5)]


@pytest.mark.parametrize("eager", [False, True], ids=["compiled", "eagerly"])
def test_a_step_begins_with_no_terms_of_an_earlier_one(eager):
    class Towers(gx.Model):
        def __init__(self):
            super().__init__()
            self.left, self.right = Squares(), Squares()

        def call(self, x):
            return self.left(x)

        def train_step(self, batch):
            self.left(batch[0])
            return {"loss": ops.asarray(sum(self.losses))}

        def test_step(self, batch):
            self.right(batch[0])
            return {"loss": ops.asarray(sum(self.losses))}

    model = Towers()
    model.compile("sgd", run_eagerly=eager)
    term = float((X**2).mean())
    model(X)
    for _ in range(2):
        assert model.train_on_batch(X)["loss"] == pytest.approx(term, rel=1e-5)
        assert model.test_on_batch(X)["loss"] == pytest.approx(term, rel=1e-5)
