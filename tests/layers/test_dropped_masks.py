"""Masks of other axes than the output has, or than another mask of the same array."""

import warnings

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import DTypeError, ShapeError
from graftax.variables import masks

L = layers
X = np.ones((4, 4, 4), "float32")
ROWS = np.array([True, False, True, True])
STEPS = np.tri(4, dtype=bool)
FEATURES = np.ones((4, 4, 4), bool)
FEATURES[1, 2] = False


def after(layer, x, mask):
    found = masks.mask_of(layer(x, mask=mask))
    return None if found is None else np.asarray(found)


# --- two masks of one array -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_a_mask_of_samples_and_one_of_tokens(mode):
    tokens = np.array([[1, 2, 0, 0], [1, 2, 3, 4], [1, 0, 0, 0], [1, 1, 1, 1]])
    layer, pooling = L.Embedding(5, 3, mask_zero=True), L.GlobalAveragePooling1D()
    seen = (tokens != 0) & ROWS[:, None]
    np.testing.assert_array_equal(after(layer, tokens, ROWS), seen)

    def pooled(x):
        return pooling(layer(x, mask=ROWS))

    run = pooled if mode == "eager" else gx.jit(pooled)
    np.testing.assert_allclose(run(tokens), pooling(layer(tokens) + 0, mask=seen), rtol=1e-6)


@pytest.mark.parametrize("mask", [ROWS, STEPS, FEATURES], ids=["samples", "steps", "features"])
def test_a_mask_of_any_axes_and_one_of_steps_without_values(mask):
    x = X.copy()
    x[3, 3] = x[0, 0] = 0
    own = x.any(-1)
    wanted = own[..., None] & mask if mask.ndim == 3 else own & (mask[:, None] if mask.ndim == 1 else mask)
    np.testing.assert_array_equal(after(L.Masking(), x, mask), wanted)


# --- a mask and the output --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("units", [4, 5])
def test_features_of_which_some_are_hidden_make_new_ones(units):
    layer = L.Dense(units)
    with pytest.warns(UserWarning, match=r"'dense' \(Dense\) is dropped: it is of shape \(4, 4, 4\)(.|\n)*ops.where"):
        assert after(layer, X, FEATURES) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(after(L.Dense(units), X, STEPS), STEPS)
        np.testing.assert_array_equal(after(L.Dense(units), X[0], ROWS), ROWS)
        assert L.Dense(units)(ops.where(FEATURES, X, 0)).shape == (4, 4, units)


class Halved(gx.Layer):
    supports_masking = True

    def call(self, x):
        return x[:, ::2]


def test_a_promise_that_the_output_does_not_keep():
    with pytest.warns(UserWarning, match=r"is dropped: it is of shape \(4, 4\), the output is of shape \(4, 2, 4\)"):
        assert after(Halved(), X, STEPS) is None
    np.testing.assert_array_equal(after(Halved(), X, ROWS), ROWS)
    with pytest.warns(UserWarning, match="is dropped"):
        assert after(L.Activation("glu"), X, FEATURES) is None


@pytest.mark.parametrize("mask", [STEPS[:, :3], STEPS[:2]], ids=["steps", "samples"])
@pytest.mark.parametrize("said", [True, False], ids=["array", "function"])
def test_a_mask_that_a_function_says_of_another_output(mask, said):
    layer = L.Lambda(lambda x: x + 1, mask=mask if said else lambda inputs, old: ops.asarray(mask))
    with pytest.raises(ShapeError, match=r"\(Lambda\)(.|\n)*of shape (.|\n)*mask of shape \(4, 4\)"):
        layer(X)


def test_a_mask_of_numbers_that_a_function_says():
    with pytest.raises(DTypeError, match="Lambda"):
        L.Lambda(lambda x: x + 1, mask=STEPS.astype("float32"))(X)
    said = L.Lambda(lambda x: x + 1, mask=STEPS.astype("int32"))(X)
    np.testing.assert_array_equal(np.asarray(masks.mask_of(said)), STEPS)
