"""scan and map_fn with Variables written inside, against Python loops; eager, compiled, differentiated."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, ShapeError
from graftax.transforms.flow import scan as scanning

ROWS = np.random.default_rng(0).normal(size=(5, 3, 4)).astype("float32")


def plain(fn):
    return fn


modes = pytest.mark.parametrize("mode", [plain, gx.jit], ids=["eager", "compiled"])


@pytest.mark.in_turn(2)
@modes
@pytest.mark.parametrize("reverse", [False, True])
def test_scan_state_is_carried_from_step_to_step(mode, reverse):
    count = gx.Variable(0.0, trainable=False)

    def step(carry, x):
        count.assign_add(1.0)
        return {"sum": carry["sum"] + x["a"] * count}, (x["a"] + carry["sum"], None)

    a = np.float32([1, 2, 3, 4])
    run = mode(lambda a: gx.scan(step, {"sum": 0}, {"a": a}, reverse=reverse))
    for start in 0, 4:
        last, (ys, none) = run(a)
        total, expected = 0.0, []
        for i, x in enumerate(a[::-1] if reverse else a):
            expected.append(x + total)
            total += x * (start + i + 1)
        assert float(last["sum"]) == total
        assert ys.tolist() == (expected[::-1] if reverse else expected)
        assert none is None
    assert float(count) == 8


@modes
@pytest.mark.parametrize("length", [0, 3])
def test_scan_without_rows(mode, length):
    v = gx.Variable(1.0, trainable=False)
    last, ys = mode(lambda: gx.scan(lambda c, _: (c + 1, v.assign(v * 2)), 0, length=length))()
    assert (int(last), ys.tolist(), float(v)) == (length, [2.0, 4.0, 8.0][:length], 2.0**length)


class Cell:
    """Dense, batch normalization and dropout in one step of a recurrent loop."""

    def __init__(self):
        self.dense = layers.Dense(4)
        self.norm = layers.BatchNormalization(momentum=0.5)
        self.dropout = layers.Dropout(0.5, seed=7)
        self.dense(ROWS[0])
        self.norm(ROWS[0])
        self.dropout(ROWS[0], training=True)

    def __call__(self, h, x):
        h = self.norm(self.dropout(self.dense(x) + h, training=True), training=True)
        return h, ops.sum(h * h * h)

    def loop(self, h):
        results = []
        for x in ROWS:
            h, y = self(h, x)
            results.append(y)
        return h, ops.stack(results)

    def variables(self):
        return [*self.dense.variables, *self.norm.variables, *self.dropout.variables]

    def save(self):
        return [v.numpy().copy() for v in self.variables()]

    def load(self, values):
        for v, value in zip(self.variables(), values, strict=True):
            v.assign(value)


@pytest.mark.broad
@modes
def test_scan_over_layers_equals_the_loop_with_statistics_and_streams(mode):
    cell = Cell()
    start = cell.save()
    h = ops.zeros((3, 4))
    expected = cell.loop(h)
    after = cell.save()
    cell.load(start)
    found = mode(lambda h: gx.scan(cell, h, ROWS))(h)
    for a, b in zip([*found, *cell.save()], [*expected, *after], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert not np.array_equal(cell.norm.moving_mean.numpy(), np.zeros(4))
    assert not np.array_equal(start[-1], after[-1]), "the stream of the dropout layer"


@pytest.mark.broad
@pytest.mark.in_turn(3)
@modes
@pytest.mark.parametrize("wrap", [plain, gx.remat], ids=["plain", "remat"])
def test_scan_gradients_equal_those_of_the_loop(mode, wrap):
    cell = Cell()
    start = cell.save()
    wrt = [*cell.dense.variables, cell.norm.gamma]
    h = ops.ones((3, 4))

    def by_loop():
        last, ys = cell.loop(h)
        return ops.sum(ys) + ops.sum(last[0])

    def by_scan():
        last, ys = gx.scan(wrap(cell), h, ROWS)
        return ops.sum(ys) + ops.sum(last[0])

    value, expected = gx.value_and_grad(by_loop, wrt=wrt)()
    after = cell.save()
    cell.load(start)
    found_value, found = mode(gx.value_and_grad(by_scan, wrt=wrt))()
    np.testing.assert_allclose(found_value, value, rtol=1e-4, atol=1e-4)
    for a, b in zip([*found, *cell.save()], [*expected, *after], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


def test_scan_under_a_tape():
    w = gx.Variable(2.0)
    with gx.GradientTape() as tape:
        last, _ = gx.scan(lambda c, x: (c * w + x, None), 1.0, np.float32([1, 2]))  # w² + w + 2
    assert float(tape.gradient(last, w)) == 5.0


def test_scan_reads_are_never_stale():
    v = gx.Variable(1.0)

    def step(c, x):
        return c + x * v, None

    for value in 1.0, 10.0:
        v.assign(value)
        assert float(gx.scan(step, 0.0, np.float32([1, 2]))[0]) == 3 * value


@pytest.mark.broad
def test_eager_scans_that_do_the_same_are_compiled_once():
    v, n, rate = gx.Variable(2.0), gx.Variable(0.0, trainable=False), 1.0
    scale = ops.asarray(1.0)

    def step(c, x):
        n.assign_add(1.0)
        return c + rate * scale * v * x, None

    def total():
        return gx.scan(step, 0.0, np.float32([1, 2]))[0]

    assert float(total()) == 6.0
    before = len(scanning._loops.compiled)
    scale = ops.asarray(10.0)  # a constant of the program, not a part of it
    v.assign(1.0)
    assert float(total()) == 30.0
    assert len(scanning._loops.compiled) == before
    rate = -0.0  # a number in it
    assert str(float(total())) == "0.0"
    rate = 2.0
    assert float(total()) == 60.0
    assert len(scanning._loops.compiled) == before + 2
    assert float(gx.grad(total, wrt=v)()) == 60.0
    with gx.GradientTape() as tape:
        y = total()
    assert float(tape.gradient(y, v)) == 60.0
    assert len(scanning._loops.compiled) == before + 2
    assert float(n) == 12


@pytest.mark.broad
def test_loops_that_are_remembered_are_few(monkeypatch):
    monkeypatch.setattr(scanning, "_loops", scanning._Loops(most=2))
    for k in range(4):
        gx.scan(lambda c, x, k=float(k): (c + k * x, None), 0.0, np.float32([1, 2]))
    assert len(scanning._loops.compiled) == 2


@pytest.mark.broad
def test_a_number_that_gives_way_is_traced_again():
    jnp = pytest.importorskip("jax.numpy")
    runs = []

    def step(c, x):
        runs.append(1)
        return c * x, None

    half = jnp.asarray([2, 3], "bfloat16")
    assert gx.scan(step, 1.0, half)[0].dtype == "bfloat16"
    assert len(runs) == 2
    assert gx.scan(step, 1.0, np.float32([2, 3]))[0].dtype == "float32"
    assert len(runs) == 3


@modes
def test_scan_in_a_scan_in_a_cond(mode):
    total = gx.Variable(0.0, trainable=False)

    def inner(c, x):
        total.assign_add(x)
        return c + total, x

    def outer(c, row):
        c, _ = gx.scan(inner, c, row)
        return c, c

    rows = np.float32([[1, 2], [3, 4]])
    run = mode(lambda p, x: gx.cond(p, lambda: gx.scan(outer, 0.0, x)[1], lambda: ops.zeros((2,))))
    assert run(True, rows).tolist() == [4.0, 20.0]
    assert float(total) == 10
    assert run(False, rows).tolist() == [0.0, 0.0]
    assert float(total) == 10


@pytest.mark.broad
@modes
def test_layers_are_built_inside_and_draw_the_same(mode):
    dense, dropout = layers.Dense(4), layers.Dropout(0.5)
    run = mode(lambda x: gx.scan(lambda h, x: (dropout(dense(x) + h, training=True), None), ops.zeros((3, 4)), x)[0])
    first, second = np.asarray(run(ROWS)), np.asarray(run(ROWS))
    assert len(dense.variables) == 2
    assert not np.array_equal(first, second)


def test_scan_inside_functional_call_and_plain_jax():
    jax = pytest.importorskip("jax")

    class Loop(gx.Layer):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(4)

        def build(self, input_shape):
            self.steps = self.add_weight((), "zeros", "steps", trainable=False, role="state")

        def call(self, x):
            def step(h, row):
                self.steps.assign_add(1.0)
                return ops.tanh(self.dense(row) + h), None

            return gx.scan(step, ops.zeros((3, 4)), x)[0]

    loop = Loop()
    expected = loop(ROWS)
    state = gx.state(loop)
    out, after = jax.jit(lambda s, x: gx.functional_call(loop, s, x))(state, ROWS)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)
    assert float(after["steps"]) == 10
    assert float(loop.steps) == 5


def test_scan_errors_name_the_leaf():
    with pytest.raises(ShapeError, match=r"'carry/h' has shape \(2,\) in init, \(4,\) in the result"):
        gx.scan(lambda c, x: ({"h": ops.concatenate([c["h"], c["h"]])}, None), {"h": ops.ones((2,))}, ROWS)
    with pytest.raises(ArgumentError, match="carry/0"):
        gx.scan(lambda c, x: (c[0], None), [ops.ones((2,))], ROWS)
    with pytest.raises(ShapeError, match="'xs/a' has 5 rows, 'xs/b' has 4"):
        gx.scan(lambda c, x: (c, None), 0.0, {"a": ROWS, "b": ROWS[:4]})
    with pytest.raises(ShapeError, match="scalar"):
        gx.scan(lambda c, x: (c, None), 0.0, 1.0)
    with pytest.raises(ArgumentTypeError, match="next carry and the result"):
        gx.scan(lambda c, x: c, 0.0, ROWS)
    with pytest.raises(ArgumentError, match="neither xs nor length"):
        gx.scan(lambda c, x: (c, None), 0.0)
    with pytest.raises(ArgumentError, match="length=3 and 5 rows"):
        gx.scan(lambda c, x: (c, None), 0.0, ROWS, length=3)


@pytest.mark.broad
@modes
def test_map_fn_goes_row_by_row(mode):
    v = gx.Variable(0.0, trainable=False)
    out = mode(lambda x: gx.map_fn(lambda r: {"y": r["x"] + v.assign_add(1.0)}, {"x": x}))(np.float32([10, 20]))
    assert out["y"].tolist() == [11.0, 22.0]
    draws = np.asarray(mode(lambda x: gx.map_fn(lambda _: gx.random.normal(()), x))(ROWS))
    assert len(np.unique(draws)) == 5
