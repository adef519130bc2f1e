"""Counts: how often each comes, by the formulas of their probabilities."""

import math

import numpy as np
import pytest

import graftax as gx
from graftax import random
from graftax.backend.registry import use
from graftax.core.errors import ArgumentError, DTypeError, ShapeError

MANY = 6000


def poisson(k, rate):
    return math.exp(k * math.log(rate) - rate - math.lgamma(k + 1))


def binomial(k, n, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


CASES = {
    "poisson(0.4)": (lambda shape, **o: random.poisson(shape, 0.4, **o), lambda k: poisson(k, 0.4)),
    "poisson(9)": (lambda shape, **o: random.poisson(shape, 9.0, **o), lambda k: poisson(k, 9.0)),
    "poisson(10.5)": (lambda shape, **o: random.poisson(shape, 10.5, **o), lambda k: poisson(k, 10.5)),
    "poisson(60)": (lambda shape, **o: random.poisson(shape, 60.0, **o), lambda k: poisson(k, 60.0)),
    "binomial(5, 0.3)": (lambda shape, **o: random.binomial(shape, 5, 0.3, **o), lambda k: binomial(k, 5, 0.3)),
    "binomial(30, 0.9)": (lambda shape, **o: random.binomial(shape, 30, 0.9, **o), lambda k: binomial(k, 30, 0.9)),
    "binomial(50, 0.4)": (lambda shape, **o: random.binomial(shape, 50, 0.4, **o), lambda k: binomial(k, 50, 0.4)),
    "binomial(200, 0.75)": (
        lambda shape, **o: random.binomial(shape, 200, 0.75, **o),
        lambda k: binomial(k, 200, 0.75),
    ),
    "geometric(0.3)": (lambda shape, **o: random.geometric(shape, 0.3, **o), lambda k: 0.7 ** (k - 1) * 0.3),
}
each = pytest.mark.parametrize(("draw", "chance"), CASES.values(), ids=CASES.keys())


@each
def test_each_count_comes_as_often_as_its_probability_says(draw, chance):
    with use("numpy"):
        drawn = np.asarray(draw((MANY,), seed=3))
    assert drawn.dtype == np.int32
    first = 1 if chance(1) == 0.3 else 0
    expected = np.array([chance(k) for k in range(first, 201)]) * MANY
    counts = np.bincount(drawn, minlength=201)[first:201]
    assert counts.sum() == MANY
    often = expected > 20
    statistic = ((counts - expected)[often] ** 2 / expected[often]).sum()
    freedom = often.sum()
    assert statistic < freedom + 4 * math.sqrt(2 * freedom)


@pytest.mark.slow
@each
def test_a_seed_gives_the_same_everywhere(draw, chance):
    with use("numpy"):
        wanted = np.asarray(draw((200,), seed=7))
    assert (np.asarray(draw((200,), seed=7)) == wanted).mean() > 0.98  # one more or less where rounding decides


def test_large_means_keep_their_spread():
    with use("numpy"):
        for drawn, mean, variance in (
            (random.poisson((MANY,), 1e5, seed=1), 1e5, 1e5),
            (random.binomial((MANY,), 1_000_000, 0.3, seed=2), 3e5, 2.1e5),
        ):
            host = np.asarray(drawn, "float64")
            assert abs(host.mean() - mean) < 5 * math.sqrt(variance / MANY)
            assert host.var() == pytest.approx(variance, rel=0.1)


@pytest.mark.slow
def test_each_row_has_its_own_numbers():
    drawn = random.binomial((3, 4), [[0], [3], [10]], [0.0, 1.0, 0.0, 1.0], seed=0)
    assert drawn.tolist() == [[0, 0, 0, 0], [0, 3, 0, 3], [0, 10, 0, 10]]
    assert random.poisson((3,), [0.0, 0.0, 0.0], seed=0).tolist() == [0, 0, 0]
    assert gx.jit(lambda rate: random.poisson((2, 3), rate, seed=0))(np.float32([1, 5, 50])).shape == (2, 3)


def test_kinds_share_what_there_is():
    shares = np.array([0.1, 0.0, 0.5, 0.15, 0.25])
    with use("numpy"):
        drawn = np.asarray(random.multinomial((2000, 5), 40, shares, seed=1))
    assert (drawn.sum(axis=1) == 40).all()
    assert (drawn >= 0).all()
    assert not drawn[:, 1].any()
    np.testing.assert_allclose(drawn.mean(axis=0), 40 * shares, atol=0.35)
    np.testing.assert_allclose(np.cov(drawn.T), 40 * (np.diag(shares) - np.outer(shares, shares)), atol=0.8)
    assert random.multinomial((2, 1), [3, 7], [1.0], seed=0).tolist() == [[3], [7]]


def test_vectors_depend_on_each_other_as_told():
    covariance = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]])
    with use("numpy"):
        drawn = np.asarray(random.multivariate_normal((MANY, 3), [1.0, 2.0, 3.0], covariance, seed=1))
    np.testing.assert_allclose(drawn.mean(axis=0), [1, 2, 3], atol=0.1)
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.12)


def test_cauchy_has_its_quartiles():
    with use("numpy"):
        drawn = np.asarray(random.cauchy((MANY,), 1.0, 2.0, seed=1))
    np.testing.assert_allclose(np.quantile(drawn, [0.25, 0.5, 0.75]), [-1, 1, 3], atol=0.25)


@pytest.mark.broad
def test_dropout_keeps_the_mean_and_whole_axes():
    x = np.ones((50, 40), "float32")
    out = np.asarray(random.dropout(x, 0.2, seed=0))
    assert set(np.unique(out)) == {0.0, np.float32(1.25)}
    assert out.mean() == pytest.approx(1, abs=0.05)
    rows = np.asarray(random.dropout(x, 0.5, (50, 1), seed=0))
    assert (rows == rows[:, :1]).all()


def test_shuffle_along_another_axis():
    x = np.arange(12).reshape(2, 6)
    out = np.asarray(random.shuffle(x, axis=1, seed=0))
    assert sorted(out[0].tolist()) == list(range(6))
    assert (out[1] == out[0] + 6).all()
    assert not (out == x).all()


@pytest.mark.parametrize(
    ("draw", "error"),
    [
        (lambda: random.poisson((2,), -1.0), ArgumentError),
        (lambda: random.poisson((2,), 1.0, dtype="bool"), DTypeError),
        (lambda: random.binomial((2,), -1, 0.5), ArgumentError),
        (lambda: random.binomial((2,), 3, 1.5), ArgumentError),
        (lambda: random.binomial((2,), [1, 2, 3], 0.5), ShapeError),
        (lambda: random.multinomial((), 3, [0.5]), ArgumentError),
        (lambda: random.geometric((2,), 0.0), ArgumentError),
        (lambda: random.poisson((2,), 300.0, dtype="int8"), ArgumentError),
        (lambda: random.binomial((2,), [3, 300], 0.5, dtype="uint8"), ArgumentError),
        (lambda: random.binomial((2,), 10**5, 0.5, dtype="float16"), ArgumentError),
        (lambda: random.multinomial((2,), 300, [1.0, 1.0], dtype="uint8"), ArgumentError),
        (lambda: random.uniform((2,), 0.0, 1e6, dtype="float16"), ArgumentError),
        (lambda: random.normal((2,), 0.0, 1e6, dtype="float16"), ArgumentError),
        (lambda: random.multivariate_normal((2, 3), 0.0, np.eye(2)), ShapeError),
        (lambda: random.dropout([1.0], 1.0), ArgumentError),
        (lambda: random.dropout([1], 0.5), DTypeError),
        (lambda: random.dropout([1.0], 0.5, (2,)), ShapeError),
        (lambda: random.shuffle([1, 2], axis=1), ArgumentError),
    ],
)
def test_what_cannot_be_drawn_is_told(draw, error):
    with pytest.raises(error):
        draw()


@pytest.mark.broad
def test_draws_above_the_largest_number_are_that_number():
    assert np.asarray(random.geometric((5,), 1e-6, dtype="int8", seed=0)).tolist() == [127] * 5
    assert float(random.geometric((), 1e-9, dtype="float16", seed=0)) == 65504
    assert np.asarray(random.poisson((50,), 120.0, dtype="int8", seed=0)).max() == 127


def test_names_of_other_libraries_say_what_to_write():
    with pytest.raises(AttributeError, match="shuffle"):
        _ = random.permutation
