"""Gradients that are rows: OP9, OP10, against the dense gradient that they stand for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, DTypeError, IndexRangeError, ShapeError
from graftax.optimizers import LAMB, SGD, Adagrad, Adam, AdamW, Muon

pytestmark = pytest.mark.filterwarnings("ignore:LossScale")  # gradients are made up, and scaled by hand or not at all

runs = pytest.mark.parametrize("run", [lambda f: f, gx.jit], ids=["eager", "jit"])
rng = np.random.default_rng(0)
TABLE = rng.normal(size=(6, 2)).astype("float32")
STEPS = [
    (np.array([[4, 1], [4, 4]]), rng.normal(size=(2, 2, 2)).astype("float32")),
    (np.array([[0, 1], [5, 0]]), rng.normal(size=(2, 2, 2)).astype("float32")),
]


def after(optimizer, run=lambda f: f, dense=False):
    w = gx.Variable(TABLE, name="w")

    def step(indices, values):
        rows = gx.IndexedRows(indices, values, w.shape)
        optimizer.apply([rows.dense() if dense else rows], [w])

    step = run(step)
    for indices, values in STEPS:
        step(indices, values)
    return w, optimizer


def test_op9_rows_that_come_twice_add_up():
    w = gx.Variable([1.0, 1.0, 1.0, 1.0])
    for lazy in (False, True):
        w.assign([1.0, 1.0, 1.0, 1.0])
        SGD(1.0, lazy=lazy).apply([gx.IndexedRows([1, 1, 3], [1.0, 1.0, 1.0], (4,))], [w])
        assert w.numpy().tolist() == [1, -1, 1, 0]


@pytest.mark.broad
@pytest.mark.parametrize("make", [lambda **o: SGD(0.1, **o), lambda **o: Adagrad(0.1, **o)], ids=["sgd", "adagrad"])
def test_lazy_is_the_dense_update_where_a_row_without_gradient_does_not_move(make):
    for options in ({}, {"clipvalue": 0.5, "clipnorm": 1.0, "global_clipnorm": 0.7, "adaptive_clip": 0.1}):
        expected, _ = after(make(**options), dense=True)
        for run in (lambda f: f, gx.jit):
            found, _ = after(make(lazy=True, **options), run)
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)


@pytest.mark.broad
@runs
def test_op10_adam_moves_untouched_rows_unless_it_is_lazy(run):
    dense, _ = after(Adam(0.1), dense=True)
    sparse, _ = after(Adam(0.1), run)
    np.testing.assert_allclose(sparse.numpy(), dense.numpy(), rtol=1e-6)
    lazy, optimizer = after(Adam(0.1, lazy=True), run)
    np.testing.assert_array_equal(lazy.numpy()[2:4], TABLE[2:4])  # never touched
    assert (sparse.numpy()[4] != lazy.numpy()[4]).all(), "touched in the first step only: the dense one moves it again"
    # the rows by themselves, with the count of the whole
    alone = gx.Variable(TABLE[[0, 5]])
    whole = Adam(0.1)
    whole.build([alone])
    whole.iterations.assign(1)
    values = STEPS[1][1].reshape(4, 2)
    whole.apply([np.stack([values[0] + values[3], values[2]])], [alone])
    np.testing.assert_allclose(lazy.numpy()[[0, 5]], alone.numpy(), rtol=1e-6)
    assert (optimizer.slot(lazy, "momentum").numpy()[2:4] == 0).all()


@pytest.mark.broad
def test_lazy_decay_is_that_of_the_touched_rows():
    found, _ = after(AdamW(0.1, weight_decay=0.5, lazy=True))
    np.testing.assert_array_equal(found.numpy()[2:4], TABLE[2:4])
    assert (found.numpy()[:2] != TABLE[:2]).all()


@pytest.mark.broad
def test_the_gradient_of_the_rows_that_were_looked_up():
    layer = gx.layers.Embedding(6, 2)
    words = np.array([[4, 1, 4]])
    layer(words)
    head = gx.Variable([[1.0], [2.0]])
    adam = Adam(1e-4, lazy=True)
    before = layer.embeddings.numpy().copy()

    @gx.jit
    def step(words):
        rows = layer(words)
        loss, (by_row, by_head) = gx.value_and_grad(lambda both: ops.sum(ops.matmul(both[0], both[1]) ** 2))(
            (rows, head.value)
        )
        adam.apply([gx.IndexedRows(words, by_row, layer.embeddings.shape), by_head], [layer.embeddings, head])
        return loss

    assert float(step(words)) > float(step(words))
    moved = (layer.embeddings.numpy() != before).any(1)
    assert moved.tolist() == [False, True, False, False, True, False]
    assert step.trace_count == 1


@pytest.mark.parametrize(
    ("optimizer", "message"),
    [(LAMB(0.1, lazy=True), "elementwise"), (Muon(0.1, lazy=True), "elementwise")],
)
def test_lazy_rows_of_a_rule_that_looks_at_the_whole(optimizer, message):
    w = gx.Variable(TABLE, name="w")
    with pytest.raises(ArgumentError, match=message):
        optimizer.apply([gx.IndexedRows([0], TABLE[:1], w.shape)], [w])
    np.testing.assert_array_equal(w.numpy(), TABLE)


@pytest.mark.broad
def test_accumulation_and_loss_scaling_take_rows():
    both = [gx.IndexedRows(indices, values, TABLE.shape) for indices, values in STEPS]
    found, expected = gx.Variable(TABLE), gx.Variable(TABLE)
    optimizer = Adam(0.1, accumulation_steps=2, loss_scale=4.0)
    for rows in both:
        optimizer.apply([gx.IndexedRows(rows.indices, rows.values * 4, rows.shape)], [found])
    Adam(0.1).apply([(both[0].dense() + both[1].dense()) / 2], [expected])
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)


def test_lazy_rows_are_not_accumulated():
    w = gx.Variable(TABLE)
    optimizer = Adam(0.1, accumulation_steps=2, lazy=True)
    with pytest.raises(ArgumentError, match="accumulates gradients"):
        optimizer.apply([gx.IndexedRows(*STEPS[0], TABLE.shape)], [w])
    np.testing.assert_array_equal(w.numpy(), TABLE)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([0.5], [[1.0]], (3, 1)), DTypeError),
        (([0, 1], [[1.0]], (3, 1)), ShapeError),
        ((0, 1.0, ()), ShapeError),
    ],
)
def test_rows_that_do_not_fit(arguments, error):
    with pytest.raises(error, match="IndexedRows"):
        gx.IndexedRows(*arguments)


@pytest.mark.broad
def test_rows_for_another_variable_or_out_of_range():
    w = gx.Variable(TABLE, name="w")
    with pytest.raises(ShapeError, match="'w'"):
        SGD(0.1).apply([gx.IndexedRows([0], [[1.0]], (6, 1))], [w])
    for lazy in (False, True):
        with pytest.raises(IndexRangeError):
            SGD(0.1, lazy=lazy).apply([gx.IndexedRows([6], [[1.0, 1.0]], (6, 2))], [w])


@pytest.mark.broad
@settings(max_examples=8, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=8), st.integers(0, 2**16))
def test_sums_and_dense_agree_with_numpy(indices, seed):
    values = np.random.default_rng(seed).normal(size=(len(indices), 3)).astype("float32")
    expected = np.zeros((5, 3), "float32")
    np.add.at(expected, indices, values)
    rows = gx.IndexedRows(np.array(indices), values, (5, 3))
    np.testing.assert_allclose(rows.dense(), expected, rtol=1e-5, atol=1e-6)
    touched, sums = rows.summed()
    np.testing.assert_allclose(touched.share(sums), expected[np.sort(indices)], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.sum(np.asarray(sums) ** 2), np.sum(expected**2), rtol=1e-4)


@pytest.mark.broad
@runs
@pytest.mark.parametrize("constraint", ["non_neg", gx.constraints.MaxNorm(0.5, axis=-1), lambda value: value * 0.0])
def test_a_constraint_projects_the_rows_that_move_and_no_others(run, constraint):
    w = gx.Variable(TABLE, constraint=constraint)
    optimizer = SGD(0.1, lazy=True)
    run(lambda: optimizer.apply([gx.IndexedRows([4, 1, 4], np.ones((3, 2), "float32"), TABLE.shape)], [w]))()
    moved = TABLE - 0.1 * np.array([0, 1, 0, 0, 2, 0], "float32")[:, None]
    whole = np.asarray(w.constraint(gx.ops.asarray(moved)))
    np.testing.assert_allclose(w.numpy()[[1, 4]], whole[[1, 4]], rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(w.numpy()[[0, 2, 3, 5]], TABLE[[0, 2, 3, 5]])


@pytest.mark.parametrize("axis", [0, (0, 1)])
def test_a_constraint_over_all_rows_refuses_lazy_rows(axis):
    w = gx.Variable(TABLE, constraint=gx.constraints.MaxNorm(0.5, axis=axis))
    with pytest.raises(ArgumentError, match="norms over all rows"):
        SGD(0.1, lazy=True).apply([gx.IndexedRows([4], np.ones((1, 2), "float32"), TABLE.shape)], [w])
    np.testing.assert_array_equal(w.numpy(), TABLE)


@pytest.mark.broad
@pytest.mark.parametrize("lazy", [False, True])
def test_no_rows_at_all(lazy):
    w = gx.Variable(TABLE)
    SGD(0.1, lazy=lazy).apply([gx.IndexedRows(np.zeros(0, "int32"), np.zeros((0, 2), "float32"), TABLE.shape)], [w])
    np.testing.assert_array_equal(w.numpy(), TABLE)
