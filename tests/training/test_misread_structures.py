"""A dict or a list for a model that takes one array is named, with the line to write instead."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.errors import DataError, DTypeError, GraftaxError, ShapeError

X = np.arange(7, dtype="float32")[:, None]


class Own(gx.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)

    def call(self, x):
        return self.dense(x)


MODELS = {
    "declared": lambda: gx.Sequential([gx.Input((1,)), layers.Dense(1)]),
    "named": lambda: gx.Sequential([gx.Input((1,), name="part"), layers.Dense(1)]),
    "built by data": lambda: gx.Sequential([layers.Dense(1)]),
    "own": Own,
}


def make(kind, eager=False):
    model = MODELS[kind]()
    model.compile("sgd", "mse", run_eagerly=eager)
    return model


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("is_listed", [False, True])
@pytest.mark.parametrize("kind", MODELS)
def test_a_dict_with_the_targets_in_it(kind, is_listed, eager):
    x = {"a": X, "b": X}
    x = [x] if is_listed else x
    with pytest.raises(GraftaxError) as caught:
        make(kind, eager).fit(x, verbose=0)
    error = caught.value
    assert error.received == "x is a dict with 'a', 'b', for a model that takes one array"
    assert error.instead.startswith("fit(x, y='b')")
    assert "Tracer" not in str(error)
    assert len(make(kind).fit(x, y="b", verbose=0).history["loss"]) == 1


@pytest.mark.parametrize("kind", MODELS)
def test_more_in_the_dict_than_a_model_of_one_array_takes(kind):
    with pytest.raises(GraftaxError, match="x is a dict") as caught:
        make(kind).fit([{"a": X, "b": X, "c": X}], verbose=0)
    batches = eval(caught.value.instead.split(", or fit")[0], {"gx": gx, "batches": [{"a": X, "b": X, "c": X}]})
    assert len(make(kind).fit(batches, verbose=0).history["loss"]) == 1
    with pytest.raises(GraftaxError, match="x is a dict") as caught:
        make(kind).fit({"a": X, "b": X}, X, verbose=0)
    assert caught.value.instead.startswith("x['a'], the array alone")


@pytest.mark.parametrize("door", ["predict", "predict_on_batch"])
@pytest.mark.parametrize("kind", MODELS)
def test_a_list_of_batches_is_no_input(kind, door):
    x, options = [X[:3], X[3:6]], {"verbose": 0} if door == "predict" else {}
    with pytest.raises(ShapeError, match="x is a list of 2 arrays, for a model that takes one") as caught:
        getattr(make(kind), door)(x, **options)
    assert caught.value.instead.startswith("predict(iter(x)) for batches")
    assert make(kind).predict(iter(x), verbose=0).shape == (6, 1)


def test_batches_of_several_lengths():
    with pytest.raises(DataError, match=r"cut them to one length; predict\(iter\(x\)\) if x is a list of batches"):
        make("declared").predict([X[:3], X[3:]], verbose=0)
    with pytest.raises(DataError, match=r"cut them to one length$"):
        make("declared").fit(X, X[:3], verbose=0)


def test_one_of_several_inputs_with_another_shape_is_named_as_before():
    a, b = gx.Input((1,)), gx.Input((1,))
    with pytest.raises(ShapeError, match=r"got an array of shape \(7, 2\)"):
        gx.Model([a, b], a + b).predict([X, np.ones((7, 2), "float32")], verbose=0)


def test_fractions_as_indices_of_an_array_are_no_table():
    with pytest.raises(DTypeError) as caught:
        layers.Embedding(9, 2)(X)
    assert caught.value.reason == "it takes integers, as indices of its rows"
    assert layers.Embedding(9, 2)(eval(caught.value.instead.split(", or")[0], {"x": X})).shape
