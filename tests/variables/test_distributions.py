"""What distributions are drawn with: used as it is given, or refused before anything is drawn."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError, DTypeError, GraftaxError, ShapeError
from graftax.transforms.compile.jit import jit
from graftax.variables import random

MISTAKES = {
    "a negative seed": lambda: random.normal((2,), seed=-1),
    "a seed of 65 bits": lambda: random.normal((2,), seed=2**64 + 5),
    "a truth value as seed": lambda: random.normal((2,), seed=True),
    "a negative spread": lambda: random.normal((2,), stddev=-1.0, seed=0),
    "a negative spread of one draw": lambda: random.normal((2,), stddev=[1.0, -1.0], seed=0),
    "a negative spread of a cut normal": lambda: random.truncated_normal((2,), stddev=-1.0, seed=0),
    "an infinite mean": lambda: random.normal((2,), mean=np.inf, seed=0),
    "a name as mean": lambda: random.normal((2,), mean="a", seed=0),
    "no spread": lambda: random.normal((2,), stddev=None, seed=0),
    "a complex mean": lambda: random.normal((2,), mean=np.ones(2, "complex64"), seed=0),
    "means of another shape": lambda: random.normal((2,), mean=np.zeros((3, 2)), seed=0),
    "integers from a normal": lambda: random.normal((2,), dtype="int32", seed=0),
    "integers from a uniform": lambda: random.uniform((2,), 0, 5, dtype="int32", seed=0),
    "bounds in the wrong order": lambda: random.uniform((2,), 1.0, 0.0, seed=0),
    "bounds in the wrong order for one draw": lambda: random.uniform((2,), [0.0, 2.0], [1.0, 1.0], seed=0),
    "a bound that is nan": lambda: random.uniform((2,), np.nan, 1.0, seed=0),
    "an infinite bound": lambda: random.uniform((2,), 0.0, np.inf, seed=0),
    "more than sure": lambda: random.bernoulli((4,), 2.0, seed=0),
    "less than never": lambda: random.bernoulli((4,), -0.5, seed=0),
    "a probability that is nan": lambda: random.bernoulli((4,), np.nan, seed=0),
    "a probability of one draw above 1": lambda: random.bernoulli((2,), np.float32([0.5, 1.5]), seed=0),
    "more probabilities than draws": lambda: random.bernoulli((2,), np.ones(4), seed=0),
    "no integer between the bounds": lambda: random.randint((4,), 5, 5, seed=0),
    "integers in the wrong order": lambda: random.randint((4,), 5, 2, seed=0),
    "a bound with a fraction": lambda: random.randint((4,), 0, 2.7, seed=0),
    "a bound beyond the dtype": lambda: random.randint((4,), 0, 300, dtype="uint8", seed=0),
    "a bound below the dtype": lambda: random.randint((4,), -1, 3, dtype="uint8", seed=0),
    "a bound beyond int32": lambda: random.randint((4,), 0, 2**40, seed=0),
    "real integers": lambda: random.randint((4,), 0, 2, dtype="float32", seed=0),
    "several bounds": lambda: random.randint((2,), [0, 5], [1, 6], seed=0),
    "a shape of other rows": lambda: random.categorical(np.zeros((4, 3)), shape=(5,), seed=0),
    "no such axis": lambda: random.categorical(np.zeros((4, 3)), axis=7, seed=0),
    "one logit without an axis": lambda: random.categorical(1.0, seed=0),
    "no classes": lambda: random.categorical(np.zeros((4, 0)), seed=0),
    "complex logits": lambda: random.categorical(np.zeros((4, 2), "complex64"), seed=0),
    "minus three numbers": lambda: random.shuffle(-3, seed=0),
    "a number to shuffle": lambda: random.shuffle(2.5, seed=0),
    "a truth value to shuffle": lambda: random.shuffle(True, seed=0),
}


@pytest.mark.parametrize("name", ["jax", "numpy"])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_makes_no_distribution_is_refused(mistake, name):
    with registry.use(name), pytest.raises(GraftaxError):
        MISTAKES[mistake]()


def test_a_refusal_moves_no_stream():
    generator = random.SeedGenerator(seed=1)
    before = generator.build().numpy().tolist()
    for draw in (
        lambda: random.normal((2,), stddev=-1.0, seed=generator),
        lambda: random.uniform((2,), 1.0, 0.0, seed=generator),
        lambda: random.randint((2,), 3, 3, seed=generator),
        lambda: random.bernoulli((2,), 2.0, seed=generator),
        lambda: random.categorical(np.zeros((2, 0)), seed=generator),
        lambda: random.shuffle(-1, seed=generator),
    ):
        with pytest.raises(GraftaxError):
            draw()
    assert generator.state.numpy().tolist() == before


@pytest.mark.broad
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("kind", [list, np.float32, gx.Variable, ops.asarray])
@pytest.mark.parametrize("name", ["jax", "numpy"])
def test_each_draw_may_have_parameters_of_its_own(kind, name, stats):
    with registry.use(name):
        low, high = kind([0.0, 50.0, 100.0]), kind([1.0, 60.0, 100.0])
        uniform = np.asarray(random.uniform((5_000, 3), low, high, seed=1))
        normal = np.asarray(random.normal((5_000, 3), mean=low, stddev=high, seed=1))
        cut = np.asarray(random.truncated_normal((5_000, 3), mean=low, stddev=high, seed=1))
        coins = np.asarray(random.bernoulli((5_000, 3), kind([0.0, 0.25, 1.0]), seed=1))
    np.testing.assert_allclose(uniform.mean(0), [0.5, 55, 100], rtol=0.02)
    assert stats.kstest(normal[:, 1], stats.norm(50, 60).cdf).pvalue > 0.01
    assert stats.kstest(cut[:, 1], stats.truncnorm(-2, 2, loc=50, scale=60).cdf).pvalue > 0.01
    np.testing.assert_allclose(coins.mean(0), [0, 0.25, 1], atol=0.02)


@pytest.mark.in_turn(2, 1)
@pytest.mark.parametrize("name", ["jax", "numpy"])
def test_draws_have_the_dtype_that_was_asked_for_whatever_that_of_a_parameter(name):
    with registry.use(name):
        for dtype in ("bfloat16", "float16", "float32"):
            for draw in (random.normal, random.uniform, random.truncated_normal):
                assert str(draw((2,), np.float32([0, 1]), np.float32([2, 3]), dtype=dtype, seed=0).dtype) == dtype


@pytest.mark.broad
@pytest.mark.parametrize("name", ["jax", "numpy"])
def test_whole_numbers_are_counts_and_logits(name, stats):
    with registry.use(name):
        assert int(random.categorical([0, 100], seed=0)) == 1
        assert sorted(np.asarray(random.shuffle(np.int64(4), seed=0)).tolist()) == [0, 1, 2, 3]
        bytes_ = np.asarray(random.randint((20_000,), 0, 256, dtype="uint8", seed=0))
        assert stats.chisquare(np.bincount(bytes_, minlength=256)).pvalue > 0.01
        assert np.asarray(random.categorical(np.zeros((4, 3)), shape=(5, 4), seed=0)).shape == (5, 4)


@pytest.mark.broad
def test_compiled_code_checks_values_where_it_is_asked_to():
    draw = jit(lambda s: random.normal((2,), stddev=s, seed=0), checked=True)
    assert np.isfinite(np.asarray(draw(1.0))).all()
    with pytest.raises(ArgumentError, match="standard deviation"):
        draw(-1.0)
    between = jit(lambda low: random.uniform((2,), low, 1.0, seed=0), checked=True)
    with pytest.raises(ArgumentError, match="lower bound"):
        between(2.0)


def test_errors_name_the_argument():
    with pytest.raises(ShapeError, match=r"mean of shape \(3, 2\) for draws of shape \(2,\)"):
        random.normal((2,), mean=np.zeros((3, 2)))
    with pytest.raises(DTypeError, match=r'uniform\(dtype="int32"\)'):
        random.uniform((2,), dtype="int32")
    with pytest.raises(ArgumentError, match=r"stddev with the number -1"):
        random.normal((2,), stddev=np.float32([1, -1]))
