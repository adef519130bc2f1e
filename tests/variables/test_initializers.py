import inspect

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import initializers, ops
from graftax.backend import registry
from graftax.variables.variance_scaling import fans

RANDOM = {
    "glorot_uniform": jax.nn.initializers.glorot_uniform(),
    "glorot_normal": jax.nn.initializers.glorot_normal(),
    "he_uniform": jax.nn.initializers.he_uniform(),
    "he_normal": jax.nn.initializers.he_normal(),
    "lecun_uniform": jax.nn.initializers.lecun_uniform(),
    "lecun_normal": jax.nn.initializers.lecun_normal(),
}
VARIANCE = {"glorot": lambda i, o: 2 / (i + o), "he": lambda i, o: 2 / i, "lecun": lambda i, o: 1 / i}


def key(seed=0):
    return registry.current().random.key(seed)


def draw(initializer, shape, dtype="float32", seed=0):
    return np.asarray(initializers.get(initializer)(key(seed), shape, dtype))


@pytest.mark.in_turn(6)
@pytest.mark.parametrize("name", RANDOM)
@pytest.mark.parametrize("shape", [(200, 300), (3, 3, 40, 60)])
def test_variance_and_bounds(name, shape):
    x = draw(name, shape)
    window = np.prod(shape[:-2])
    variance = VARIANCE[name.split("_")[0]](window * shape[-2], window * shape[-1])
    assert x.var() == pytest.approx(variance, rel=0.03)
    assert x.mean() == pytest.approx(0, abs=5 * np.sqrt(variance / x.size))
    bound = np.sqrt(3 * variance) if "uniform" in name else 2 * np.sqrt(variance) / 0.87962566
    assert 0.98 * bound < abs(x).max() <= bound * (1 + 1e-6)


@pytest.mark.broad
@pytest.mark.parametrize("name", RANDOM)
def test_values_are_those_of_jax(name):
    """One key gives one draw, whoever asks."""
    shape = (2, 5, 7)
    with jax.threefry_partitionable(True):
        theirs = RANDOM[name](jax.random.wrap_key_data(key(3), impl="threefry2x32"), shape)
    np.testing.assert_allclose(draw(name, shape, seed=3), theirs, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("shape", [(), (6,), (4, 6), (2, 4, 6), (3, 2, 4, 6)])
def test_fans_are_those_of_keras(keras, shape):
    theirs = inspect.getmodule(keras.initializers.VarianceScaling).compute_fans(shape)
    assert fans(shape) == pytest.approx(theirs)


def test_defaults_are_those_of_keras(keras):
    for name in ("RandomNormal", "RandomUniform", "TruncatedNormal", "VarianceScaling", "Orthogonal", "Constant"):
        ours, theirs = (inspect.signature(getattr(m, name)).parameters for m in (initializers, keras.initializers))
        shared = set(ours) & set(theirs) - {"seed"}
        assert shared
        assert {n: ours[n].default for n in shared} == {n: theirs[n].default for n in shared}


@pytest.mark.parametrize(
    ("initializer", "mean", "stddev", "bound"),
    [
        (initializers.RandomNormal(1.0, 0.5), 1, 0.5, np.inf),
        (initializers.TruncatedNormal(1.0, 0.5), 1, 0.5 * 0.87962566, 1.0),
        (initializers.RandomUniform(0.0, 2.0), 1, 2 / np.sqrt(12), 1.0),
        (initializers.VarianceScaling(2.0, "fan_out", "untruncated_normal"), 0, np.sqrt(2 / 300), np.inf),
        (initializers.VarianceScaling(3.0, "fan_avg", "uniform"), 0, np.sqrt(3 / 250), np.sqrt(9 / 250) * (1 + 1e-6)),
    ],
    ids=repr,
)
def test_statistics(initializer, mean, stddev, bound):
    x = draw(initializer, (200, 300))
    assert x.mean() == pytest.approx(mean, abs=5 * stddev / np.sqrt(x.size))
    assert x.std() == pytest.approx(stddev, rel=0.02)
    assert abs(x - mean).max() <= bound


@pytest.mark.broad
@pytest.mark.parametrize("shape", [(6, 6), (8, 3), (3, 8), (2, 3, 4), (2, 2, 3, 24)])
@pytest.mark.parametrize("gain", [1.0, 0.5])
def test_orthogonal(shape, gain):
    q = draw(initializers.Orthogonal(gain), shape).reshape(-1, shape[-1])
    product = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
    np.testing.assert_allclose(product, gain**2 * np.eye(len(product)), atol=1e-5)


def test_orthogonal_is_uniform():
    """Without the sign correction the diagonal would have one sign only."""
    diagonals = np.array([np.diag(draw("orthogonal", (3, 3), seed=seed)) for seed in range(200)])
    assert abs(diagonals.mean(0)).max() < 0.15


def test_orthogonal_and_identity_need_matrices():
    for name in ("orthogonal", "identity"):
        with pytest.raises(gx.errors.ArgumentError, match=r"shape \(3,\)"):
            draw(name, (3,))


def test_constants():
    assert not draw("zeros", (2, 3)).any()
    assert (draw("ones", (2, 3)) == 1).all()
    assert (draw(0.5, (2, 3)) == 0.5).all()
    np.testing.assert_array_equal(draw(np.arange(6.0).reshape(2, 3), (2, 3)), np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(draw(initializers.Identity(2.0), (2, 3)), 2 * np.eye(2, 3))
    with pytest.raises(gx.errors.ArgumentError, match=r"holds shape \(2,\)(.|\n)*\(3,\)"):
        draw([1.0, 2.0], (3,))


@pytest.mark.in_turn(9)
@pytest.mark.parametrize("name", initializers._NAMES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", pytest.param("float16", marks=pytest.mark.slow)])
def test_every_name_in_every_dtype(name, dtype):
    x = initializers.get(name)(key(), (6, 4), dtype)
    assert (x.shape, str(x.dtype)) == ((6, 4), dtype)
    assert np.isfinite(np.float32(x)).all()


@pytest.mark.parametrize("name", initializers._NAMES)
def test_numpy_draws_the_same(name):
    expected = draw(name, (6, 4), seed=7)
    with registry.use("numpy"):
        np.testing.assert_allclose(draw(name, (6, 4), seed=7), expected, rtol=2e-5, atol=1e-6)


def test_kl15_one_object_different_weights():
    for initializer in (initializers.RandomNormal(), initializers.RandomNormal(seed=1)):
        a, b = (gx.Variable(shape=(3,), initializer=initializer, name=name) for name in "ab")
        assert (a.numpy() != b.numpy()).any()


def test_kl15_a_seed_is_independent_of_the_global_one():
    drawn = []
    for seed, own in ((1, 5), (2, 5), (1, 6)):
        gx.set_random_seed(seed)
        drawn.append(gx.Variable(shape=(3,), initializer=initializers.RandomNormal(seed=own), name="w").numpy())
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0] != drawn[2]).any()


def test_kl16_the_global_seed_decides():
    drawn = []
    for seed in (3, 3, 4):
        gx.set_random_seed(seed)
        drawn.append(gx.Variable(shape=(3,), initializer="normal", name="w").numpy())
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0] != drawn[2]).any()


def test_get():
    def mine(key, shape, dtype):
        return ops.full(shape, 7, dtype)

    assert initializers.get(mine) is mine
    assert gx.Variable(shape=(2,), initializer=mine).numpy().tolist() == [7, 7]
    with pytest.raises(gx.errors.ArgumentError, match=r"'glorot'(.|\n)*glorot_uniform"):
        initializers.get("glorot")
    with pytest.raises(NotImplementedError, match=r"must define __call__"):
        initializers.BaseInitializer()(None, (2,), "float32")


def test_repr():
    assert repr(initializers.GlorotUniform(seed=1)) == (
        "GlorotUniform(scale=1.0, mode='fan_avg', distribution='uniform', seed=1)"
    )
    assert repr(initializers.Constant(2.0)) == "Constant(2.0)"
    assert repr(initializers.Constant(np.ones((2, 3)))) == "Constant(<array of shape (2, 3)>)"


def test_variance_scaling_is_checked():
    for options, message in (
        ({"scale": 0}, "scale=0"),
        ({"mode": "fan"}, "fan_avg"),
        ({"distribution": "normal"}, "untruncated_normal"),
    ):
        with pytest.raises(gx.errors.ArgumentError, match=message):
            initializers.VarianceScaling(**options)
