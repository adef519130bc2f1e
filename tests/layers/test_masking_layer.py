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


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "mixed_float16", "bfloat16"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_data_of_any_dtype_are_compared_as_they_are(dtype, policy, compiled):
    """The value is rounded as the data are, and nothing else is rounded: -1.1 has no place in 16 bits."""
    x = np.array([[[0.5], [-1.1], [-1.1015625], [-1.099609375]]]).astype(dtype)
    expected = x[..., 0] != np.dtype(dtype).type(-1.1)
    model = gx.Sequential([layers.Masking(-1.1, dtype=policy), layers.GlobalAveragePooling1D(dtype="float32")])
    with call_context() as context:
        out = model.layers[0](x)
        np.testing.assert_array_equal(context.mask_of(out), expected)
        assert str(out.dtype) == model.layers[0].compute_dtype
    call = gx.jit(lambda x: model(x)) if compiled else model
    mean = x[expected].astype("float32").mean()
    np.testing.assert_allclose(call(x)[0, 0], mean, rtol=5e-3)
    np.testing.assert_allclose(model.predict(x, verbose=0)[0, 0], mean, rtol=5e-3)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_small_numbers_are_no_zeros_in_mixed_precision(policy):
    model = gx.Sequential([layers.Masking(dtype=policy), layers.GlobalAveragePooling1D(dtype="float32")])
    x = np.float32([[[1.0], [1e-9], [2e-9], [3.0], [0], [0]]])
    assert float(model(x)[0, 0]) == 1.0
