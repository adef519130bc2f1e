"""Added losses in every pair of transforms, called again and again: results, and what `losses` is afterwards.

The functions are linear in their input, so that plain loops of NumPy, and differences, are the reference.
"""

from contextlib import suppress

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import StateError

X = np.random.default_rng(0).normal(size=(2, 3, 2)).astype("float32")


class Adds(gx.Layer):
    """Adds the mean of its input to the loss, or not."""

    def __init__(self, when):
        super().__init__()
        self.when = when
        self.is_second = False

    def adds(self, training):
        return {"always": True, "in training": training, "once": self.is_second, "never": False}[self.when]

    def call(self, x, training=False):
        if self.adds(training):
            self.add_loss(ops.mean(x))
        return x * 1.0


class Holds(gx.Model):
    def __init__(self, when):
        super().__init__()
        self.adds = Adds(when)

    def call(self, x, training=False):
        return self.adds(x, training=training)


class Trained(gx.Model):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.dense = layers.Dense(1)

    def call(self, x, training=False):
        return self.dense(self.inner(x, training=training))


def fit(model):
    trained = Trained(model)
    trained.compile("sgd", "mse")
    trained.fit(X, X[..., :1], verbose=0)


BEFORE = {
    "nothing": lambda model: None,
    "a call": lambda model: model(X),
    "a call of training": lambda model: model(X, training=True),
    "fit": fit,
}


def twice(f):
    start = ops.asarray(0)
    return lambda x: gx.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, f(c[1])), (start, x))[1]


TRANSFORMS = {
    "jit": gx.jit,
    "vectorized_map": lambda f: lambda x: gx.vectorized_map(f, x),
    "map_fn": lambda f: lambda x: gx.map_fn(f, x),
    "scan": lambda f: lambda x: gx.scan(lambda c, row: (c, f(row)), ops.zeros(()), x)[1],
    "while_loop": twice,
    "cond": lambda f: lambda x: gx.cond(ops.sum(x) > -1e9, f, lambda x: x * 2.0, x),
    "grad": lambda f: gx.grad(lambda x: ops.sum(f(x))),
    "value_and_grad": lambda f: lambda x: gx.value_and_grad(lambda x: (ops.sum(f(x)), f(x)), has_aux=True)(x)[0][1],
    "jvp": lambda f: lambda x: gx.jvp(f, (x,), (ops.ones_like(x),))[1],
    "jacobian": lambda f: lambda x: ops.sum(gx.jacobian(f, x), axis=tuple(range(len(x.shape)))),
    "remat": gx.remat,
}


def differences(f):
    def run(x):
        start, found = np.sum(f(x)), np.zeros_like(x)
        for place in np.ndindex(x.shape):
            moved = x.copy()
            moved[place] += 1
            found[place] = np.sum(f(moved)) - start
        f(x)
        return found

    return run


def change(f):
    def run(x):
        moved = f(x + 1)
        return moved - f(x)

    return run


def by_rows(f):
    return lambda x: np.stack([f(row) for row in x])


def same(f):
    return f


REFERENCES = {
    "vectorized_map": by_rows,
    "map_fn": by_rows,
    "scan": by_rows,
    "while_loop": lambda f: lambda x: f(f(x)),
    "grad": differences,
    "jvp": change,
    "jacobian": differences,
}

PAIRS = [(outer, inner) for outer in TRANSFORMS for inner in TRANSFORMS]


class Case:
    """One model in two transforms, compiled with and without training."""

    def __init__(self, outer, inner, when, before, functional, reads):
        self.names, self.when, self.reads = (outer, inner), when, reads
        self.model = Holds(when)
        BEFORE[before](self.model)

        def make(training):
            def f(x):
                if functional:
                    y = gx.functional_call(self.model, gx.state(self.model), x, training=training)[0]
                else:
                    y = self.model(x, training=training)
                return y + sum(self.model.losses) if reads else y

            return TRANSFORMS[outer](TRANSFORMS[inner](f))

        self.functions = {training: make(training) for training in (False, True)}

    def expected(self, x, adds):
        """Return the result, and the term of the last call."""
        last = []

        def f(x):
            last.append(np.mean(x) if adds else 0.0)
            return x + last[-1] if self.reads else x * 1.0

        outer, inner = (REFERENCES.get(name, same) for name in self.names)
        return outer(inner(f))(x.astype("float64")), last[-1]

    def check(self):
        for turn, training in enumerate([True, True, False, True]):
            self.model.adds.is_second = turn == 1
            adds = self.model.adds.adds(training)
            x = X * (turn + 1)
            expected, term = self.expected(x, adds)
            np.testing.assert_allclose(self.functions[training](ops.asarray(x)), expected, rtol=1e-4, atol=1e-4)
            self.check_losses(term)
        self.model(X, training=True)
        expected = [np.mean(X)] if self.when in ("always", "in training") else []
        np.testing.assert_allclose([loss for loss in self.model.losses if float(loss)], expected, rtol=1e-5)

    def check_losses(self, term):
        compiled = float(gx.jit(lambda: sum(self.model.losses) + 0.0)())
        if "vectorized_map" in self.names and self.model.adds._gx_added:
            assert np.isnan(compiled) or compiled == term == 0
            with pytest.raises(StateError, match="vectorized_map") if term else suppress(StateError):
                assert float(sum(self.model.losses)) == 0
        else:
            np.testing.assert_allclose([compiled, float(sum(self.model.losses))], term, rtol=1e-4, atol=1e-4)


@pytest.mark.in_turn(48, broad=7)
@pytest.mark.parametrize(("outer", "inner"), PAIRS, ids="-".join)
def test_a_layer_that_adds_its_loss_in_training_after_fit(outer, inner):
    Case(outer, inner, "in training", "fit", functional=False, reads=True).check()


@pytest.mark.slow
@pytest.mark.parametrize("functional", [False, True], ids=["call", "functional_call"])
@pytest.mark.parametrize("when", ["always", "in training", "once", "never"])
@pytest.mark.parametrize(("outer", "inner"), PAIRS, ids="-".join)
def test_layers_of_each_kind_before_and_after_calls_of_each_kind(outer, inner, when, functional):
    for before in BEFORE:
        Case(outer, inner, when, before, functional, reads=before == "nothing").check()


@pytest.mark.broad
def test_gradients_of_single_examples_of_a_mixture_of_experts():
    model = gx.Sequential([layers.MixtureOfExperts(3, 4)])
    x = np.random.default_rng(1).normal(size=(3, 4)).astype("float32")
    model(x)

    def gradient(row):
        def loss():
            return ops.sum(model(row[None], training=True)) + sum(model.losses)

        return gx.grad(loss, wrt=model.trainable_variables)()

    one_by_one = [gradient(row) for row in x]
    fresh = gx.Sequential([layers.MixtureOfExperts(3, 4)])
    fresh(x)
    fresh.set_weights(model.get_weights())
    model = fresh
    compiled = gx.jit(lambda x: gx.vectorized_map(gradient, x))
    for _ in range(3):
        for place, stacked in enumerate(compiled(x)):
            np.testing.assert_allclose(stacked, np.stack([one[place] for one in one_by_one]), rtol=1e-4, atol=1e-5)


def test_a_sum_that_is_nan_is_told_from_one_that_stayed_in_a_map():
    layer = Adds("in training")
    layer(X)
    compiled = gx.jit(lambda x: layer(x, training=True))
    mapped = gx.jit(lambda x: gx.vectorized_map(lambda row: layer(row, training=True), x))
    for run in (compiled, lambda x: layer(x, training=True)):
        mapped(X)
        with pytest.raises(StateError, match="vectorized_map"):
            _ = layer.losses
        run(X * np.nan)
        assert np.isnan(layer.losses).tolist() == [True]
