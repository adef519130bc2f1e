"""A key too many in a dict of inputs is refused where a graph says what its inputs are; one's own call skips it."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentTypeError

DATA = {name: np.full((4, 2), number, "float32") for number, name in enumerate("abc")}
Y = np.ones((4, 1), "float32")


def graph(form):
    a, b = gx.Input((2,), name="a"), gx.Input((2,), name="b")
    return gx.Model({"list": [a, b], "dict": {"a": a, "b": b}}[form], layers.Dense(1)(ops.concatenate([a, b], axis=1)))


@pytest.mark.parametrize("form", ["list", "dict"])
@pytest.mark.parametrize("use", ["call", "fit", "predict"])
def test_a_key_that_is_no_input_of_a_graph_is_named(form, use):
    model = graph(form)
    model.compile("sgd", "mse")
    run = {
        "call": model,
        "fit": lambda x: model.fit(x, Y, verbose=0),
        "predict": lambda x: model.predict(x, verbose=0),
    }[use]
    with pytest.raises(ArgumentTypeError) as caught:
        run(DATA)
    assert caught.value.instead.startswith("{name: x[name] for name in ['a', 'b']}, without 'c'; ")
    run({name: DATA[name] for name in ["a", "b"]})


def test_a_call_of_ones_own_takes_the_keys_that_it_wants():
    class Mine(gx.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, x):
            return self.dense(x["a"] + x["b"])

    model = Mine()
    model.compile("sgd", "mse")
    model.fit(DATA, Y, verbose=0)
    assert model.predict(DATA, verbose=0).shape == (4, 1)
