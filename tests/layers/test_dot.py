import numpy as np
import pytest

import graftax as gx
from graftax import layers

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 3, 4)).astype("float32"), RNG.normal(size=(2, 5, 3)).astype("float32")
CASES = [((1, 2), X, Y, "anb,acn->abc"), (-1, X, X, "abn,acn->abc"), (1, X[:, 0], X[:, 1], "an,an->a")]


@pytest.mark.parametrize(("axes", "x", "y", "equation"), CASES, ids=["axes", "last", "vectors"])
def test_products(axes, x, y, equation):
    expected = np.einsum(equation, x, y)
    out = np.asarray(layers.Dot(axes)([x, y]))
    np.testing.assert_allclose(out, expected if expected.ndim > 1 else expected[:, None], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("axes", "x", "y", "equation"), CASES, ids=["axes", "last", "vectors"])
@pytest.mark.parametrize("normalize", [False, True])
def test_values_are_those_of_keras(keras, axes, x, y, equation, normalize):
    axes = 2 if axes == -1 else axes
    ours, theirs = (one.Dot(axes, normalize) for one in (layers, keras.layers))
    np.testing.assert_allclose(ours([x, y]), theirs([x, y]), rtol=1e-4, atol=1e-5)


def test_bad_input_is_refused():
    for axes in ((1, 2, 3), "a", None, 1.5):
        with pytest.raises(gx.errors.ArgumentError, match="axes="):
            layers.Dot(axes)
    for inputs in (X, [X], [X, X, X]):
        with pytest.raises(gx.errors.ArgumentTypeError, match="no list of two arrays"):
            layers.Dot(1)(inputs)
    with pytest.raises(gx.errors.ArgumentError, match="axis 0 is the batch"):
        layers.Dot(0)([X, X])
    with pytest.raises(gx.errors.ShapeError, match="the same size along their axis"):
        layers.Dot(2)([X, Y])
