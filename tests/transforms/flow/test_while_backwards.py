"""Gradients that would have to go back through a compiled loop whose number of steps is not known."""

import jax
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import GradientError

w = gx.Variable(1.5, name="w")


def double(x):
    return gx.while_loop(lambda c: c < 20.0, lambda c: c * w, x)


def bounded(x):
    return gx.while_loop(lambda c: c < 20.0, lambda c: c * w, x, maximum_iterations=30)


def by_tape(x):
    def run(x):
        with gx.GradientTape() as tape:
            tape.watch(x)
            y = double(x)
        return tape.gradient(y, x)

    return gx.jit(run)(ops.asarray(x))


def around_compiled(x):
    x = ops.asarray(x)
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = gx.jit(double)(x)
    return tape.gradient(y, x)


WAYS = {
    "jit of grad": lambda x: gx.jit(gx.grad(double))(x),
    "grad of jit": lambda x: gx.grad(gx.jit(double))(x),
    "with respect to a Variable": lambda x: gx.jit(gx.grad(lambda: double(x), wrt=w))(),
    "grad of jax": lambda x: jax.grad(gx.jit(double))(x),
    "jacobian": lambda x: gx.jacobian(gx.jit(double), x),
    "implicit": lambda x: gx.jit(lambda x: gx.implicit_gradients(double)(x)[0][0])(x),
    "rows": lambda x: gx.vectorized_map(gx.grad(gx.jit(double)), ops.full((2,), x)),
    "minimize": lambda x: gx.jit(lambda x: gx.optimizers.SGD(0.1).minimize(lambda: double(x), [w]))(x),
    "a tape inside": by_tape,
    "a tape around": around_compiled,
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("way", WAYS)
def test_x4_the_way_back_through_an_unbounded_loop_names_maximum_iterations(way):
    with pytest.raises(GradientError, match=r"(?s)while_loop without a bound.*why:.*instead: .*maximum_iterations=100"):
        WAYS[way](1.0)


@pytest.mark.broad
def test_x4_what_is_not_the_way_back_works():
    def plain(x):
        while x < 20:
            x = x * 1.5
        return x

    compiled = gx.jit(double)
    np.testing.assert_allclose(compiled(1.0), plain(1.0), rtol=1e-6)
    np.testing.assert_allclose(gx.jvp(compiled, (1.0,), (1.0,))[1], plain(1.0), rtol=1e-6)
    np.testing.assert_allclose(gx.jvp(gx.grad(double), (1.0,), (1.0,))[0], plain(1.0), rtol=1e-6)  # eagerly
    np.testing.assert_allclose(gx.jit(gx.grad(bounded))(1.0), plain(1.0), rtol=1e-6)
    rows = gx.vectorized_map(compiled, ops.asarray([1.0, 3.0]))
    np.testing.assert_allclose(rows, [plain(1.0), plain(3.0)], rtol=1e-6)
    # a loop that nothing depends on
    np.testing.assert_allclose(gx.jit(gx.grad(lambda x: x + ops.stop_gradient(double(x))))(1.0), 1)


def test_x4_a_loop_of_plain_jax():
    loop = gx.jit(lambda x: jax.lax.while_loop(lambda c: c < 20.0, lambda c: c * 2, x))
    with pytest.raises(GradientError, match=r"(?s)a loop of plain JAX.*instead: .*maximum_iterations=100"):
        gx.grad(loop)(1.0)
