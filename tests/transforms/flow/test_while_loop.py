"""while_loop with Variables written inside, against plain Python; eager, compiled, differentiated."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, DTypeError, ShapeError, StateError

ROWS = np.random.default_rng(0).normal(size=(6, 4)).astype("float32")


def plain(fn):
    return fn


modes = pytest.mark.parametrize("mode", [plain, gx.jit], ids=["eager", "compiled"])


class Counters:
    def __init__(self):
        self.left = gx.Variable(0.0, trainable=False)
        self.right = gx.Variable(0.0, trainable=False)
        self.w = gx.Variable(3.0)

    def values(self):
        return float(self.left), float(self.right)


@modes
@pytest.mark.parametrize("bound", [None, 100])
def test_while_loop_state_is_carried(mode, bound):
    c = Counters()

    def body(carry):
        c.left.assign_add(1.0)
        c.right.assign(c.right + c.left)
        return {"x": carry["x"] * 2 + c.left, "n": carry["n"] + 1}

    def run(x):
        return gx.while_loop(lambda s: s["x"] < 100.0 + c.right, body, {"x": x, "n": 0}, maximum_iterations=bound)

    out = mode(run)(1.0)
    x, n, left, right = 1.0, 0, 0.0, 0.0
    while x < 100 + right:
        left += 1
        right += left
        x, n = x * 2 + left, n + 1
    assert (float(out["x"]), int(out["n"]), *c.values()) == (x, n, left, right)


@modes
@pytest.mark.parametrize("bound", [0, 3])
def test_while_loop_ends_at_the_bound(mode, bound):
    assert float(mode(lambda x: gx.while_loop(lambda v: v < 100, lambda v: v * 2, x, bound))(1.0)) == 2.0**bound


@pytest.mark.broad
@modes
def test_while_loop_with_a_bound_is_differentiated(mode):
    w = gx.Variable(2.0)

    def loss(x):
        return gx.while_loop(lambda v: v < 10, lambda v: v * w, x, maximum_iterations=6)

    value, gradient = mode(gx.value_and_grad(loss, wrt=w))(1.5)  # 1.5 w³
    assert (float(value), float(gradient)) == (12.0, 18.0)
    assert float(mode(gx.grad(loss))(1.5)) == 8.0


@pytest.mark.broad
def test_while_loop_draws_in_the_body():
    generator = gx.SeedGenerator(seed=2)

    def run():
        def step(s):
            return s[0] + 1, s[1] + gx.random.uniform((), seed=generator)

        return gx.while_loop(lambda s: s[0] < 4, step, (0, 0.0))[1]

    eager = float(run())
    generator.state.assign(gx.SeedGenerator(seed=2).build())
    np.testing.assert_allclose(float(gx.jit(run)()), eager, rtol=1e-6)


def test_while_loop_errors_name_the_leaf():
    def run(body):
        return gx.jit(lambda x: gx.while_loop(lambda s: s["n"] < 3, body, {"n": x, "y": ops.ones((2,))}))(0)

    with pytest.raises(ShapeError, match=r"'carry/y' has shape \(2,\) in init, \(4,\) in the result"):
        run(lambda s: {"n": s["n"] + 1, "y": ops.concatenate([s["y"], s["y"]])})
    with pytest.raises(DTypeError, match="carry/y"):
        run(lambda s: {"n": s["n"] + 1, "y": ops.cast(s["y"], "int32")})
    with pytest.raises(ArgumentError, match="carry/z"):
        run(lambda s: {"n": s["n"] + 1, "z": s["y"]})
    with pytest.raises(ArgumentError, match="maximum_iterations"):
        gx.while_loop(lambda s: True, lambda s: s, 0, maximum_iterations=-1)


def test_while_loop_condition_may_not_assign():
    v = gx.Variable(0.0, name="tick")
    with pytest.raises(StateError, match="condition of a while_loop assigns 'tick'"):
        gx.jit(lambda x: gx.while_loop(lambda s: v.assign_add(1.0) < s, lambda s: s, x))(3.0)


@modes
def test_nested_loops(mode):
    total = gx.Variable(0, trainable=False)

    def inner(i):
        def body(j):
            total.assign_add(i * 10 + j)
            return j + 1

        return gx.while_loop(lambda j: j < i, body, 0)

    def outer(i):
        inner(i)
        return i + 1

    mode(lambda n: gx.while_loop(lambda i: i < n, outer, 0))(4)
    assert int(total) == sum(i * 10 + j for i in range(4) for j in range(i))


def test_the_numpy_backend_runs_a_plain_loop():
    with gx.backend.use("numpy"):
        assert gx.while_loop(lambda n: n < 10, lambda n: n + 3, 0) == 12
