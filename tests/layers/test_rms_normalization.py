import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.random.default_rng(0).normal(1, 2, (2, 3, 4)).astype("float32")


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("axis", [-1, 1, (1, 2)])
def test_the_formulas(axis):
    wide = X.astype("float64")
    mean = (wide**2).mean(axis, keepdims=True)
    np.testing.assert_allclose(layers.RMSNormalization(axis)(X), wide / np.sqrt(mean + 1e-6), rtol=1e-5)
    norm = np.sqrt((wide**2).sum(axis, keepdims=True))
    np.testing.assert_allclose(layers.UnitNormalization(axis)(X), wide / norm, rtol=1e-5)


def test_what_a_mask_hides_along_the_axes_does_not_count():
    shown = np.array([[True, False, True], [True, True, False]])
    hidden = np.where(shown[..., None], X, np.nan)
    for kind, count in ((layers.RMSNormalization, shown.sum(1) * 4), (layers.UnitNormalization, np.ones(2))):
        out = np.asarray(kind((1, 2))(hidden, mask=shown))
        total = (np.where(shown[..., None], X, 0) ** 2).sum((1, 2)) / count
        np.testing.assert_allclose(out[shown], (X / np.sqrt(total)[:, None, None])[shown], rtol=1e-4)


@pytest.mark.broad
def test_a_row_of_zeros_stays_zero_and_has_a_finite_slope():
    zeros = gx.ops.zeros((1, 3))
    for layer in (layers.UnitNormalization(), layers.RMSNormalization()):
        assert not np.asarray(layer(zeros)).any()
        assert np.isfinite(np.asarray(gx.grad(lambda x, f=layer: gx.ops.sum(f(x)))(zeros))).all()


def test_values_are_those_of_keras(keras):
    np.testing.assert_allclose(layers.RMSNormalization()(X), keras.layers.RMSNormalization()(X), rtol=1e-5)
    np.testing.assert_allclose(layers.UnitNormalization(1)(X), keras.layers.UnitNormalization(1)(X), rtol=1e-5)


@pytest.mark.broad
def test_bad_input_is_refused():
    with pytest.raises(gx.errors.ArgumentError, match="epsilon=-1"):
        layers.RMSNormalization(epsilon=-1)
    for kind in (layers.RMSNormalization, layers.UnitNormalization):
        with pytest.raises(gx.errors.ArgumentError, match="axis="):
            kind((-1, -1))
        with pytest.raises(gx.errors.ArgumentError, match="two of them are one"):
            kind((-1, 2))(X)
        with pytest.raises(gx.errors.ShapeError, match="axis = 3"):
            kind(3)(X)
    layer = layers.RMSNormalization()
    layer(X)
    with pytest.raises(gx.errors.ShapeError, match=r"for the sizes \(4,\)"):
        layer(X[..., :2])
