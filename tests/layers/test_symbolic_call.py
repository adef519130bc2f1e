"""Layers called on values that are not there yet: weights, shapes, ``layer.output``, errors."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.errors import ArgumentError, ArgumentTypeError, DTypeError, MissingAttributeError, ShapeError

SHAPES = {
    "dense": (lambda: layers.Dense(3), (5,), "float32", (None, 3)),
    "any length": (lambda: layers.Dense(3), (None, 5), "float32", (None, None, 3)),
    "embedding": (lambda: layers.Embedding(7, 2), (None,), "int32", (None, None, 2)),
    "convolution": (lambda: layers.Conv2D(4, 3, strides=2), (9, 9, 1), "float32", (None, 4, 4, 4)),
    "recurrent": (lambda: layers.GRU(3), (None, 2), "float32", (None, 3)),
    "flatten": (lambda: layers.Flatten(), (2, 3), "float32", (None, 6)),
    "sequential": (lambda: gx.Sequential([layers.Dense(3), layers.ReLU()]), (5,), "float32", (None, 3)),
    "bidirectional": (
        lambda: layers.Bidirectional(layers.LSTM(3, return_sequences=True)),
        (None, 2),
        "float32",
        (None, None, 6),
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_weights_are_made_and_shapes_are_found(name):
    make, shape, dtype, wanted = SHAPES[name]
    layer = make()
    out = layer(gx.Input(shape, dtype=dtype))
    assert out.shape == wanted
    assert layer.built
    assert layer.input_shape == (None, *shape)


def test_several_results_come_in_their_structure():
    out, *state = layers.LSTM(3, return_state=True)(gx.Input((None, 2)))
    assert [part.shape for part in (out, *state)] == [(None, 3)] * 3


def test_several_arguments_and_lists_of_arguments():
    x, y = gx.Input((4, 6)), gx.Input((5, 6))
    assert layers.MultiHeadAttention(2, 3)(x, y).shape == (None, 4, 6)
    assert layers.Concatenate(axis=1)([x, y]).shape == (None, 9, 6)


def test_weights_whose_size_is_not_known_are_an_error_and_leave_nothing_behind():
    layer = layers.Dense(3)
    with pytest.raises(ArgumentError, match=r"layer 'dense'.*float32\[None, None\]"):
        layer(gx.Input((None,)))
    assert not layer.built
    assert layer(gx.Input((4,))).shape == (None, 3)


def test_an_error_of_a_layer_names_it():
    with pytest.raises(ShapeError, match="layer 'conv2d'") as caught:
        layers.Conv2D(2, 3)(gx.Input((4,)))
    assert "None is tried as 8 and 16" in str(caught.value)


def test_a_size_that_a_built_layer_does_not_take():
    layer = layers.Dense(2)
    layer(gx.Input((3,)))
    with pytest.raises(ShapeError):
        layer(gx.Input((4,)))


def test_input_and_output_of_a_layer():
    x = gx.Input((3,), name="x")
    dense = layers.Dense(2)
    y = dense(x)
    assert gx.Model(dense.input, dense.output)(np.ones((1, 3), "float32")).shape == (1, 2)
    assert dense.output.shape == y.shape
    z = dense(x + 1)
    with pytest.raises(MissingAttributeError, match="2 calls"):
        _ = dense.output
    assert z is not y
    with pytest.raises(MissingAttributeError, match="has no output"):
        _ = layers.Dense(2).output
    assert not hasattr(layers.Dense(2), "input")


def test_an_attribute_of_the_users_called_output_is_theirs():
    class Head(gx.Layer):
        def __init__(self):
            super().__init__()
            self.output = layers.Dense(2)

        def call(self, x):
            return self.output(x)

    head = Head()
    head(gx.Input((3,)))
    assert isinstance(head.output, layers.Dense)


def test_a_call_that_gives_a_value_from_around_it():
    x = gx.Input((3,))
    with pytest.raises(ArgumentTypeError, match="value that is not there yet"):
        layers.Lambda(lambda y: x)(gx.Input((3,)))


def test_nothing_is_drawn_and_no_state_moves_while_a_graph_is_made():
    layer = layers.BatchNormalization(momentum=0.5)
    layer(gx.Input((3,)), training=True)
    np.testing.assert_array_equal(layer.moving_mean.numpy(), np.zeros(3))


@pytest.mark.broad
def test_an_input_takes_what_fits_it():
    x, i = gx.Input((2,), dtype="float32", name="x"), gx.Input((2,), dtype="uint8")
    model = gx.Model(x, x * 1)
    assert str(model(np.ones((1, 2), "uint8")).dtype) == "float32"
    assert str(gx.Model(i, i + i)(np.ones((1, 2), "uint8")).dtype) == "uint8"
    with pytest.raises(DTypeError, match="an input got float32"):
        gx.Model(i, i + i)(np.ones((1, 2), "float32"))
    with pytest.raises(DTypeError, match="'x' got complex64"):
        model(np.ones((1, 2), "complex64"))
    with pytest.raises(ShapeError, match=r"'x' got an array of shape \(1, 3\)"):
        model(np.ones((1, 3), "float32"))
    with pytest.raises(ShapeError, match="batch of samples"):
        model(np.float32(1))


@pytest.mark.parametrize(("declared", "given"), [("uint8", "int32"), ("int8", "uint8"), ("uint32", "int32")])
def test_an_input_cuts_no_integers(declared, given):
    i = gx.Input((2,), dtype=declared)
    model = gx.Model(i, i * 1)
    for run in (model, gx.jit(model), model.predict):
        with pytest.raises(DTypeError, match=f"an input got {given}(.|\n)*declared as {declared}"):
            run(np.array([[130, -1]]).astype(given))


def test_an_input_takes_integers_that_it_has_room_for():
    for declared, given in (("int32", "int64"), ("int32", "uint32"), ("int16", "uint8"), ("uint8", "bool")):
        i = gx.Input((2,), dtype=declared)
        assert gx.Model(i, i * 1)(np.ones((1, 2), given)).tolist() == [[1, 1]]


def test_what_no_input_is_made_of():
    with pytest.raises(ArgumentTypeError, match="the shape of a sample is a tuple"):
        gx.Input(3)
    with pytest.raises(ArgumentError, match="an input is one array"):
        gx.Input([(3,), (4,)])
    with pytest.raises(ArgumentError, match="batch_size"):
        gx.Input((3,), batch_size=0)
    with pytest.raises(DTypeError):
        gx.Input((3,), dtype="string")
