"""Seeds that are arrays, or set where a function is mapped: refused, with what to write instead."""

import jax
import numpy as np
import pytest

import graftax as gx
from graftax.errors import ArgumentError, CompileError, StateError

NUMBERS = np.arange(3)
TAKES_A_SEED = {
    "set_random_seed": gx.set_random_seed,
    "SeedGenerator": gx.random.SeedGenerator,
    "seed=": lambda seed: gx.random.normal((), seed=seed),
}
WAYS = {
    "jit": lambda fn: gx.jit(fn)(3),
    "vectorized_map": lambda fn: gx.vectorized_map(fn, NUMBERS),
    "scan": lambda fn: gx.scan(lambda carry, seed: (carry, fn(seed)), 0.0, NUMBERS),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("taker", TAKES_A_SEED)
def test_a_traced_seed_is_refused_and_a_key_advised(taker, way):
    def draw(seed):
        TAKES_A_SEED[taker](seed)
        return 0.0

    with pytest.raises(CompileError, match=r"seed = int32\[\], a traced value[\s\S]*seed=key"):
        WAYS[way](draw)


@pytest.mark.parametrize("taker", TAKES_A_SEED)
def test_an_array_in_place_of_a_seed_is_refused(taker):
    with pytest.raises(ArgumentError, match=r"instead: int\(seed\)"):
        TAKES_A_SEED[taker](gx.ops.asarray(3))


@pytest.mark.broad
def test_keys_are_arguments_as_the_message_says():
    keys = gx.ops.stack([gx.random.SeedGenerator(seed).next() for seed in range(3)])
    alone = [float(gx.random.normal((), seed=seed)) for seed in keys]
    mapped = gx.vectorized_map(lambda key: gx.random.normal((), seed=key), keys)
    np.testing.assert_allclose(mapped, alone, rtol=1e-6)


@pytest.mark.parametrize("around", [lambda fn: fn, gx.jit])
def test_a_seed_that_a_mapped_function_sets_is_refused(around):
    def draw(x):
        gx.set_random_seed(0)
        return x + gx.random.normal(())

    gx.set_random_seed(1)
    expected = [float(gx.random.normal(())) for _ in range(2)]
    gx.set_random_seed(1)
    assert float(gx.random.normal(())) == expected[0]
    with pytest.raises(StateError, match=r"set_random_seed[\s\S]*before the map"):
        around(lambda rows: gx.vectorized_map(draw, rows))(np.ones(3, "float32"))
    assert float(gx.random.normal(())) == expected[1]  # nothing has moved


DRAWS = {
    "normal": lambda: gx.random.normal((4,), seed=1),
    "bernoulli": lambda: gx.random.bernoulli((20,), 0.3, seed=1),
    "laplace": lambda: gx.random.laplace((4,), seed=1),
    "dropout": lambda: gx.random.dropout(np.ones(20, "float32"), 0.3, seed=1),
    "randint": lambda: gx.random.randint((4,), 0, 1000, seed=1),
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_the_same_with_x64(name):
    expected = np.asarray(DRAWS[name]())
    with jax.enable_x64(True):
        np.testing.assert_array_equal(np.asarray(DRAWS[name]()), expected)
