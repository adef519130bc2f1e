"""Random numbers: the same bits on both backends, whatever JAX is configured to use."""

from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graftax.backend.registry import load

JAX, NUMPY = load("jax").random, load("numpy").random
seeds = st.integers(-(2**63), 2**63 - 1)
shapes = st.sampled_from([(), (0,), (1,), (7,), (2, 3), (4, 1, 2)])
CLOSE = {"float32": 2e-6, "float16": 4e-3, "bfloat16": 3e-2}
floats = pytest.mark.parametrize("dtype", list(CLOSE))


def same(left: Any, right: Any, tolerance: float = 0) -> None:
    left, right = np.asarray(left), np.asarray(right)
    assert left.dtype == right.dtype
    assert left.shape == right.shape
    if tolerance:
        np.testing.assert_allclose(left.astype("f8"), right.astype("f8"), rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(left, right)


@given(seeds)
def test_keys(seed: int) -> None:
    key = NUMPY.key(seed)
    same(JAX.key(seed), key)
    assert key.tolist() == [seed >> 32 & 0xFFFFFFFF, seed & 0xFFFFFFFF]


def test_keys_of_small_seeds_are_those_of_jax() -> None:
    assert np.asarray(JAX.key(42)).tolist() == jax.random.key_data(jax.random.key(42)).tolist()


@given(seeds, st.integers(-(2**31), 2**32 - 1))
def test_fold_in(seed: int, data: int) -> None:
    same(JAX.fold_in(JAX.key(seed), data), NUMPY.fold_in(NUMPY.key(seed), data))


def test_known_answer_of_threefry() -> None:
    """Two vectors of the Random123 distribution, 20 rounds."""
    from graftax.backend.numpy.threefry import threefry

    zero = np.uint32(0)
    assert [int(w) for w in threefry((0, 0), zero, zero)] == [0x6B200159, 0x99BA4EFE]
    ones = np.uint32(0xFFFFFFFF)
    assert [int(w) for w in threefry((ones, ones), ones, ones)] == [0x1CB996FC, 0xBB002BE7]


@pytest.mark.broad
@given(seeds, st.integers(1, 6))
def test_split(seed: int, num: int) -> None:
    same(JAX.split(JAX.key(seed), num), NUMPY.split(NUMPY.key(seed), num))


@pytest.mark.broad
@given(seeds, shapes)
def test_bits(seed: int, shape: Any) -> None:
    same(JAX.bits(JAX.key(seed), shape), NUMPY.bits(NUMPY.key(seed), shape))


@pytest.mark.in_turn(2)
@floats
@given(seed=seeds)
def test_uniform(dtype: str, seed: int) -> None:
    jax_key, key = JAX.key(seed), NUMPY.key(seed)
    same(JAX.uniform(jax_key, (3, 4), dtype), NUMPY.uniform(key, (3, 4), dtype))
    drawn = NUMPY.uniform(key, (3, 4), dtype, -2.0, 3.0)
    same(JAX.uniform(jax_key, (3, 4), dtype, -2.0, 3.0), drawn, CLOSE[dtype])
    assert (drawn >= -2).all()


@pytest.mark.broad
@floats
@given(seed=seeds)
def test_normal(dtype: str, seed: int) -> None:
    jax_key, key = JAX.key(seed), NUMPY.key(seed)
    same(JAX.normal(jax_key, (2, 5), dtype), NUMPY.normal(key, (2, 5), dtype), CLOSE[dtype])
    drawn = NUMPY.truncated_normal(key, -1.0, 0.5, (2, 5), dtype)
    same(JAX.truncated_normal(jax_key, -1.0, 0.5, (2, 5), dtype), drawn, CLOSE[dtype])
    assert ((drawn > -1) & (drawn < 0.5)).all()


@pytest.mark.broad
@floats
def test_large_draws_are_made_in_blocks(dtype: str) -> None:
    shape = (3, 2**14 - 5)  # one whole block of 2 ** 15, and a part of another
    key = NUMPY.key(3)
    same(JAX.uniform(key, shape, dtype, -1.0, 2.0), NUMPY.uniform(key, shape, dtype, -1.0, 2.0), CLOSE[dtype])
    same(JAX.normal(key, shape, dtype), NUMPY.normal(key, shape, dtype), 10 * CLOSE[dtype])
    bounds = (-2.0, 2.0, shape, dtype)
    same(JAX.truncated_normal(key, *bounds), NUMPY.truncated_normal(key, *bounds), 10 * CLOSE[dtype])


@pytest.mark.broad
@given(seeds, st.sampled_from(["int32", "uint32", "int8", "uint8", "int16"]), st.integers(0, 100), st.integers(0, 300))
def test_randint(seed: int, dtype: str, low: int, span: int) -> None:
    drawn = NUMPY.randint(NUMPY.key(seed), (7,), low, low + span, dtype)
    same(JAX.randint(JAX.key(seed), (7,), low, low + span, dtype), drawn)


@pytest.mark.broad
def test_randint_over_the_whole_range() -> None:
    whole = NUMPY.randint(NUMPY.key(2), (9,), 0, 2**32 - 1, "uint32")
    same(JAX.randint(JAX.key(2), (9,), 0, 2**32 - 1, "uint32"), whole)
    for low, high in ((-(2**31), 2**31 - 1), (0, 2**31 - 1), (-5, 5), (3, 3)):
        same(JAX.randint(JAX.key(1), (9,), low, high, "int32"), NUMPY.randint(NUMPY.key(1), (9,), low, high, "int32"))


@given(seeds, st.floats(0, 1, width=32))
def test_bernoulli(seed: int, p: float) -> None:
    same(JAX.bernoulli(JAX.key(seed), p, (4, 2)), NUMPY.bernoulli(NUMPY.key(seed), p, (4, 2)))


@pytest.mark.broad
@pytest.mark.parametrize("size", [0, 1, 2, 10, 3000])
def test_permutation(size: int) -> None:
    drawn = NUMPY.permutation(NUMPY.key(7), size)
    same(JAX.permutation(JAX.key(7), size), drawn)
    assert sorted(drawn.tolist()) == list(range(size))
    x = np.arange(2 * size, dtype="float32").reshape(size, 2)
    if size:
        same(JAX.permutation(JAX.key(7), x), NUMPY.permutation(NUMPY.key(7), x))


@pytest.mark.broad
@given(seeds, st.sampled_from([0, 1, -1]))
def test_categorical(seed: int, axis: int) -> None:
    logits = np.sin(np.arange(12, dtype="float32")).reshape(3, 4) * 3
    kept = int(np.delete(logits.shape, axis)[0])
    for shape in (None, (5, kept)):
        drawn = NUMPY.categorical(NUMPY.key(seed), logits, axis, shape)
        same(JAX.categorical(JAX.key(seed), logits, axis, shape), drawn)
        assert drawn.max() < logits.shape[axis]


def test_configuration_of_jax_changes_nothing() -> None:
    key = JAX.key(3)
    before = np.asarray(JAX.normal(key, (4,), "float32"))
    for options in ({"jax_threefry_partitionable": False}, {"jax_default_prng_impl": "rbg"}):
        old = {name: getattr(jax.config, name) for name in options}
        try:
            for name, value in options.items():
                jax.config.update(name, value)
            same(JAX.normal(key, (4,), "float32"), before)
            same(JAX.split(key, 2), NUMPY.split(NUMPY.key(3), 2))
        finally:
            for name, value in old.items():
                jax.config.update(name, value)


@pytest.mark.broad
def test_keyed_draws_compile_and_batch() -> None:
    keys = JAX.split(JAX.key(0), 3)
    rows = jax.vmap(lambda key: JAX.normal(key, (2,), "float32"))(keys)
    same(rows[1], JAX.normal(keys[1], (2,), "float32"))
    same(jax.jit(lambda key: JAX.uniform(key, (2,), "float32"))(keys[0]), JAX.uniform(keys[0], (2,), "float32"))


def test_moments_of_the_reference() -> None:
    drawn = NUMPY.normal(NUMPY.key(0), (200_000,), "float32")
    assert abs(drawn.mean()) < 0.01
    assert abs(drawn.std() - 1) < 0.01
    assert abs(NUMPY.uniform(NUMPY.key(1), (200_000,), "float32").mean() - 0.5) < 0.005
