"""What add_weight and Variable are asked for that cannot be."""

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import ArgumentError, ArgumentTypeError


def made(**asked):
    class Own(gx.Layer):
        def build(self, input_shape):
            self.w = self.add_weight(**{"shape": (2,), "initializer": "zeros", **asked})

        def call(self, x):
            return x

    layer = Own()
    layer(np.ones((2, 3), "float32"))
    return layer.w


@pytest.mark.parametrize(
    ("asked", "instead"),
    [
        ({"role": "seed"}, "uint32"),
        ({"role": "seed", "dtype": "float32", "trainable": False}, "uint32"),
        ({"role": "seed", "dtype": "uint32"}, "trainable=False"),
        ({"role": "state"}, "trainable=False"),
        ({"role": "counter", "dtype": "int32"}, "trainable=False"),
        ({"role": "metric"}, "trainable=False"),
        ({"dtype": "int32"}, "trainable=False"),
        ({"dtype": "bool"}, "trainable=False"),
        ({"trainable": False, "regularizer": "l2"}, "without regularizer="),
        ({"trainable": False, "constraint": "non_neg"}, "without constraint="),
        ({"role": "wieght"}, "weight, state"),
        ({"name": "a/b"}, 'name="a_b"'),
        ({"name": ""}, 'name="kernel"'),
        ({"name": "**"}, 'name="kernel"'),
        ({"shape": (-1,)}, "shape=(2, 3)"),
    ],
)
def test_contradictions_are_refused_with_the_line_to_write(asked, instead):
    with pytest.raises(ArgumentError) as caught:
        made(**asked)
    assert instead in caught.value.instead
    assert "'own'" in str(caught.value)


@pytest.mark.parametrize("shape", [None, (None,), (True,), (2.0,), "ab", 3])
def test_shapes_are_tuples_of_integers(shape):
    with pytest.raises(ArgumentTypeError, match="shape="):
        made(shape=shape)
    if shape is not None:
        with pytest.raises(ArgumentTypeError, match="shape="):
            gx.Variable(shape=shape)


@pytest.mark.parametrize(
    "asked",
    [
        {"role": "state", "trainable": False},
        {"role": "seed", "dtype": "uint32", "trainable": False},
        {"dtype": "int32", "trainable": False},
        {"dtype": "complex64"},
        {"shape": (0,)},
        {"shape": np.array([2, 3])},
        {"name": "my weight"},
    ],
)
def test_what_can_be_done_is_done(asked):
    weight = made(**asked)
    assert weight.role == asked.get("role", "weight")
    assert weight.trainable == asked.get("trainable", True)
    assert weight.dtype == asked.get("dtype", "float32")


def test_a_variable_takes_names_of_penalties_and_projections():
    v = gx.Variable([1.0], regularizer="l2", constraint="non_neg")
    assert isinstance(v.regularizer, gx.regularizers.L2)
    assert isinstance(v.constraint, gx.constraints.NonNeg)
    for name in ("regularizer", "constraint"):
        with pytest.raises(ArgumentError, match=f"{name}=3"):
            gx.Variable([1.0], **{name: 3})
    with pytest.raises(ArgumentError, match="one part of a path"):
        gx.Variable(1.0, name="a/b")
