"""Sequential: an input in front, its layers by index and slice, pop."""

import copy

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError, StateError

X = np.ones((2, 3), "float32")


@pytest.mark.parametrize("first", [lambda: gx.Input((3,)), lambda: layers.InputLayer((3,))])
def test_an_input_in_front_makes_the_weights_at_once(first):
    model = gx.Sequential([first(), layers.Dense(4), layers.Dense(2)])
    assert model.variables[0].path == "layers/0/kernel"
    assert model.output.shape == (None, 2)
    assert model.count_params() == 26
    model.add(layers.Dense(1))
    assert model.layers[-1].built
    assert model(X).shape == (2, 1)
    with pytest.raises(ShapeError, match="declared with"):
        model(np.ones((2, 4), "float32"))


def test_what_an_input_declares_is_used():
    model = gx.Sequential([gx.Input((3,), dtype="float32"), layers.Dense(2)])
    plain = gx.Sequential([layers.Dense(2)])
    plain(X)
    assert model(X.astype("int32")).shape == (2, 2)
    with pytest.raises(DTypeError):
        plain(X.astype("int32"))


def test_parts_of_a_sequential_by_output():
    model = gx.Sequential([gx.Input((3,)), layers.Dense(4, name="first"), lambda x: ops.tanh(x), layers.Dense(2)])
    for one in (model, copy.deepcopy(model)):
        part = gx.Model(one.input, one.get_layer("first").output)
        assert part.get_layer("first") is one.layers[0]
        np.testing.assert_allclose(part(X), one[0](X), rtol=1e-6)
    with pytest.raises(AttributeError, match="no 'output'"):
        _ = gx.Sequential([layers.Dense(2)]).output


def test_index_slice_len_and_iteration():
    model = gx.Sequential([layers.Dense(4), layers.ReLU(), layers.Dense(2)])
    out = model(X)
    assert len(model) == 3
    assert model[0] is model.layers[0]
    assert model[-1] is model.layers[2]
    assert list(model) == model.layers
    front, back = model[:2], model[2:]
    np.testing.assert_allclose(back(front(X)), out, rtol=1e-6)
    assert front[0] is model[0]
    assert front.variables[0].path == "layers/0/kernel"
    assert bool(gx.Sequential())
    with pytest.raises(IndexError, match=r"model\[3\].*"):
        _ = model[3]
    with pytest.raises(IndexError):
        _ = model["dense"]


def test_pop_takes_the_last_layer_away():
    model = gx.Sequential([gx.Input((3,)), layers.Dense(4), layers.Dense(2)])
    last = model.pop()
    assert last.units == 2
    assert model(X).shape == (2, 4)
    assert model.output.shape == (None, 4)
    model.add(layers.Dense(5))
    assert model(X).shape == (2, 5)
    with pytest.raises(StateError, match="no layers"):
        gx.Sequential().pop()


def test_a_layer_that_does_not_fit_is_not_added():
    model = gx.Sequential([gx.Input((3,))])
    with pytest.raises(ShapeError):
        model.add(layers.Conv2D(2, 3))
    assert len(model) == 0
    with pytest.raises(ArgumentError, match="an Input comes first"):
        gx.Sequential([layers.Dense(2), gx.Input((3,))])
    with pytest.raises(ArgumentTypeError):
        gx.Sequential([gx.Input((3,)) * 2])
