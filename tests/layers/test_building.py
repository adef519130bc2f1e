"""Layers are built at their first call or by hand: what is made then, what is asked before, what fails."""

import re

import numpy as np
import pytest

import graftax as gx
from graftax import layers
from tests.layers.small_layers import Around, Scale, X

# --- building -------------------------------------------------------------------------------------------------------


def test_kl1_builds_once_with_the_full_shape():
    shapes = []

    class Noting(Scale):
        def build(self, input_shape):
            shapes.append(input_shape)
            super().build(input_shape)

    layer = Noting()
    layer(X)
    layer(np.ones((5, 4), "float32"))
    assert shapes == [(3, 4)]
    outer = Around(layer)
    assert [v.path for v in outer.variables] == ["inner/factor"]


def test_kl2_errors_of_a_custom_layer_name_it():
    layer = Scale(name="mine")
    layer(X)
    with pytest.raises(gx.errors.ShapeError, match=r"'mine' \(Scale\) called with float32\[3, 5\]"):
        layer(np.ones((3, 5), "float32"))

    class Broken(gx.Layer):
        def call(self, x):
            raise KeyError("lost")

    with pytest.raises(KeyError) as caught:
        Around(Broken())(X)
    place, *notes = caught.value.__notes__
    assert re.fullmatch(r"  at: \S*test_building\.py:\d+: raise KeyError\(\"lost\"\)", place)
    assert notes == [
        "  where: layer 'inner' (Broken) called with float32[3, 4]",
        "  where: layer 'around' (Around) called with float32[3, 4]",
    ]


def test_kl3_state_may_be_added_after_build():
    layer = Scale()
    layer(X)
    layer.more = layer.add_weight((2,), name="more")
    layer.parts = [layers.Dense(2)]
    layer.parts.append(layers.Dense(3))
    layer.parts[1](X)
    assert [v.path for v in layer.variables] == ["factor", "more", "parts/1/kernel", "parts/1/bias"]


def test_kl4_super_init_is_not_needed():
    class Forgetful(gx.Layer):
        def __init__(self):
            self.inner = layers.Dense(2)

        def call(self, x):
            return self.inner(x)

    layer = Forgetful()
    assert layer(X).shape == (3, 2)
    assert layer.name == "forgetful"
    assert [v.path for v in layer.variables] == ["inner/kernel", "inner/bias"]


def test_a_layer_without_call_says_so():
    with pytest.raises(gx.errors.StateError, match=r"Layer has no call\(\)(.|\n)*def call"):
        gx.Layer()(X)


def test_a_failed_build_can_be_repeated():
    layer = layers.Dense(2)
    with pytest.raises(gx.errors.ShapeError):
        layer(np.float32(1))
    assert not layer.built
    assert layer(X).shape == (3, 2)


@pytest.mark.parametrize("name", ["with space", "1st", "a/b", ""])
def test_names_are_checked(name):
    with pytest.raises(gx.errors.ArgumentError, match="name="):
        layers.Dense(2, name=name)


# --- shapes, random numbers, creators -------------------------------------------------------------------------------


def test_kl21_and_kl22_shapes_of_unbuilt_custom_layers():
    assert Around(Scale()).compute_output_shape((None, 7)) == (None, 7)
    assert layers.Dense(2).compute_output_shape((None, 7)) == (None, 2)


def test_require_built():
    layer = layers.Dense(2, name="head")
    with pytest.raises(gx.errors.NotBuiltError, match=r"'head'.*summary"):
        layer._gx_require_built("summary()")
    layer(X)
    layer._gx_require_built("summary()")


# --- building by hand -------------------------------------------------------------------------------------------------


def test_built_by_hand_it_keeps_its_weights_in_the_first_call():
    layer = gx.layers.Dense(2)
    layer.build((None, 3))
    kernel = layer.kernel
    layer(np.ones((1, 3), "float32"))
    assert layer.built
    assert layer.input_shape == (None, 3)
    assert layer.kernel is kernel
    assert len(layer.variables) == 2


def test_built_by_hand_it_obeys_the_creators_under_which_it_was_made():
    with gx.variable_creator_scope(gx.reparam.WeightNorm()):
        layer = gx.layers.Dense(2)
    layer.build((None, 3))
    assert isinstance(layer.kernel, gx.Reparam)


def test_a_build_that_goes_on_to_that_of_its_base_is_one():
    class Wider(gx.layers.Dense):
        def build(self, input_shape):
            super().build(input_shape)
            assert not self.built
            self.extra = self.add_weight((2,))

    layer = Wider(2)
    layer.build((None, 3))
    assert layer.built
    assert [v.name for v in layer.variables] == ["kernel", "bias", "extra"]


def test_a_weight_of_a_layer_that_is_not_built_says_so():
    layer = layers.Embedding(5, 4)
    with pytest.raises(AttributeError, match="which is not built") as error:
        _ = layer.embeddings
    assert "call it on an example" in error.value.instead
    assert not hasattr(layer, "embeddings")
    layer.build((None,))
    assert layer.embeddings.shape == (5, 4)
    with pytest.raises(AttributeError, match="has no 'embedings'"):
        _ = layer.embedings


def test_a_property_that_fails_in_a_layer_that_is_not_built_keeps_its_own_error():
    class Broken(gx.Layer):
        @property
        def width(self):
            return self.wdth

    with pytest.raises(AttributeError, match="wdth"):
        _ = Broken().width
