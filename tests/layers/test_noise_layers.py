"""Layers that are random while training."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops

X = np.random.default_rng(0).normal(size=(200, 6, 50)).astype("float32")
KINDS = {
    "noise": lambda: layers.GaussianNoise(0.3, seed=3),
    "gaussian": lambda: layers.GaussianDropout(0.3, seed=3),
    "alpha": lambda: layers.AlphaDropout(0.3, seed=3),
    "spatial": lambda: layers.SpatialDropout1D(0.3, seed=3),
    "path": lambda: layers.DropPath(0.3, seed=3),
}


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_happens_outside_of_training_and_the_mean_stays_inside(kind):
    layer = KINDS[kind]()
    np.testing.assert_array_equal(layer(X), X)
    out = np.asarray(layer(X + 1 if kind != "alpha" else X, training=True))
    assert out.mean() == pytest.approx(0 if kind == "alpha" else 1, abs=0.1)
    np.testing.assert_array_equal(KINDS[kind]()(X, training=True), KINDS[kind]()(X, training=True))
    layer.build_for(X)
    assert not np.array_equal(layer(X, training=True), layer(X, training=True))


@pytest.mark.broad
def test_how_strong_the_noise_is():
    ones = np.ones_like(X)
    assert np.asarray(KINDS["noise"]()(ones, training=True)).std() == pytest.approx(0.3, rel=0.02)
    assert np.asarray(KINDS["gaussian"]()(ones, training=True)).std() == pytest.approx((0.3 / 0.7) ** 0.5, rel=0.02)
    out = np.asarray(KINDS["alpha"]()(X, training=True))
    assert out.std() == pytest.approx(1, rel=0.03)
    low = -1.7580993408473766
    factor = (0.7 * (1 + 0.3 * low**2)) ** -0.5
    dropped = np.isclose(out, factor * (low - low * 0.3), rtol=1e-4)
    assert dropped.mean() == pytest.approx(0.3, abs=0.01)
    np.testing.assert_allclose(out[~dropped], (factor * (X - low * 0.3))[~dropped], rtol=1e-4, atol=1e-5)


@pytest.mark.broad
def test_what_is_dropped_together():
    out = np.asarray(KINDS["spatial"]()(np.ones_like(X), training=True))
    assert (out == out[:, :1]).all()
    assert (out[:, 0] == 0).mean() == pytest.approx(0.3, abs=0.02)
    out = np.asarray(KINDS["path"]()(np.ones_like(X), training=True))
    assert (out == out[:, :1, :1]).all()
    assert (out[:, 0, 0] == 0).mean() == pytest.approx(0.3, abs=0.1)
    assert set(np.unique(out)) == {np.float32(0), np.float32(1 / 0.7)}


@pytest.mark.broad
def test_a_penalty_on_values():
    layer = layers.ActivityRegularization(0.5, 0.25)
    x = np.float32([[1, -2], [3, 0]])
    assert layer(x).tolist() == x.tolist()
    assert float(sum(layer.losses)) == (0.5 * 6 + 0.25 * 14) / 2
    layer(np.where([[True], [False]], x, np.nan), mask=np.array([True, False]))
    assert float(sum(layer.losses)) == (0.5 * 3 + 0.25 * 5) / 2
    model = gx.Sequential(
        [layers.Dense(2, use_bias=False, kernel_initializer="ones"), layers.ActivityRegularization(1.0)]
    )

    def loss(x):
        model(x)
        return sum(model.losses)

    np.testing.assert_allclose(gx.jit(gx.grad(loss))(ops.asarray(x)), [[-1, -1], [1, 1]])


def test_the_penalty_is_that_of_keras(keras):
    x = np.float32([[1, -2], [3, 0.5]])
    ours, theirs = layers.ActivityRegularization(0.1, 0.2), keras.layers.ActivityRegularization(0.1, 0.2)
    ours(x)
    theirs(x)
    assert float(sum(ours.losses)) == pytest.approx(float(sum(theirs.losses)))


def test_the_distribution_of_alpha_dropout_is_that_of_torch(torch):
    theirs = torch.nn.functional.alpha_dropout(torch.tensor(X), 0.3, training=True).numpy()
    ours = np.asarray(KINDS["alpha"]()(X, training=True))
    dropped = [values[counts.argmax()] for values, counts in (np.unique(x, return_counts=True) for x in (ours, theirs))]
    assert dropped[0] == pytest.approx(dropped[1], rel=1e-5)
    assert ours.std() == pytest.approx(theirs.std(), rel=0.02)


def test_bad_settings_are_refused():
    for make in (layers.SpatialDropout1D, layers.DropPath, layers.GaussianDropout, layers.AlphaDropout):
        for rate in (-0.1, 1.5, "a"):
            with pytest.raises(gx.errors.ArgumentError, match="rate="):
                make(rate)
    with pytest.raises(gx.errors.ArgumentError, match="has no bound"):
        layers.GaussianDropout(1)
    with pytest.raises(gx.errors.ArgumentError, match="stddev="):
        layers.GaussianNoise(-1)
    with pytest.raises(gx.errors.ArgumentError, match="l2="):
        layers.ActivityRegularization(l2=-1)
    with pytest.raises(gx.errors.ShapeError, match="needs 4 axes"):
        layers.SpatialDropout2D(0.5)(X, training=True)
