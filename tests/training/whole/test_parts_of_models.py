"""Whole models whose weights are expressions, whose dtypes are others, or whose layers come from elsewhere."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, reparam
from graftax.errors import ArgumentError, ArgumentTypeError

X = np.random.default_rng(0).normal(size=(8, 5, 4)).astype("float32")


class Squared(gx.Reparam):
    def __init__(self, next_creator, spec):
        super().__init__(spec)
        self.root = next_creator(spec.replace(name="root"))

    def forward(self):
        return self.root.value**2


class Late(gx.Layer):
    def __init__(self):
        super().__init__()
        self._seen = {}

    def build(self, input_shape):
        self.inner = [layers.Dense(3), layers.Dense(2)]

    def call(self, x):
        self._seen["what"] = object()
        return self.inner[1](self.inner[0](x))


class Net(gx.Model):
    def __init__(self):
        super().__init__()
        self.a, self.b = layers.Bidirectional(layers.GRU(3)), layers.Dense(2)

    def call(self, x):
        return self.b(self.a(x))


def comes_back(model, path, x=X, custom=()):
    wanted = np.asarray(model(x), "float32")
    model.save(path)
    again = gx.load_model(path, custom=custom)
    assert again(x).dtype == model(x).dtype
    np.testing.assert_array_equal(np.asarray(again(x), "float32"), wanted)
    assert [v.path for v in again.variables] == [v.path for v in model.variables]
    return again


CREATORS = {
    "positive": lambda: [reparam.Positive()],
    "hyper network": lambda: [reparam.HyperNetwork(gx.Sequential([layers.Dense(3), layers.Dense(8)]))],
    "without an inverse": lambda: [Squared],
    "expressions of expressions": lambda: [reparam.Positive(), reparam.WeightNorm()],
    "adapters around": lambda: [reparam.LoRA(1), reparam.Positive()],
}


@pytest.mark.in_turn(6)
@pytest.mark.parametrize("name", CREATORS)
def test_weights_of_creators_in_scope_come_back(name, tmp_path):
    model = gx.Sequential([layers.Dense(3), layers.Dense(2)])
    creators = CREATORS[name]()
    with gx.variable_creator_scope(creators[0], where="**/kernel"):
        if creators[1:]:
            with gx.variable_creator_scope(creators[1], where="**/kernel"):
                model(X)
        else:
            model(X)
    again = comes_back(model, tmp_path / "m", custom=[Squared] if Squared in creators else ())
    assert type(again.layers[0].kernel) is type(model.layers[0].kernel)


LAYERS = {
    "dense": lambda: layers.Dense(2),
    "made in build": Late,
    "lstm": lambda: layers.LSTM(4),
    "bidirectional": lambda: layers.Bidirectional(layers.LSTM(4)),
    "time distributed": lambda: layers.TimeDistributed(layers.Dense(2)),
    "cells": lambda: layers.RNN(layers.StackedRNNCells([layers.GRUCell(3), layers.LSTMCell(3)])),
    "transformer": lambda: layers.TransformerEncoder(intermediate_dim=8, num_heads=1),
    "stack": lambda: layers.Stack(layers.Dense(4), 2),
    "nested": lambda: gx.Sequential([layers.Dense(2)]),
    "subclass": Net,
}


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "bfloat16", "float16"])
@pytest.mark.parametrize("name", LAYERS)
def test_a_global_policy_of_the_time_when_it_was_made_comes_back(name, policy, tmp_path):
    gx.set_dtype_policy(policy)
    try:
        model = gx.Sequential([LAYERS[name](), layers.LayerNormalization()])
        model(X)
    finally:
        gx.set_dtype_policy("float32")
    comes_back(model, tmp_path / "m", custom={"made in build": [Late], "subclass": [Net]}.get(name, ()))


@pytest.mark.broad
def test_a_global_policy_of_the_loader_does_not_matter(tmp_path):
    model = gx.Sequential([Late()])
    model(X)
    model.save(tmp_path / "m")
    gx.set_dtype_policy("mixed_bfloat16")
    try:
        again = gx.load_model(tmp_path / "m", custom=[Late])
        assert gx.layers.Dense(1).compute_dtype == "bfloat16"
    finally:
        gx.set_dtype_policy("float32")
    np.testing.assert_array_equal(again(X), model(X))


@pytest.mark.broad
def test_tied_weights_stay_tied_however_often_they_are_saved(tmp_path):
    embedding = layers.Embedding(9, 4)
    x = np.array([[3, 1], [2, 8]])
    vectors = embedding(x)
    with gx.variable_creator_scope(reparam.Shared(embedding.embeddings, transpose=True), where="kernel"):
        output = layers.Dense(9, use_bias=False)
        output(vectors)
    model = gx.Sequential([embedding, output])
    again = comes_back(comes_back(model, tmp_path / "1", x), tmp_path / "2", x)
    again.layers[0].embeddings.assign(np.ones((9, 4), "float32"))
    np.testing.assert_array_equal(again(x), np.full((2, 2, 9), 4, "float32"))
    gx.graft(again, reparam.LoRA(1), where="layers/0/embeddings")
    last = comes_back(again, tmp_path / "3", x)
    assert last.layers[1].kernel.source is last.layers[0].embeddings


@pytest.mark.broad
def test_weights_tied_to_one_that_no_layer_holds(tmp_path):
    model = gx.Sequential([layers.Dense(4), layers.Dense(4)])
    with gx.variable_creator_scope(reparam.Shared(gx.Variable(np.eye(4, dtype="float32"))), where="**/kernel"):
        model(X)
    again = comes_back(model, tmp_path / "m")
    assert again.layers[0].kernel.source is again.layers[1].kernel.source


def test_layers_of_another_model_come_back_in_one_that_was_never_called(tmp_path):
    first = gx.Sequential([layers.Dense(3), layers.Dense(2)])
    first(X)
    gx.Sequential(first.layers[:1]).save(tmp_path / "m")
    np.testing.assert_array_equal(gx.load_model(tmp_path / "m")(X), first.layers[0](X))


ADAPTED = {
    "bins": lambda: layers.Discretization(num_bins=3),
    "numbers": lambda: layers.Normalization(),
}


@pytest.mark.broad
@pytest.mark.parametrize("name", ADAPTED)
def test_what_a_layer_learnt_from_data_comes_back(name, tmp_path):
    x = X[:, 0]
    learnt = ADAPTED[name]()
    learnt.adapt(x)
    after = layers.Dense(2) if name == "numbers" else layers.Embedding(6, 2)
    comes_back(gx.Sequential([gx.Sequential([learnt]), after]), tmp_path / "m", x)


def test_what_would_be_lost_is_refused_by_name(tmp_path):
    with gx.variable_creator_scope(reparam.LoRA(1)):
        unbuilt = gx.Sequential([layers.Dense(3)])
    with pytest.raises(ArgumentError, match=r"layers/0 has no weights yet, and was made in a .*LoRA"):
        unbuilt.save(tmp_path / "m")
    model = gx.Sequential([layers.Dense(3)])
    model(X)
    model.layers[0].activation = lambda x: x
    with pytest.raises(ArgumentError, match=r"model\.layers\.0\.activation") as caught:
        model.save(tmp_path / "m")
    assert 'untracked = frozenset({"activation"})' in str(caught.value)
    model.layers[0].activation = None
    model.layers[0].kernel.regularizer = lambda w: 0.0
    with pytest.raises(ArgumentError, match=r"model\.layers\.0\.kernel\.regularizer"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_text_is_refused_where_the_model_is_made():
    with pytest.raises(ArgumentTypeError, match=r"layers\[0\], which takes text"):
        gx.Sequential([layers.TextVectorization(), layers.Embedding(9, 2)])
    gx.Sequential([layers.StringLookup(vocabulary=["a"], invert=True)])
