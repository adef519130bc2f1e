"""Rules of optimizers in models that have layers of an older model: paths are those of the older one, which is told."""

import gc

import numpy as np
import pytest

import graftax as gx
from graftax import layers, optimizers
from graftax.core.errors import SelectorError

X = np.ones((8, 4), "float32")
FROZEN = {"frozen": True}
HEAD = [("layers/1/**", FROZEN)]


def transferred():
    """The older model, and one of two of its layers and a head."""
    older = gx.Sequential([layers.Dense(4), layers.Dense(4), layers.Dense(1)])
    older(X)
    model = gx.Sequential([older[:2], layers.Dense(4)])
    model(X)
    return older, model


def own_step(model):
    class Own(gx.Model):
        def __init__(self):
            super().__init__()
            self.layers = model.layers

        def call(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

        def train_step(self, batch):
            x, y = batch
            return {"loss": self.optimizer.minimize(lambda: gx.losses.MeanSquaredError()(y, self(x)), self)}

    own = Own()
    own(X)
    return own


@pytest.mark.parametrize("run_eagerly", [False, True])
@pytest.mark.parametrize("change", [lambda model: model, own_step], ids=["fit", "own_step"])
@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: optimizers.SGD(0.1, rules=HEAD),
        lambda: optimizers.SGD(0.1, rules=[("layers/0/**", FROZEN)]),
        lambda: optimizers.Muon(0.1, adamw=("layers/1/**", "**/bias")),
        lambda: optimizers.SGD(0.1, rules=[("**/bias", {"optimizer": optimizers.SGD(rules=HEAD)})]),
        lambda: optimizers.Lookahead(optimizers.SGD(0.1, rules=HEAD)),
    ],
    ids=["head", "body", "muon", "within", "lookahead"],
)
def test_a_rule_that_sees_other_paths_is_refused_before_anything_moves(optimizer, change, run_eagerly):
    older, model = transferred()
    model = change(model)
    before = [v.numpy() for v in model.variables]
    model.compile(optimizer(), "mse", run_eagerly=run_eagerly)
    with pytest.raises(SelectorError, match="first model that holds it, 'layers/1/"):
        model.fit(X, X, verbose=0)
    assert all(np.array_equal(a, v.numpy()) for a, v in zip(before, model.variables, strict=False))
    assert older.built


def test_the_line_of_the_message_chooses_what_was_meant():
    older, model = transferred()
    chosen = set(map(id, model.layers[1].variables))
    body, head = (one.numpy() for one in (older[1].kernel, model.layers[1].kernel))
    model.compile(optimizers.SGD(0.1, rules=[(lambda v: id(v) in chosen, FROZEN)]), "mse")
    model.fit(X, X, verbose=0)
    assert not np.array_equal(older[1].kernel.numpy(), body)
    assert np.array_equal(model.layers[1].kernel.numpy(), head)


def test_rules_that_decide_alike_and_models_of_their_own_are_not_refused():
    older, model = transferred()
    model.compile(optimizers.SGD(0.1, rules=[("**/bias", FROZEN)]), "mse")
    model.fit(X, X, verbose=0)
    older.compile(optimizers.SGD(0.1, rules=HEAD), "mse")
    older.fit(X, X[:, :1], verbose=0)
    del older
    gc.collect()  # the weights are now those of the one model
    model.compile(optimizers.SGD(0.1, rules=HEAD), "mse")
    head = model.layers[1].kernel.numpy()
    model.fit(X, X, verbose=0)
    assert np.array_equal(model.layers[1].kernel.numpy(), head)
