"""cond and switch with Variables written inside, against plain Python; eager, compiled, differentiated."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.core.errors import ArgumentError, DTypeError, IndexRangeError, ShapeError, StateError

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


# --- cond -------------------------------------------------------------------------------------------------------------


@modes
def test_cond_writes_of_the_branch_that_runs(mode):
    c = Counters()

    def true_fn(x):
        c.left.assign_add(x)
        return x * c.left

    def false_fn(x):
        c.right.assign(c.left + x)
        return x

    run = mode(lambda x: gx.cond(x > 0, true_fn, false_fn, x))
    results = [float(run(x)) for x in (2.0, 3.0, -1.0, 1.0)]
    assert results == [4.0, 15.0, -1.0, 6.0]
    assert c.values() == (6.0, 4.0)


@modes
def test_cond_under_value_and_grad_also_with_respect_to_variables(mode):
    c = Counters()

    def loss(x):
        def true_fn():
            c.left.assign_add(1.0)
            return c.w * c.w * x

        return gx.cond(x > 0, true_fn, lambda: x * 2)

    both = mode(gx.value_and_grad(loss, wrt=c.w))
    assert [float(v) for v in both(2.0)] == [18.0, 12.0]
    assert [float(v) for v in both(-2.0)] == [-4.0, 0.0]
    assert [float(v) for v in mode(gx.value_and_grad(loss))(2.0)] == [18.0, 9.0]
    assert c.values()[0] == 2.0


def test_cond_sees_new_values_of_what_it_reads():
    v = gx.Variable(1.0)
    fn = gx.jit(lambda p: gx.cond(p, lambda: v * 1, lambda: v * 2))
    assert float(fn(True)) == 1
    v.assign(5.0)
    assert (float(fn(True)), float(fn(False)), fn.trace_count) == (5.0, 10.0, 1)


def test_cond_eagerly_is_python_with_real_values():
    seen = []
    gx.cond(ops.asarray(1.0) > 0, lambda x: seen.append(float(x)), lambda x: None, 4.0)
    assert seen == [4.0]


@pytest.mark.broad
def test_cond_draws_only_in_the_branch_that_runs():
    generator = gx.SeedGenerator(seed=1)
    fn = gx.jit(lambda p: gx.cond(p, lambda: gx.random.normal((), seed=generator), lambda: 0.0))
    fn(False)
    fn(True)
    other = gx.SeedGenerator(seed=1)
    other.next()
    np.testing.assert_array_equal(generator.state.value, other.state.value)


@pytest.mark.broad
def test_cond_in_a_cond_and_with_layers_built_and_used_inside():
    dense, norm, dropout = layers.Dense(4), layers.BatchNormalization(), layers.Dropout(0.5)

    def inner(x):
        return gx.cond(ops.sum(x) > 0, lambda: norm(dense(x), training=True), lambda: dropout(x, training=True))

    fn = gx.jit(lambda p, x: gx.cond(p, inner, lambda v: v, x))
    np.testing.assert_array_equal(fn(False, ROWS), ROWS)
    assert not np.any(norm.moving_mean.numpy())
    positive = np.abs(ROWS)
    found = np.asarray(fn(True, positive))
    moved = norm.moving_mean.numpy()
    np.testing.assert_allclose(moved, 0.01 * np.asarray(dense(positive)).mean(0), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.mean(0), 0, atol=1e-5)
    drawn = [np.asarray(fn(True, -positive)) for _ in range(2)]
    assert not np.array_equal(*drawn)
    np.testing.assert_array_equal(norm.moving_mean.numpy(), moved)


def test_cond_python_numbers_give_way():
    fn = gx.jit(lambda p, x: gx.cond(p, lambda: 1, lambda: x))
    assert fn(True, np.float32(2)).dtype == "float32"


@pytest.mark.parametrize(
    ("other", "error", "text"),
    [
        (lambda x: {"a": x, "c": x}, ArgumentError, "only the one has ['result/b'], only the other ['result/c']"),
        (lambda x: {"a": x, "b": x[0]}, ShapeError, "'result/b' has shape (2,) in true_fn, () in false_fn"),
        (lambda x: {"a": x, "b": ops.cast(x, "int32")}, DTypeError, "float32 in true_fn and int32 in false_fn"),
    ],
)
def test_cond_branches_that_differ(other, error, text):
    fn = gx.jit(lambda p, x: gx.cond(p, lambda v: {"a": v, "b": v}, other, x))
    with pytest.raises(error) as caught:
        fn(True, ROWS[:2, 0])
    assert text in str(caught.value)
    assert "why:" in str(caught.value)


def test_cond_predicates():
    with pytest.raises(ShapeError, match="vectorized_map"):
        gx.cond(np.array([True, False]), lambda: 1, lambda: 2)
    with pytest.raises(DTypeError, match="float32"):
        gx.cond(1.0, lambda: 1, lambda: 2)
    assert gx.cond(3, lambda: 1, lambda: 2) == 1


def test_a_variable_made_anew_in_a_branch_is_refused():
    def branch():
        v = gx.Variable(0.0)
        return v.assign_add(1.0).value

    with pytest.raises(StateError, match="makes a Variable .* (does not keep it|that nobody keeps)"):
        gx.jit(lambda p: gx.cond(p, branch, lambda: 0.0))(True)


@pytest.mark.parametrize("start", [0.0, np.float32(0)], ids=["number", "array"])
def test_what_is_nested_is_traced_once(start):
    v, runs = gx.Variable(2.0), []

    def leaf(c, x):
        runs.append(1)
        return c + x * v, None

    def row(c, x):
        return c + gx.scan(leaf, start, x)[0], None

    def again(c):
        return gx.cond(c < 5, lambda: gx.scan(row, c, np.ones((2, 2), "float32"))[0], lambda: c)

    assert float(gx.jit(lambda c: gx.while_loop(lambda c: c < 5, again, c))(start)) == 8.0
    assert len(runs) == 1


# --- switch -----------------------------------------------------------------------------------------------------------


@modes
def test_switch_writes_of_the_branch_that_runs(mode):
    c = Counters()
    branches = [lambda x: c.left.assign_add(x) * 1, lambda x: c.right.assign_add(x) * 2, lambda x: x]
    run = mode(lambda i, x: gx.switch(i, branches, x))
    assert [float(run(i, 5.0)) for i in (0, 1, 1, 2)] == [5.0, 10.0, 20.0, 5.0]
    assert c.values() == (5.0, 10.0)


@pytest.mark.parametrize("index", [-1, 2])
def test_switch_index_out_of_range(index):
    with pytest.raises(IndexRangeError, match=r"not in \[0, 2\)"):
        gx.switch(index, [lambda: 0, lambda: 1])


def test_switch_arguments():
    with pytest.raises(ArgumentError, match="no branches"):
        gx.switch(0, [])
    with pytest.raises(DTypeError):
        gx.switch(0.0, [lambda: 0])
    with pytest.raises(ShapeError):
        gx.switch([0, 1], [lambda: 0])


def test_the_numpy_backend_runs_plain_python():
    with gx.backend.use("numpy"):
        assert gx.cond(True, lambda x: x + 1, lambda x: x, 1) == 2
        assert gx.switch(1, [lambda: 0, lambda: 5]) == 5
