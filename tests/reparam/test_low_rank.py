"""LowRank against NumPy's SVD."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graftax.backend import registry
from graftax.core.errors import ArgumentError
from graftax.reparam.low_rank import LowRank
from graftax.transforms.compile.jit import jit
from graftax.variables.creation import variable_creator_scope
from graftax.variables.variable import Variable


def make(shape, rank, **options):
    with variable_creator_scope(LowRank(rank=rank)):
        return Variable(shape=shape, name="w", **options)


def best(value, rank):
    u, s, v = np.linalg.svd(value, full_matrices=False)
    return (u[:, :rank] * s[:rank]) @ v[:rank]


@pytest.mark.broad
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 8))
def test_shapes_and_capped_rank(rows, columns, rank):
    w = make((rows, columns), rank)
    kept = min(rank, rows, columns)
    assert [v.shape for v in w.variables] == [(rows, kept), (kept, columns)]
    assert w.numpy().shape == w.shape == (rows, columns)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4)])
def test_other_shapes_pass(shape):
    assert isinstance(make(shape, 2, initializer="zeros"), Variable)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", ["jax", "numpy"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_fv6_assigning_finds_the_nearest_product(name, rank):
    value = np.random.default_rng(0).normal(size=(5, 3)).astype("float32")
    with registry.use(name):
        w = make((5, 3), rank)
        w.assign(value)
        np.testing.assert_allclose(w.numpy(), best(value, rank), atol=1e-5)
        balance = np.linalg.norm(w.left.numpy()) / np.linalg.norm(w.right.numpy())
    np.testing.assert_allclose(balance, 1.0, rtol=1e-4)


def test_fv1_a_given_value_is_kept_as_nearly_as_the_rank_allows():
    value = np.random.default_rng(0).normal(size=(5, 3)).astype("float32")
    with variable_creator_scope(LowRank(rank=2)):
        w = Variable(value)
    np.testing.assert_allclose(w.numpy(), best(value, 2), atol=1e-5)
    assert all(v.trainable for v in w.variables)


def test_assigning_compiled():
    value = np.random.default_rng(0).normal(size=(5, 3)).astype("float32")
    w = make((5, 3), 3)
    step = jit(lambda v: w.assign(v).value * 1)
    np.testing.assert_allclose(step(value), value, atol=1e-5)
    np.testing.assert_allclose(w.numpy(), value, atol=1e-5)


@pytest.mark.parametrize("bad", [0, -1, 1.5, "2", None])
def test_rank_is_a_positive_integer(bad):
    with pytest.raises(ArgumentError, match="rank"):
        LowRank(rank=bad)


def test_repr():
    assert repr(LowRank(rank=4)) == "LowRank(rank=4)"
