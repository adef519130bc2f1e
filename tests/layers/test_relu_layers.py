import numpy as np
import pytest

import graftax as gx
from graftax import layers

X = np.random.default_rng(0).normal(size=(2, 3, 4, 5)).astype("float32")
SETTINGS = {
    "ReLU": [{}, {"max_value": 0.5}, {"negative_slope": 0.2, "threshold": 0.4}, {"max_value": 1.0, "threshold": 0.1}],
    "LeakyReLU": [{}, {"negative_slope": 0.05}],
    "PReLU": [{"alpha_initializer": "ones"}],
}
CASES = [(kind, options) for kind, several in SETTINGS.items() for options in several]


@pytest.mark.parametrize(("kind", "options"), CASES, ids=[f"{kind}{i}" for i, (kind, _) in enumerate(CASES)])
def test_values_are_those_of_keras(keras, kind, options):
    ours, theirs = getattr(layers, kind)(**options)(X), getattr(keras.layers, kind)(**options)(X)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_the_formula_of_a_relu_with_all_its_numbers():
    x = np.float32([-2, 0.2, 0.5, 1, 4])
    out = layers.ReLU(max_value=3.0, negative_slope=0.5, threshold=0.5)(x)
    np.testing.assert_allclose(out, [-1.25, -0.15, 0.5, 1, 3], rtol=1e-6)


@pytest.mark.broad
def test_slopes_are_learned_and_shared():
    layer = layers.PReLU(alpha_initializer=0.5, shared_axes=(1, 2))
    np.testing.assert_allclose(layer(X), np.where(X >= 0, X, 0.5 * X), rtol=1e-6)
    assert layer.alpha.shape == (1, 1, 5)
    assert layer(X[:, :2, :3]).shape == (2, 2, 3, 5)
    with pytest.raises(gx.errors.ShapeError, match=r"the slopes were made for \(1, 1, 5\)"):
        layer(X[..., :4])
    assert layers.PReLU(shared_axes=-1).compute_output_shape((None, 3, 4)) == (None, 3, 4)


def test_bad_settings_are_refused():
    for make in (lambda: layers.ReLU(-1.0), lambda: layers.ReLU(threshold="a"), lambda: layers.LeakyReLU(-0.1)):
        with pytest.raises(gx.errors.ArgumentError, match="is a number from 0"):
            make()
    with pytest.raises(gx.errors.ArgumentError, match="axis 0 is the batch"):
        layers.PReLU(shared_axes=(0, 1))
    with pytest.raises(gx.errors.ShapeError, match="axis = 5"):
        layers.PReLU(shared_axes=5)(X)
