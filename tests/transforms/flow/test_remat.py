"""remat against the plain function; eager, compiled, differentiated."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError


def plain(fn):
    return fn


modes = pytest.mark.parametrize("mode", [plain, gx.jit], ids=["eager", "compiled"])


@modes
def test_remat_computes_the_same_and_again(mode):
    runs, w = gx.Variable(0, trainable=False), gx.Variable(2.0)

    def part(x, power=2):
        runs.assign_add(1)
        return ops.sin(w * x) ** power

    def loss(fn, x):
        return fn(fn(x), power=3)

    expected = gx.value_and_grad(lambda x: loss(part, x), wrt=w)(0.7)
    for policy in None, "dots", "dots_without_batch":
        found = mode(gx.value_and_grad(lambda x, p=policy: loss(gx.remat(part, p), x), wrt=w))(0.7)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert int(runs) == 8


@pytest.mark.broad
def test_remat_draws_the_same_numbers_again():
    dropout = layers.Dropout(0.5)

    def loss(x):
        y = gx.remat(lambda v: dropout(v, training=True) * v)(x)
        return ops.sum(y), y

    (_, y), gradient = gx.jit(gx.value_and_grad(loss, has_aux=True))(np.ones(100, "float32"))
    np.testing.assert_allclose(gradient, 2 * np.asarray(y))


def test_remat_keeps_less():
    jax = pytest.importorskip("jax")

    def saved(fn):
        x = jax.ShapeDtypeStruct((64, 64), "float32")

        def block(x):
            for _ in range(4):
                x = ops.sin(ops.cos(x))
            return x

        def loss(x):
            for _ in range(4):
                x = fn(block)(x)
            return ops.sum(x)

        return sum(leaf.size for leaf in jax.tree.leaves(jax.eval_shape(lambda x: jax.vjp(loss, x)[1], x)))

    assert saved(gx.remat) < saved(plain) / 2


def test_remat_policies():
    with pytest.raises(ArgumentError, match="no such policy"):
        gx.remat(ops.sin, "everything")
