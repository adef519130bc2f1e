"""Layers with state in every pair of transforms: results, gradients and state are those of plain eager calls.

A pair that cannot keep the state, such as a map over rows around a layer that assigns it, refuses it by name.
"""

import itertools

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import GraftaxError

X = np.random.default_rng(0).normal(size=(2, 4, 3)).astype("float32")  # two sequences


class Metered(gx.Layer):
    """A layer that updates a metric inside."""

    def __init__(self):
        super().__init__()
        self.mean = gx.metrics.Mean()

    def call(self, x):
        self.mean.update(x)
        return x * 2.0


class Adding(gx.Layer):
    def call(self, x):
        self.add_loss(ops.mean(x**2))
        return x * 2.0


def spectral():
    with gx.variable_creator_scope(gx.reparam.SpectralNorm(), where="kernel"):
        layer = layers.Dense(3)
        layer.build((None, 4, 3))
    return layer


LAYERS = {
    "spectral normalization": spectral,
    "stateful rnn": lambda: layers.GRU(3, return_sequences=True, stateful=True),
    "batch normalization": layers.BatchNormalization,
    "dropout": lambda: layers.Dropout(0.5),
    "metric inside": Metered,
    "added loss": Adding,
}


class Holds(gx.Model):
    def __init__(self, kind):
        super().__init__()
        self.dense = layers.Dense(3)
        self.inner = LAYERS[kind]()

    def call(self, x, training=False):
        return self.inner(ops.tanh(self.dense(x)))


def scalar(f):
    return lambda x: ops.sum(ops.sin(f(x)))


def own_rule(f):
    """The function with a rule of its own: its gradient by the input is 3, by weights it has none."""

    @gx.custom_gradient
    def run(x):
        return f(x), lambda dy, variables=(): (3.0 * dy, [None for _ in variables])

    return run


def own_rule_plain(f):
    return lambda x: ops.stop_gradient(f(x)) + 3.0 * (x - ops.stop_gradient(x))


def by_rows(f):
    """Each example by itself, one after the other, in plain Python."""
    return lambda x: ops.stack([f(row[None])[0] for row in x])


def in_scan(f):
    return lambda x: gx.scan(lambda c, row: (c, f(row[None])[0]), ops.zeros(()), x)[1]


def gradient_of(f):
    return lambda x: gx.grad(scalar(f))(x)


def gradient_by_jacobian(f):
    return lambda x: gx.jacobian(scalar(f), ops.asarray(x))


def of_examples(f):
    """The gradient by each example, mapped."""
    return lambda x: gx.vectorized_map(lambda row: gx.grad(scalar(lambda r: f(r[None])))(row), x)


def of_examples_plain(f):
    return lambda x: ops.stack([gx.grad(scalar(lambda r: f(r[None])))(row) for row in x])


def itself(f):
    return f


# each transform, and plain eager code that computes the same
TRANSFORMS = {
    "jit": (gx.jit, itself),
    "map_fn": (lambda f: lambda x: gx.map_fn(lambda row: f(row[None])[0], x), by_rows),
    "vectorized_map": (lambda f: lambda x: gx.vectorized_map(lambda row: f(row[None])[0], x), by_rows),
    "scan": (in_scan, by_rows),
    "grad": (gradient_of, gradient_of),
    "examples": (of_examples, of_examples_plain),
    "remat": (gx.remat, itself),
    "jacobian": (gradient_by_jacobian, gradient_of),
    "custom_gradient": (own_rule, own_rule_plain),
    "cond": (lambda f: lambda x: gx.cond(ops.sum(x) > -1e9, f, lambda x: x * 2.0, x), itself),
}
BY_EXAMPLE = {"map_fn", "vectorized_map", "scan", "examples"}  # which call the layer with one example at a time
AT_ONCE = {"vectorized_map", "examples"}
ASSIGNS = {"spectral normalization", "stateful rnn", "batch normalization", "metric inside"}


class Run:
    """A model in two transforms: what two calls give, the gradients by weights, and the state afterwards."""

    def __init__(self, outer, inner, kind, plain):
        gx.set_random_seed(0)
        batch = X[:1] if BY_EXAMPLE & {outer, inner} else X
        self.model = Holds(kind)
        self.model(batch)
        make_outer, make_inner = (TRANSFORMS[name][plain] for name in (outer, inner))
        function = make_outer(make_inner(lambda x: self.model(x, training=True)))
        self.results = [np.asarray(function(ops.asarray(X * (turn + 1)))) for turn in range(2)]
        self.gradients = {}
        if "custom_gradient" not in (outer, inner):
            by_weight = gx.grad(lambda: scalar(function)(ops.asarray(X)), wrt=self.model.dense)()
            self.gradients = {name: np.asarray(one) for name, one in by_weight.items()}
        self.state = {name: np.asarray(one) for name, one in gx.state(self.model).items()}


def check(outer, inner, kind):
    if AT_ONCE & {outer, inner} and kind in ASSIGNS:
        with pytest.raises(GraftaxError, match=r"vectorized_map.*assign|assign.*vectorized_map|vectorized_map"):
            Run(outer, inner, kind, plain=False)
        return
    found = Run(outer, inner, kind, plain=False)
    if AT_ONCE & {outer, inner} and kind == "dropout":  # each row draws from a branch of its own
        assert all(np.isfinite(one).all() for one in found.results)
        return
    expected = Run(outer, inner, kind, plain=True)
    np.testing.assert_allclose(found.results, expected.results, rtol=2e-3, atol=2e-4)
    for part in ("gradients", "state"):
        ours, theirs = getattr(found, part), getattr(expected, part)
        assert list(ours) == list(theirs)
        for name, value in theirs.items():
            np.testing.assert_allclose(ours[name], value, rtol=2e-3, atol=2e-4, err_msg=f"{part}: {name}")


QUICK = [("jit", "grad"), ("scan", "remat"), ("examples", "jit"), ("grad", "custom_gradient")]
BROAD = [pair for pair in itertools.product(TRANSFORMS, TRANSFORMS) if "jit" in pair or "grad" in pair]


def cases(pairs):
    return [(*pair, kind) for pair in pairs for kind in LAYERS]


def cases_of(pairs):
    found = cases(pairs)
    return pytest.mark.parametrize(("outer", "inner", "kind"), found, ids=[" of ".join(case) for case in found])


@pytest.mark.in_turn(3)
@cases_of(QUICK)
def test_a_few_pairs(outer, inner, kind):
    check(outer, inner, kind)


@pytest.mark.broad
@cases_of(BROAD)
def test_pairs_with_compiling_and_gradients(outer, inner, kind):
    check(outer, inner, kind)


@pytest.mark.slow
@cases_of(itertools.product(TRANSFORMS, TRANSFORMS))
def test_all_pairs(outer, inner, kind):
    check(outer, inner, kind)
