import numpy as np
import pytest

import graftax as gx
from graftax import layers
from graftax.layers.call_context import call_context

X = np.float32([[[1, 2], [0, 0], [0, 3]], [[-1, -1], [-1, 0], [0, 0]]])


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, [[True, False, True], [True, True, False]]), (-1, [[True, True, True], [False, True, True]])],
)
def test_steps_of_one_value_are_hidden(value, shown):
    with call_context() as context:
        out = layers.Masking(value)(X)
        np.testing.assert_array_equal(context.mask_of(out), shown)
    np.testing.assert_array_equal(out, np.where(np.array(shown)[..., None], X, 0))


def test_steps_of_nan_are_hidden_and_masks_add_up():
    x = np.where(X == 0, np.nan, X).astype("float32")
    given = np.array([[True, True, False], [True, True, True]])
    with call_context() as context:
        out = layers.Masking(np.nan)(x, mask=given)
        np.testing.assert_array_equal(context.mask_of(out), [[True, False, False], [True, True, False]])


@pytest.mark.broad
def test_layers_that_follow_see_the_mask():
    model = gx.Sequential([layers.Masking(), layers.LSTM(3)])
    long = np.concatenate([X, np.zeros((2, 4, 2), "float32")], 1)
    expected = np.asarray(model(X))
    np.testing.assert_allclose(model(long), expected, rtol=1e-6)
    np.testing.assert_allclose(gx.jit(lambda x: model(x))(long), expected, rtol=1e-5)


def test_the_mask_is_that_of_keras(keras):
    ours = layers.Masking(-1.0)
    theirs = keras.layers.Masking(-1.0)
    np.testing.assert_array_equal(ours(X), theirs(X))
    np.testing.assert_array_equal(ours.compute_mask(X, None), theirs.compute_mask(X))


def test_bad_input_is_refused():
    for value in ("a", None, [1, 2]):
        with pytest.raises(gx.errors.ArgumentTypeError, match="mask_value="):
            layers.Masking(value)
    with pytest.raises(gx.errors.ShapeError, match="at least 2 axes"):
        layers.Masking()(np.ones(3, "float32"))
