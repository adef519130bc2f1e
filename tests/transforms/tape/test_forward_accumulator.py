"""ForwardAccumulator: tangents of an ordinary block."""

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ShapeError, TapeError


def test_gt33_inside_a_tape():
    x = gx.Variable(2.0)
    with gx.GradientTape() as tape:
        with gx.ForwardAccumulator(x, ops.asarray(1.0)) as accumulator:
            y = x**3
        tangent = accumulator.jvp(y)
    assert float(tangent) == 12
    assert float(tape.gradient(tangent, x)) == 12


def test_directions_and_structures():
    a, v = ops.asarray([1.0, 2.0]), gx.Variable([3.0, 4.0])
    tangents = {"a": ops.asarray([1.0, 0.0]), "v": [0.5, 0.25]}
    with gx.ForwardAccumulator({"a": a, "v": v}, {"a": tangents["a"], "v": ops.asarray(tangents["v"])}) as accumulator:
        y = ops.sin(a) * v
        z = ops.sum(y) if float(ops.sum(y)) > 0 else ops.sum(a)
        other = ops.ones((2,)) * 2
    found = accumulator.jvp({"y": y, "z": z, "none": other})
    expected = jax.jvp(lambda a, v: ops.sin(a) * v, (a, v.value), (tangents["a"], ops.asarray(tangents["v"])))[1]
    np.testing.assert_allclose(found["y"], expected, rtol=1e-6)
    np.testing.assert_allclose(found["z"], expected.sum(), rtol=1e-6)
    assert found["none"] is None
    assert accumulator.jvp(other, unconnected_gradients="zero").tolist() == [0, 0]


@pytest.mark.broad
def test_gradients_forward_over_reverse():
    x = ops.asarray([1.0, -2.0, 0.5])
    direction = ops.asarray([0.1, 0.2, 0.3])

    def f(x):
        return ops.sum(ops.tanh(x) * x**2)

    with gx.ForwardAccumulator(x, direction) as accumulator:
        with gx.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        gradient = tape.gradient(y, x)
    product = jax.jvp(jax.grad(f), (x,), (direction,))[1]
    np.testing.assert_allclose(accumulator.jvp(gradient), product, rtol=1e-4)


def test_under_jit_and_through_assignments():
    v = gx.Variable(2.0)

    @gx.jit
    def step(t):
        with gx.ForwardAccumulator(v, t) as accumulator:
            y = v * v
            v.assign(y)
            z = v * 3
        return accumulator.jvp(y), accumulator.jvp(z, unconnected_gradients="zero")

    assert [float(t) for t in step(ops.asarray(0.5))] == [2, 6]
    assert float(v) == 4


def test_wrong_use():
    x = ops.ones((2,))
    with pytest.raises(ShapeError, match="tangents"):
        gx.ForwardAccumulator(x, ops.ones((3,)))
    accumulator = gx.ForwardAccumulator(x, ops.ones((2,)))
    with pytest.raises(TapeError):
        accumulator.jvp(x)
    with accumulator, pytest.raises(TypeError):
        accumulator.jvp(1.0)
