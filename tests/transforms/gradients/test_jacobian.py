"""Jacobians, Hessians, directions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, GradientError, ShapeError

either = pytest.mark.parametrize("around", [lambda fn: fn, gx.jit], ids=["eager", "compiled"])


def close(found, expected):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-4, atol=1e-5)


def numbers(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


@either
def test_gt18_numbers_and_shape(around):
    found = around(lambda x: gx.jacobian(lambda x: ops.stack([x[0] * x[1], x[0] ** 2, x[1]]), x))(
        ops.asarray([1.0, 2.0])
    )
    close(found, [[2, 1], [2, 0], [0, 1]])


@pytest.mark.broad
@either
@pytest.mark.parametrize("chunk_size", [None, 5, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 100))])
def test_gt25_equals_jax_in_chunks_of_any_size(around, chunk_size):
    x = numbers(3, 4)
    found = around(lambda x: gx.jacobian(lambda x: ops.exp(ops.matmul(x, x.T)), x, chunk_size=chunk_size))(x)
    assert found.shape == (3, 3, 3, 4)
    close(found, jax.jacrev(lambda x: jnp.exp(x @ x.T))(x))


@pytest.mark.broad
def test_gt25_chunks_bound_the_memory():
    first, *others = (np.ones(shape, "float32") for shape in ((256, 8), (256, 256), (256, 256)))

    def net(x):
        x = ops.tanh(ops.matmul(first, x))
        for kernel in others:
            x = ops.tanh(ops.matmul(kernel, x))
        return x

    def peak(chunk_size):
        compiled = jax.jit(lambda x: gx.jacobian(net, x, chunk_size=chunk_size))
        analysis = compiled.lower(jax.ShapeDtypeStruct((8,), "float32")).compile().memory_analysis()
        return analysis.temp_size_in_bytes

    assert peak(1) < peak(None) / 2


@pytest.mark.broad
@settings(max_examples=5, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3))
def test_equals_a_loop_of_gradients(rows, columns):
    matrix, x = numbers(rows, columns), numbers(columns)
    loop = [gx.grad(lambda x, i=i: ops.tanh(ops.matmul(matrix, x))[i])(x) for i in range(rows)]
    close(gx.jacobian(lambda x: ops.tanh(ops.matmul(matrix, x)), x), loop)


@pytest.mark.broad
@either
def test_with_respect_to_variables(around):
    layer = gx.layers.Dense(2)
    x = numbers(3, 4)
    layer(x)
    found = around(lambda: gx.jacobian(lambda x: layer(x), x, wrt=layer))()
    assert {path: block.shape for path, block in found.items()} == {"kernel": (3, 2, 4, 2), "bias": (3, 2, 2)}
    close(found["kernel"], jax.jacrev(lambda k: x @ k)(layer.kernel.numpy()))
    v = gx.Variable([1.0, 2.0])
    close(around(lambda: gx.jacobian(lambda: v * v, wrt=[v, v]))()[1], np.diag([2, 4]))


def test_structures_in_and_out():
    found = gx.jacobian(lambda p: {"s": p["a"] * p["b"], "t": [p["a"]]}, {"a": 2.0, "b": np.ones(3, "float32")})
    assert found["s"]["a"].shape == (3,)
    assert found["s"]["b"].shape == (3, 3)
    close(found["t"][0]["b"], np.zeros(3))
    close(found["s"]["b"], 2 * np.eye(3))


@pytest.mark.broad
def test_assignments_take_effect_once():
    n = gx.Variable(0.0, trainable=False)

    def count(x):
        n.assign_add(1.0)
        return x * n

    close(gx.jacobian(count, ops.ones(3)), np.eye(3))
    close(n.value, 1)
    close(gx.hessian(lambda x: ops.sum(count(x) ** 2), ops.ones(2)), 8 * np.eye(2))
    close(n.value, 2)
    close(gx.batch_jacobian(count, ops.ones((2, 1)), check=True), np.full((2, 1, 1), 3))
    close(n.value, 3)


@pytest.mark.broad
@either
@pytest.mark.parametrize("chunk_size", [None, 2])
def test_hessian_equals_jax(around, chunk_size):
    x = numbers(2, 3)
    found = around(lambda x: gx.hessian(lambda x: ops.sum(ops.tanh(x) * x[0, 0]), x, chunk_size=chunk_size))(x)
    assert found.shape == (2, 3, 2, 3)
    close(found, jax.hessian(lambda x: jnp.sum(jnp.tanh(x) * x[0, 0]))(x))


def test_hessian_of_variables():
    v, w = gx.Variable(2.0), gx.Variable([1.0, 3.0])
    found = gx.hessian(lambda: v**3 * ops.sum(w), wrt={"v": v, "w": w})
    close(found["v"]["v"], 48)
    close(found["v"]["w"], [12, 12])
    close(found["w"]["w"], np.zeros((2, 2)))


def test_hessian_of_no_number():
    with pytest.raises(GradientError, match=r"shapes \[\(2,\)\]\n(.|\n)*why: a Hessian is that of one number"):
        gx.hessian(lambda x: x, ops.ones(2))


@either
def test_gt21_batch_jacobian(around):
    x = ops.asarray([[1.0, 2.0], [3.0, 4.0]])
    close(around(lambda x: gx.batch_jacobian(lambda x: x**2, x))(x), [[[2, 0], [0, 4]], [[6, 0], [0, 8]]])


@pytest.mark.broad
@pytest.mark.parametrize("chunk_size", [None, 1])
def test_batch_jacobian_equals_a_loop_over_examples(chunk_size):
    layer, x = gx.layers.Dense(3, activation="tanh"), numbers(4, 5)
    layer(x)
    loop = [gx.jacobian(lambda row: layer(row[None])[0], row) for row in x]
    close(gx.batch_jacobian(layer, x, chunk_size=chunk_size, check=True), loop)


@pytest.mark.broad
def test_gt22_examples_that_depend_on_each_other():
    x = numbers(3, 3)
    with pytest.raises(GradientError, match="depends on another example"):
        gx.batch_jacobian(lambda x: ops.matmul(x, x), x, check=True)


def test_gt23_batches_that_do_not_fit():
    with pytest.raises(ShapeError, match=r"\[\(1, 2\)\], x of shapes \[\(2, 2\)\]"):
        gx.batch_jacobian(lambda x: x[:1], ops.ones((2, 2)))
    with pytest.raises(ShapeError, match="at least one more"):
        gx.batch_jacobian(lambda x: x, ops.ones(2))


@either
def test_jvp_equals_jax(around):
    x, t = numbers(3), numbers(3)[::-1].copy()
    value, change = around(lambda x, t: gx.jvp(lambda x: ops.exp(x) * x, (x,), (t,)))(x, t)
    expected = jax.jvp(lambda x: jnp.exp(x) * x, (x,), (t,))
    close(value, expected[0])
    close(change, expected[1])


@either
def test_jvp_along_variables(around):
    v, n = gx.Variable([1.0, 2.0]), gx.Variable(0.0, trainable=False)

    def fn(_, x):
        n.assign_add(1.0)
        return {"y": v * v * x}

    value, change = around(lambda: gx.jvp(fn, (v, 3.0), (ops.asarray([1.0, 0.5]), 1.0)))()
    close(value["y"], [3, 12])
    close(change["y"], [6 + 1, 6 + 4])
    close(n.value, 1)


def test_jvp_errors():
    with pytest.raises(ArgumentTypeError, match="instead: jvp"):
        gx.jvp(ops.sin, 1.0, 1.0)
    with pytest.raises(ShapeError, match=r"tangent of shape \(2,\)"):
        gx.jvp(ops.sin, (ops.ones(3),), (ops.ones(2),))
    with pytest.raises(ArgumentError):
        gx.jvp(ops.sin, (1.0,), (1.0, 2.0))
    with pytest.raises(GradientError, match="backwards only"):
        gx.jvp(gx.custom_gradient(lambda x: (x, lambda dy: dy)), (1.0,), (1.0,))


@pytest.mark.parametrize("transform", [gx.jacobian, gx.hessian, gx.batch_jacobian])
def test_what_is_not_floating(transform):
    with pytest.raises(GradientError, match="int32"):
        transform(lambda x: x, ops.asarray([[1, 2]]))
    with pytest.raises(GradientError, match="int32"):
        transform(lambda x: ops.cast(x, "int32"), ops.asarray([[1.0, 2.0]]))
    with pytest.raises(ArgumentError, match="chunk_size=0"):
        transform(lambda x: x, ops.asarray([[1.0, 2.0]]), chunk_size=0)
