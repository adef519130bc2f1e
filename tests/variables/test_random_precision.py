"""Draws have the moments of their distribution in every dtype, and none lies far beyond the others."""

import math
from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax.backend import registry
from graftax.variables import draws

N = 40_000
EULER = 0.5772156649015329
DTYPES = ("float32", "float16", "bfloat16")

# name: what is given besides the shape, mean, standard deviation, what n draws stay below but once in 10**6 times
MOMENTS: dict[str, tuple[tuple[float, ...], float, float, float]] = {
    "normal": ((), 0.0, 1.0, 7.0),
    "truncated_normal": ((), 0.0, 0.8796256610342398, 2.0),
    "uniform": ((), 0.5, math.sqrt(1 / 12), 1.0),
    "exponential": ((), 1.0, 1.0, 25.0),
    "gumbel": ((), EULER, math.pi / math.sqrt(6), 25.0),
    "laplace": ((), 0.0, math.sqrt(2), 25.0),
    "logistic": ((), 0.0, math.pi / math.sqrt(3), 26.0),
    "gamma": ((2.0,), 2.0, math.sqrt(2), 30.0),
    "beta": ((2.0, 3.0), 0.4, 0.2, 1.0),
    "student_t": ((20.0,), 0.0, math.sqrt(20 / 18), 15.0),
}


def drawn(name: str, dtype: str, arguments: tuple[float, ...] = ()) -> Any:
    return np.asarray(getattr(gx.random, name)((N,), *arguments, dtype=dtype, seed=7)).astype("float64")


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MOMENTS)
def test_draws_have_the_moments_of_their_distribution(name, dtype):
    arguments, mean, deviation, most = MOMENTS[name]
    found = drawn(name, dtype, arguments)
    assert abs(found.mean() - mean) < 5 * deviation / math.sqrt(N)
    assert abs(found.std() / deviation - 1) < 0.05
    assert abs(found).max() <= most


@pytest.mark.broad
@pytest.mark.parametrize("dtype", DTYPES)
def test_cauchy_has_the_quartiles_of_its_distribution(dtype):
    found = drawn("cauchy", dtype)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(np.quantile(found, [0.25, 0.5, 0.75]), [-1, 0, 1], atol=0.05)


@pytest.mark.parametrize("backend", ["jax", "numpy"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_uniform_draws_stay_below_the_upper_bound(backend, dtype):
    random = registry.load(backend).random
    for low, high in ((0.0, 1.0), (1.0, 1.25), (-3.0, -2.0), (2.0, 2.0)):
        found = np.asarray(random.uniform(random.key(1), (3000,), dtype, low, high)).astype("float64")
        assert (found >= low).all()
        assert (found < high).all() or low == high


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_uniform_draw_of_0_is_the_lowest_step_of_an_exponential(dtype, monkeypatch):
    # one draw of 2**23 is 0: its logarithm is that of half a step, 16.6, and not that of the smallest number, 87
    numpy = registry.load("numpy")
    monkeypatch.setattr(type(numpy.random), "uniform", lambda *_, **__: np.zeros(3, "float32"))
    with gx.backend.use("numpy"):
        assert float(draws.exponential(None, (3,), dtype).max()) < 17


@pytest.mark.broad
@pytest.mark.parametrize("dtype", DTYPES)
def test_rare_classes_are_drawn_as_often_as_they_should(dtype):
    logits = np.log(np.array([0.004] * 25 + [0.9]))
    found = np.asarray(gx.random.categorical(gx.ops.asarray(logits, dtype), (N,), seed=3))
    rare = np.bincount(found, minlength=26)[:25].sum() / N
    share = np.exp(np.asarray(gx.ops.asarray(logits, dtype)).astype("float64"))
    expected = share[:25].sum() / share.sum()
    assert abs(rare - expected) < 5 * math.sqrt(expected / N)


@pytest.mark.in_turn(8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["glorot_uniform", "he_uniform", "random_uniform", "random_normal", "he_normal"])
def test_initial_values_have_no_bias(name, dtype):
    initializer, key = gx.initializers.get(name), registry.current().random.key(5)
    found = np.asarray(initializer(key, (100, 200), dtype)).astype("float64")
    assert abs(found.mean()) < 5 * found.std() / math.sqrt(found.size)
