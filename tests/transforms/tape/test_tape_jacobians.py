"""Jacobians of a tape, GT18 to GT25."""

import jax
import jax.numpy as jnp
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import GradientError
from tests.transforms.tape.numbers import close

# --- GT18 to GT25: Jacobians ------------------------------------------------------------------------------------------


def test_gt18_jacobian():
    x = ops.asarray([1.0, 2.0])
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = ops.stack([x[0] * x[1], x[0] ** 2, x[1]])
    close(tape.jacobian(y, x), [[2, 1], [2, 0], [0, 1]])


def test_gt19_jacobian_unconnected():
    x, z = ops.ones((2,)), ops.ones((3,))
    with gx.GradientTape(persistent=True) as tape:
        tape.watch([x, z])
        y = x * 2
    assert tape.jacobian(y, z) is None
    assert tape.jacobian(y, [x, z], unconnected_gradients="zero")[1].shape == (2, 3)


@pytest.mark.broad
@pytest.mark.parametrize("chunk_size", [None, 1, 7, 1000])
def test_gt20_gt25_jacobian_in_chunks(chunk_size):
    x = jax.random.normal(jax.random.key(1), (4, 4))
    a = gx.Variable(jax.random.normal(jax.random.key(2), (4, 4)))

    def f(x, a):
        return jnp.tanh(a @ x) @ jnp.sin(x)

    with gx.GradientTape() as tape:
        tape.watch(x)
        y = f(x, a.value)
    dx, da = tape.jacobian(y, [x, a], chunk_size=chunk_size)
    expected = jax.jacrev(f, (0, 1))(x, a.value)
    close(dx, expected[0])
    close(da, expected[1])


@pytest.mark.broad
def test_gt21_batch_jacobian():
    x = ops.asarray([[1.0, 2.0], [3.0, 4.0]])
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = x**2
    close(tape.batch_jacobian(y, x, check=True), [[[2, 0], [0, 4]], [[6, 0], [0, 8]]])


@pytest.mark.broad
@pytest.mark.parametrize("chunk_size", [None, 2])
def test_batch_jacobian_of_a_network(chunk_size):
    w = jax.random.normal(jax.random.key(0), (3, 5))
    x = jax.random.normal(jax.random.key(1), (7, 3))
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = jnp.tanh(x @ w).reshape(7, 5, 1)
    expected = jax.vmap(jax.jacrev(lambda row: jnp.tanh(row @ w).reshape(5, 1)))(x)
    close(tape.batch_jacobian(y, x, chunk_size=chunk_size), expected)


def test_gt22_batch_jacobian_check():
    x = ops.asarray([[1.0, 2.0], [3.0, 4.0]])
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = ops.matmul(x, x)
    assert tape.batch_jacobian(y, x).shape == (2, 2, 2)
    with pytest.raises(GradientError, match="another example"):
        tape.batch_jacobian(y, x, check=True)


def test_gt23_batch_jacobian_shapes():
    x = ops.ones((2, 3))
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, flat = x * 2, ops.sum(x, axis=1)
    for target, source in ((y[:1], x), (flat, x), (y, flat)):
        with pytest.raises(ValueError, match="batch"):
            tape.batch_jacobian(target, source)


def test_gt24_batch_jacobian_unconnected():
    x, z = ops.ones((2, 3)), ops.ones((2, 4))
    with gx.GradientTape(persistent=True) as tape:
        tape.watch([x, z])
        y = x * 2
    assert tape.batch_jacobian(y, z) is None
    assert tape.batch_jacobian(y, z, unconnected_gradients="zero").shape == (2, 3, 4)
