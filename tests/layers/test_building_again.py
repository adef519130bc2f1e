"""Building a layer twice, and building after a build that raised."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.core.errors import GraftaxError, StateError

X = np.ones((4, 3), "float32")


class Own(gx.Layer):
    def build(self, input_shape):
        self.scale = self.add_weight((input_shape[-1],), initializer="ones", regularizer="l2")

    def call(self, x):
        return x * self.scale


LAYERS = {
    "Dense": (lambda: layers.Dense(2, kernel_regularizer="l2"), (4, 3), (4, 5)),
    "Conv1D": (lambda: layers.Conv1D(2, 1), (4, 3, 2), (4, 3, 5)),
    "LSTM": (lambda: layers.LSTM(2), (4, 3, 2), (4, 3, 5)),
    "BatchNormalization": (lambda: layers.BatchNormalization(), (4, 3), (4, 5)),
    "a layer of the user": (Own, (4, 3), (4, 5)),
    "Sequential": (lambda: gx.Sequential([layers.Dense(2), Own()]), (4, 3), (4, 5)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_built_layer_keeps_its_weights_and_refuses_another_shape(name):
    make, shape, other = LAYERS[name]
    layer = make()
    layer.build(shape)
    before, losses = layer.variables, len(layer.losses)
    layer.build(shape)
    layer.build((None, *map(np.int64, shape[1:])))
    with pytest.raises(StateError, match="is built for") as caught:
        layer.build(other)
    assert "a new" in caught.value.instead
    assert len(layer.variables) == len(before)
    assert all(a is b for a, b in zip(layer.variables, before, strict=True))
    assert len(layer.losses) == losses


def test_build_of_a_built_model_builds_what_was_added_since():
    model = gx.Sequential([layers.Dense(2)])
    model.build((None, 3))
    kernel = model.layers[0].kernel
    model.add(layers.Dense(1))
    model.build((None, 3))
    assert model.layers[0].kernel is kernel
    assert model.layers[1].built


class Failing(gx.Layer):
    def __init__(self):
        super().__init__()
        self.inner = layers.Dense(2)
        self.parts = []
        self.fails = True

    def build(self, input_shape):
        self.inner.build(input_shape)
        self.parts.append(self.add_weight((input_shape[-1],), regularizer="l2"))
        self.scale = self.add_weight((2,), initializer="ones")
        if self.fails:
            raise ValueError("midway")

    def call(self, x):
        return self.inner(x * self.parts[0]) * self.scale


@pytest.mark.parametrize("first", ["build", "call"])
def test_a_build_that_raised_midway_leaves_nothing_behind(first):
    layer = Failing()
    with pytest.raises(ValueError, match="midway"):
        layer.build((4, 5)) if first == "build" else layer(np.ones((4, 5), "float32"))
    assert layer.variables == []
    assert layer.parts == []
    assert layer.losses == []
    assert not layer.built
    assert not layer.inner.built
    assert "scale" not in vars(layer)
    layer.fails = False
    assert layer(X).shape == (4, 2)
    assert len(layer.variables) == 4
    assert len(layer.losses) == 1


def test_a_build_that_raised_draws_the_same_weights_when_it_is_tried_again():
    def kernel(fails):
        gx.set_random_seed(3)
        layer = Failing()
        layer.fails = fails
        if fails:
            with pytest.raises(ValueError, match="midway"):
                layer.build((4, 3))
            layer.fails = False
        layer.build((4, 3))
        return layer.inner.kernel.numpy()

    np.testing.assert_array_equal(kernel(True), kernel(False))


def test_a_composite_that_cannot_be_built_for_one_shape_is_built_for_another():
    model = gx.Sequential([layers.Dense(2), layers.Conv1D(2, 1)])
    with pytest.raises(GraftaxError, match="axes"):
        model.build((None, 3))
    assert model.variables == []
    assert not any(layer.built for layer in model.layers)
    model.build((None, 4, 5))
    assert model.layers[0].kernel.shape == (5, 2)


@pytest.mark.parametrize("shape", [3, "ab", (2.0, 3), (-1, 3), (True, 3), np.array([2, 3]), np.float32(2)])
def test_build_takes_shapes_alone(shape):
    with pytest.raises(GraftaxError, match="build got"):
        layers.Dense(2).build(shape)
