"""Sums that lose no counts."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graftax as gx
from graftax import ops
from graftax.backend import registry
from graftax.metrics import exact

pytestmark = pytest.mark.optimized
BIG = 2**24


def total(sums):
    high, low = sums.numpy().astype("float64")
    return (high + low).tolist()


@pytest.mark.parametrize("backend", ["jax", "numpy"])
def test_mt10_ones_beyond_2_to_the_24(backend):
    with registry.use(backend):
        sums = gx.Variable(np.zeros((2, 2), "float32"), trainable=False, role="metric")
        exact.add(sums, BIG, ops.asarray(float(BIG)))
        assert np.float32(BIG) + np.float32(1) == np.float32(BIG)  # what float32 alone would do
        for _ in range(5):
            exact.add(sums, 1, ops.asarray(1.0))
        assert total(sums) == [BIG + 5, BIG + 5]
        np.testing.assert_array_equal(exact.read(sums), [np.float32(BIG + 5)] * 2)


def test_mt10_compiled():
    sums = gx.Variable(np.zeros((2, 1), "float32"), trainable=False, role="metric")
    step = gx.jit(lambda x: exact.add(sums, x))
    exact.add(sums, BIG + 1)
    for _ in range(101):
        step(np.float32(1))
    assert total(sums) == [BIG + 102]


@given(numbers=st.lists(st.integers(-(2**30), 2**30), min_size=1, max_size=20))
def test_integers_are_exact(numbers):
    with registry.use("numpy"):
        sums = gx.Variable(np.zeros((2, 2), "float32"), trainable=False, role="metric")
        for n in numbers:
            exact.add(sums, n, np.int32(n))
        assert total(sums) == [sum(numbers)] * 2


@given(numbers=st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=50))
def test_floats_are_within_2_to_the_minus_44(numbers):
    with registry.use("numpy"):
        sums = gx.Variable(np.zeros((2, 1), "float32"), trainable=False, role="metric")
        for x in numbers:
            exact.add(sums, np.float32(x))
        size = math.fsum(map(abs, numbers))
        assert abs(total(sums)[0] - math.fsum(numbers)) <= 2.0**-44 * size


@pytest.mark.parametrize("backend", ["jax", "numpy"])
def test_infinity_stays_infinity(backend):
    with registry.use(backend):
        sums = gx.Variable(np.zeros((2, 2), "float32"), trainable=False, role="metric")
        exact.add(sums, ops.asarray(math.inf), ops.asarray(math.nan))
        exact.add(sums, 1, 1)
        assert exact.read(sums)[0] == math.inf
        assert np.isnan(exact.read(sums)[1])
