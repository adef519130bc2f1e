"""A table for a model with several inputs or outputs is refused with the line that divides it, and the line runs."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.errors import ArgumentTypeError, DataError
from tests.training.tables import BOTH, Table, X, table, targets

NAMES = ["v", "u"]


def of_graph(kind):
    x = gx.Input((3,))
    outputs = {name: layers.Dense(1, name=name)(x) for name in NAMES}
    return gx.Model(x, outputs if kind == "dict" else list(outputs.values()))


class Several(gx.Model):
    def __init__(self):
        super().__init__()
        self.parts = {name: layers.Dense(1) for name in NAMES}

    def call(self, x):
        return {name: part(x) for name, part in self.parts.items()}


MODELS = {"dict": lambda: of_graph("dict"), "list": lambda: of_graph("list"), "class": Several}
WAYS = {
    "fit": lambda model, **y: model.fit(X, **y, verbose=0),
    "evaluate": lambda model, **y: model.evaluate(X, **y, verbose=0),
    "train_on_batch": lambda model, **y: model.train_on_batch(X, **y),
}


def compiled(kind):
    gx.set_random_seed(0)
    model = MODELS[kind]()
    model.compile(gx.optimizers.SGD(0.1), "mse")
    return model


def table_of_both(**more):
    return Table({name: targets()[name] for name in "uv"} | more)


GIVEN = {"table": table_of_both, "more columns": lambda: table_of_both(w=X[:, 0])}


@pytest.mark.in_turn(9, broad=4)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("given", GIVEN)
def test_a_table_of_targets(kind, way, given):
    y = GIVEN[given]()
    with pytest.raises(DataError) as caught:
        WAYS[way](compiled(kind), y=y)
    line = caught.value.instead.partition(" of a table")[0]
    assert line == "y={name: y[name] for name in ['v', 'u']}"
    divided = eval(line.removeprefix("y="), {"y": y})
    expected = {"u": BOTH[:, 0], "v": BOTH[:, 1]}
    found = []
    for one in (divided, expected):
        model = compiled(kind)
        WAYS[way](model, y=one)
        found.append([value.numpy() for value in model.variables])
    np.testing.assert_equal(*found)


@pytest.mark.broad
def test_an_array_of_targets():
    y = BOTH
    with pytest.raises(DataError) as caught:
        compiled("dict").fit(X, y, verbose=0)
    line = caught.value.instead.partition(" of a table, ")[2].partition(" of an array")[0]
    compiled("dict").fit(X, eval(line.removeprefix("y="), {"y": y}), verbose=0)
    with pytest.raises(DataError, match=r"instead: y={'v': \.\.\., 'u'"):
        compiled("dict").fit(X, y[:, 0], verbose=0)


def test_a_table_of_inputs():
    x = table()
    inputs = {name: gx.Input((1,), name=name) for name in "ab"}
    model = gx.Model(inputs, layers.Dense(1)(layers.Concatenate()(list(inputs.values()))))
    model.compile(gx.optimizers.SGD(0.1), "mse")
    with pytest.raises(ArgumentTypeError) as caught:
        model.fit(x, BOTH[:, :1], verbose=0)
    line = caught.value.instead.partition(" of a table")[0]
    found = model.predict(eval(line, {"x": x}), verbose=0)
    np.testing.assert_allclose(found, model.predict({"a": X[:, :1], "b": X[:, 1:2]}, verbose=0), atol=1e-6)
