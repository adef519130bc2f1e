import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
SHOWN = np.random.default_rng(1).random((2, 3, 4)) < 0.6


def by_hand(x, shown, axis):
    e = np.exp(x.astype("float64")) * shown
    total = e.sum(axis, keepdims=True)
    return e / np.where(total == 0, 1, total)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("axis", [-1, 1, (1, 2)])
def test_softmax_of_what_a_mask_shows(axis):
    layer = layers.Softmax(axis)
    np.testing.assert_allclose(layer(X), by_hand(X, 1, axis), rtol=1e-5)
    hidden = np.where(SHOWN, X, np.nan)
    np.testing.assert_allclose(layer(hidden, mask=SHOWN), by_hand(X, SHOWN, axis), rtol=1e-5)


@pytest.mark.broad
def test_nothing_to_share_gives_zeros_and_no_nan_behind():
    slope = gx.grad(lambda x: ops.sum(layers.Softmax()(x, mask=np.zeros((2, 3, 4), bool)) ** 2))(ops.asarray(X))
    assert not np.asarray(slope).any()


def test_values_are_those_of_keras(keras):
    shown = SHOWN.copy()
    shown[..., 0] = True
    for axis in (-1, 1):
        theirs = keras.layers.Softmax(axis)(X, mask=shown)
        np.testing.assert_allclose(layers.Softmax(axis)(X, mask=shown), theirs, rtol=1e-4, atol=1e-6)


def test_bad_settings_are_refused():
    with pytest.raises(gx.errors.ArgumentError, match="axis="):
        layers.Softmax((1, 1))
    with pytest.raises(gx.errors.ShapeError, match="mask of shape"):
        layers.Softmax()(X, mask=np.ones((2, 4), bool))
