import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graftax as gx
from graftax import layers
from graftax.backend import registry


@given(shape=st.lists(st.integers(0, 4), min_size=1, max_size=4))
def test_flatten_keeps_the_order(shape):
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    with registry.use("numpy"):
        out = layers.Flatten()(x)
    assert out.shape == (shape[0], int(np.prod(shape[1:])))
    np.testing.assert_array_equal(out, x.reshape(out.shape))


def test_flatten_refuses_a_scalar():
    with pytest.raises(gx.errors.ShapeError, match="at least 1 axis"):
        layers.Flatten()(np.float32(1))


@pytest.mark.parametrize(
    ("target", "shape"), [((12,), (2, 12)), ((3, -1), (2, 3, 4)), ((-1,), (2, 12)), ((1, 2, 3, 2), (2, 1, 2, 3, 2))]
)
def test_reshape(target, shape):
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    np.testing.assert_array_equal(layers.Reshape(target)(x), x.reshape(shape))
    assert layers.Reshape(target).compute_output_shape((None, 3, 4)) == (None, *shape[1:])


def test_reshape_of_no_rows():
    assert layers.Reshape((2, -1))(np.ones((0, 6), "float32")).shape == (0, 2, 3)
    assert layers.Reshape(())(np.ones((3, 1), "float32")).shape == (3,)


@pytest.mark.parametrize("target", [(5,), (5, -1), (0, -1)])
def test_other_numbers_of_elements_are_refused(target):
    with pytest.raises(gx.errors.ShapeError, match=r"12 values for each(.|\n)*target_shape="):
        layers.Reshape(target)(np.ones((2, 3, 4), "float32"))


@pytest.mark.parametrize("target", [12, (-1, -1), (2.0,), (-2,), None])
def test_the_target_is_checked(target):
    with pytest.raises(gx.errors.ArgumentError, match="target_shape="):
        layers.Reshape(target)


def test_permute_and_repeat_vector():
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    np.testing.assert_array_equal(layers.Permute((2, 1))(x), x.transpose(0, 2, 1))
    np.testing.assert_array_equal(layers.RepeatVector(3)(x[:, 0]), np.stack([x[:, 0]] * 3, 1))
    assert layers.Permute((2, 1)).compute_output_shape((None, 3, 4)) == (None, 4, 3)
    for dims in ((0, 1), (1, 1), (1, 3), (), 2, (1.0, 2.0), None, (True, 2)):
        with pytest.raises(gx.errors.ArgumentError, match="dims="):
            layers.Permute(dims)
    with pytest.raises(gx.errors.ShapeError, match="needs 3 axes"):
        layers.Permute((2, 1))(x[0])
    with pytest.raises(gx.errors.ArgumentError, match="n=0"):
        layers.RepeatVector(0)
    with pytest.raises(gx.errors.ShapeError, match="needs 2 axes"):
        layers.RepeatVector(2)(x)


def test_permute_and_repeat_vector_are_those_of_keras(keras):
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    np.testing.assert_array_equal(layers.Permute((2, 1))(x), keras.layers.Permute((2, 1))(x))
    np.testing.assert_array_equal(layers.RepeatVector(3)(x[:, 0]), keras.layers.RepeatVector(3)(x[:, 0]))
