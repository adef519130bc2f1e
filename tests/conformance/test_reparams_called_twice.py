"""An expression behind a layer called twice in a step: eager code and each transformation draw and move alike."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.backend import registry
from graftax.reparam.base import Reparam
from graftax.variables.graph.module import walk
from tests.conformance.reparam_cases import PAIRS, ROWS
from tests.conformance.test_layers import close, values
from tests.conformance.test_reparams import LAYERS, Cell

X = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
REPARAMS = ROWS | PAIRS
MOVING = [name for name, row in REPARAMS.items() if row.draws or row.moves]
AT_EACH_STEP = {"rnn"}  # a cell is a layer, too, and is called at each step


class Dropped(gx.Reparam):
    """Draws in training, as in the recipes."""

    def __init__(self, next_creator, spec):
        super().__init__(spec)
        self.base = next_creator(spec.replace(name="base"))
        self.seed = gx.SeedGenerator(4)

    def forward(self):
        if not self.training:
            return self.base.value
        return ops.where(gx.random.bernoulli(self.shape, 0.5, seed=self.seed), self.base * 2, 0)


def made(creator):
    gx.set_random_seed(1)
    with gx.variable_creator_scope(creator, where="**/kernel"):
        layer = layers.Dense(4, use_bias=False)
        layer(X)
    rng = np.random.default_rng(2)
    for v in layer.trainable_variables:
        v.assign_add(rng.uniform(0.01, 0.4, v.shape).astype("float32"))
    return layer


def eager(layer):
    return [layer(X, training=True), layer(X, training=True)]


def value_and_grad(layer):
    def loss():
        outs = eager(layer)
        return ops.sum(outs[1]), outs

    return gx.value_and_grad(loss, wrt=layer, has_aux=True)()[0][1]


def tape(layer):
    with gx.GradientTape():
        return eager(layer)


WAYS = {
    "jit": lambda layer: gx.jit(lambda: eager(layer))(),
    "value_and_grad": value_and_grad,
    "tape": tape,
    "remat": lambda layer: gx.jit(gx.remat(lambda: eager(layer)))(),
    "scan": lambda layer: gx.scan(lambda carry, _: (carry, layer(X, training=True)), 0, None, length=2)[1],
}


def check(creator, ways):
    for way in ways:
        plain, other = (made(creator()) for _ in range(2))
        for expected, out in zip(eager(plain), WAYS[way](other), strict=True):
            np.testing.assert_allclose(out, expected, rtol=2e-5, atol=2e-5, err_msg=way)
        for path, value in values(plain).items():
            np.testing.assert_allclose(values(other)[path], value, rtol=2e-5, atol=2e-6, err_msg=f"{way}: {path}")


def creator_of(row):
    return row.creator if row.afresh else lambda: row.creator


@pytest.mark.broad
@pytest.mark.parametrize("name", MOVING)
def test_those_that_draw_or_move(name):
    check(creator_of(REPARAMS[name]), WAYS)


@pytest.mark.broad
def test_one_of_ones_own():
    check(lambda: Dropped, WAYS)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in REPARAMS if name not in MOVING and name not in ("int8", "int4")])
def test_all_others(name):
    check(creator_of(REPARAMS[name]), WAYS)


@pytest.mark.broad
def test_each_call_in_a_compiled_function_is_a_draw():
    layer = made(gx.reparam.VariationalNormal())
    draws = np.array(gx.jit(lambda: ops.stack([layer(X, training=True) for _ in range(8)]))())
    assert draws.std(0).mean() > 1e-3


@pytest.mark.broad
@pytest.mark.parametrize("layer", [name for name in LAYERS if name not in AT_EACH_STEP])
def test_one_call_of_a_layer_reads_each_weight_once(layer, monkeypatch):
    """Twice would be two draws."""
    with registry.use("numpy"):
        cell = Cell(ROWS["variational_normal"], layer)
        read = []
        kind = next(type(node) for node in walk(cell.reference) if isinstance(node, Reparam))
        forward = kind.forward
        monkeypatch.setattr(kind, "forward", lambda self: (read.append(self.path), forward(self))[1])
        close(cell.reference(cell.x, training=True).shape, cell.expected.shape)
    assert sorted(read) == sorted(cell.taken)


@pytest.mark.broad
def test_penalties_do_not_draw():
    layer = made(gx.reparam.VariationalNormal())
    before = layer.kernel.seed.state.numpy()
    gx.jit(lambda: ops.sum(ops.stack(layer.losses)))()
    np.testing.assert_array_equal(layer.kernel.seed.state.numpy(), before)
