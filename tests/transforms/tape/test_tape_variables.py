"""Variables that are assigned while a tape records, GT26 to GT30."""

import warnings

import pytest

import graftax as gx
from graftax import ops
from tests.transforms.tape.numbers import close, number

# --- GT26 to GT30: Variables ------------------------------------------------------------------------------------------


def test_gt26_assign_add_inside():
    v = gx.Variable(2.0)
    with gx.GradientTape() as tape:
        v.assign_add(1.0)
        y = v * v
    close(tape.gradient(y, v), 6)


def test_gt27_assign_after():
    v = gx.Variable(2.0)
    with gx.GradientTape() as tape:
        y = v * v
        v.assign(100.0)
    v.assign(1000.0)
    close(tape.gradient(y, v), 4)


@pytest.mark.parametrize("trainable", [True, False])
def test_gt28_gradients_go_through_assignments(trainable):
    v, x = gx.Variable(0.0, trainable=trainable), number(2)
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        v.assign(x * 1)
        y = 3 * v
        z = 3 * v + x
    close(tape.gradient(y, x), 3)
    assert tape.gradient(y, v) is None  # with respect to the value that it had before
    close(tape.gradient(z, x), 4)


def test_gt28_a_variable_that_was_assigned_the_very_array():
    v, x = gx.Variable(0.0), number(2)
    v.assign(x)
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = 3 * v * x
    close([tape.gradient(y, x), tape.gradient(y, v)], [6, 6])


def test_two_variables_of_one_array_are_two():
    online, target = gx.Variable([2.0]), gx.Variable([0.0], trainable=False)
    target.assign(online.value)
    with gx.GradientTape() as tape:
        t, o = target.value, online.value
        y = ops.sum(t * o)
    close(tape.gradient(y, online), [2])
    a, b = gx.Variable(3.0), gx.Variable(0.0)
    b.assign(a.value)
    with gx.GradientTape() as tape:
        y = a * a * b
    close(tape.gradient(y, [a, b]), [18, 9])


def test_gt29_numpy_warns_once():
    v = gx.Variable([1.0, 2.0])
    with gx.GradientTape() as tape:
        with pytest.warns(UserWarning, match="'variable' became a NumPy array"):
            round_trip = ops.asarray(v.numpy() * 2)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            v.numpy()
            repr(v), f"{float(v[0])}"
        with tape.stop_recording():
            v.numpy()
        y = ops.sum(round_trip)
    assert tape.gradient(y, v) is None


@pytest.mark.broad
def test_gt30_rows_that_are_taken_twice():
    table = gx.Variable(ops.zeros((5, 2)))
    with gx.GradientTape() as tape:
        y = ops.sum(ops.take(table, ops.asarray([1, 1, 3]), axis=0) * ops.asarray([[1.0], [2.0], [4.0]]))
    close(tape.gradient(y, table), [[0, 0], [3, 3], [0, 0], [4, 4], [0, 0]])
