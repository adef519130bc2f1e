"""Layers whose build takes the shape of each argument of call, as those of Keras 3 may."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentTypeError

A, B = np.ones((4, 3), "float32"), np.ones((4, 2), "float32")


class Mix(gx.Layer):
    def build(self, a_shape, b_shape):
        self.kernel = self.add_weight((a_shape[-1], b_shape[-1]), initializer="ones", name="kernel")

    def call(self, a, b):
        return ops.matmul(a, self.kernel) + b


class Optional(gx.Layer):
    def build(self, query_shape, value_shape=None):
        self.shapes = query_shape, value_shape

    def call(self, query, value=None, value_mask=None, training=None):
        return query


@pytest.mark.parametrize("call", [lambda m: m(A, B), lambda m: m(a=A, b=B), lambda m: m(A, b=B)])
def test_a_build_with_several_shapes_gets_that_of_each_argument(call):
    layer = Mix()
    np.testing.assert_allclose(call(layer), A @ np.ones((3, 2)) + B)
    assert layer.kernel.shape == (3, 2)
    assert layer.input_shape == {"a_shape": (4, 3), "b_shape": (4, 2)}


@pytest.mark.parametrize(
    "build", [lambda m: m.build((None, 3), (None, 2)), lambda m: m.build(b_shape=(None, 2), a_shape=(None, 3))]
)
def test_shapes_are_given_to_build_by_place_and_by_name(build):
    layer = Mix()
    build(layer)
    assert layer.built
    assert layer.kernel.shape == (3, 2)


def test_a_shape_with_a_default_may_be_left_out():
    alone, both = Optional(), Optional()
    alone(A)
    both(A, value=B)
    assert alone.shapes == ((4, 3), None)
    assert both.shapes == ((4, 3), (4, 2))


def test_a_single_required_shape_of_any_name_is_that_of_the_first_argument():
    class Free(gx.Layer):
        def build(self, x_shape, extra_shape=None):
            self.shapes = x_shape, extra_shape

        def call(self, inputs):
            return inputs

    class Usual(gx.Layer):
        def build(self, input_shape, hidden_shape=None):
            self.shapes = input_shape, hidden_shape

        def call(self, inputs):
            return inputs

    for layer in (Free(), Usual()):
        layer(A)
        assert layer.shapes == ((4, 3), None)


def _layer_with(build, call=lambda self, a, b=None, flag=False: a):
    """Return a layer whose `build` has these parameters, and keeps what it got."""
    names = ", ".join(one.split("=")[0] for one in build.split(", "))
    space = {}
    exec(f"def build(self, {build}): self.got = ({names},)", space)
    return type("Built", (gx.Layer,), {"build": space["build"], "call": call})()


BOTH = ((4, 3), (4, 2))


@pytest.mark.parametrize(
    ("build", "got"),
    [
        ("a, b", BOTH),
        ("a, b=None", BOTH),
        ("b=None, a=None", (BOTH[1], BOTH[0])),
        ("a_shape, b=None", BOTH),
        ("a_shape, b_shape=None", BOTH),
        ("input_shape, b_shape=None", BOTH),
        ("x, b=None", BOTH),
        ("a_shape, units=5", ((4, 3), 5)),
        ("input_shape, units=5", ((4, 3), 5)),
    ],
)
def test_each_parameter_gets_the_shape_of_the_argument_of_its_name(build, got):
    layer, again = _layer_with(build), _layer_with(build)
    layer(A, B)
    again(A, b=B)
    assert layer.got == again.got == got


@pytest.mark.parametrize("build", ["a_shape, B_shape=None", "a, c=None", "input_shape, B_shape=None", "a, b_shap, c"])
def test_a_parameter_of_no_argument_is_refused_where_a_shape_would_be_lost(build):
    with pytest.raises(ArgumentTypeError, match="which is no argument of call") as caught:
        _layer_with(build)(A, B)
    assert "def build(self, a_shape, b_shape" in caught.value.instead
    if "=" in build:
        alone = _layer_with(build)
        alone(A, flag=True)
        assert alone.got == ((4, 3), None)


def test_an_argument_that_is_left_out_is_told_as_such():
    with pytest.raises(ArgumentTypeError, match="'b' is to be the shape of 'b', which this call leaves out") as caught:
        _layer_with("a, b")(A)
    assert "b=None where it may be left out" in caught.value.instead


@pytest.mark.parametrize("build", ["a, b=None", "input_shape, b_shape=None"])
def test_what_is_below_is_built_by_the_names_of_the_call(build):
    layer = _layer_with(build, lambda self, a, b: self.first(a) + self.second(b))
    layer.first, layer.second = layers.Dense(2), layers.Dense(2)
    layer.build((None, 3), (None, 5))
    assert (layer.first.kernel.shape, layer.second.kernel.shape) == ((3, 2), (5, 2))


def test_a_shape_alone_is_that_of_the_input():
    layer = _layer_with("input_shape, hidden_shape=None", lambda self, a: a)
    layer.build([None, 3])
    layer(A)
    assert layer.input_shape == [None, 3]
    assert layer.compute_output_shape((None, 3)) == (None, 3)


def test_layers_below_are_built_for_the_shapes_of_their_arguments():
    class Nest(gx.Layer):
        def __init__(self):
            super().__init__()
            self.first, self.second = layers.Dense(2), layers.Dense(2)

        def build(self, a_shape, b_shape):
            pass

        def call(self, a, b):
            return self.first(a) + self.second(b)

    layer = Nest()
    layer.build((None, 3), (None, 5))
    assert layer.first.kernel.shape == (3, 2)
    assert layer.second.kernel.shape == (5, 2)


def test_a_subclass_hands_its_shapes_to_the_build_above():
    class Below(Mix):
        def build(self, a_shape, b_shape):
            super().build(a_shape, b_shape)
            self.extra = self.add_weight(b_shape[-1:], name="extra")

    layer = Below()
    layer(A, B)
    assert sorted(v.path for v in layer.variables) == ["extra", "kernel"]


def test_a_shape_that_belongs_to_no_argument_is_told_with_those_that_there_are():
    class Wrong(gx.Layer):
        def build(self, a_shape, c_shape):
            pass

        def call(self, a, b):
            return a

    with pytest.raises(ArgumentTypeError, match="'c_shape' is to be the shape of 'c'.*no argument of call") as caught:
        Wrong()(A, B)
    assert "def build(self, a_shape, b_shape)" in str(caught.value)


def test_a_shape_that_is_missing_in_build_is_told_with_the_names_of_all():
    with pytest.raises(ArgumentTypeError, match=r"it takes the shapes \(a_shape, b_shape\)"):
        Mix().build((4, 3))


def test_a_model_with_such_a_layer_shows_its_summary(capsys):
    class Whole(gx.Model):
        def __init__(self):
            super().__init__()
            self.mix = Mix()

        def call(self, x):
            return self.mix(x, x[:, :2])

    model = Whole()
    model(A)
    model.summary()
    assert "Mix" in capsys.readouterr().out


def test_complex_numbers_into_a_layer_are_told_by_their_own_name():
    with pytest.raises(gx.errors.DTypeError, match=r"got complex numbers, complex64\[4, 3\]") as caught:
        gx.Sequential([layers.Dense(2)])(A.astype("complex64"))
    assert "ops.real(x)" in str(caught.value)
    assert "ops.cast(y" not in str(caught.value)
