"""What a tape counts as the start of a Variable, and what it keeps alive."""

import gc
import weakref

import numpy as np
import pytest

import graftax as gx
from graftax import ops


def test_x2_a_variable_starts_where_the_tape_does():
    v = gx.Variable(2.0)
    v.assign(v * 3)
    with gx.GradientTape() as tape:
        y = v * v
    assert float(tape.gradient(y, v)) == 12  # with respect to 6
    with gx.GradientTape() as tape:
        v.assign(ops.asarray(4.0))
        y = v * v
    assert tape.gradient(y, v) is None  # what it started with does not matter


def test_x2_inner_and_outer_tapes_have_starts_of_their_own():
    v, x = gx.Variable(2.0), ops.asarray(3.0)
    with gx.GradientTape(persistent=True) as outer:
        outer.watch(x)
        v.assign(v * x)
        with gx.GradientTape() as inner:
            y = v**3
        first = inner.gradient(y, v)  # 3 v^2 at v = 2 x
    assert float(first) == 108
    np.testing.assert_allclose(outer.gradient(first, [v, x]), [6 * 6 * 3, 6 * 6 * 2])
    np.testing.assert_allclose(outer.gradient(y, [v, x]), [108 * 3, 108 * 2])


def test_x2_an_array_that_is_held_and_the_variable_it_was_assigned_to_before_are_two():
    v, x = gx.Variable(0.0), ops.asarray(3.0)
    with gx.GradientTape(persistent=True) as outer:
        outer.watch(x)
        held = x * 2
        v.assign(held)
        with gx.GradientTape() as inner:
            inner.watch(held)
            y = v * held
        a, b = inner.gradient(y, [v, held])
    assert (float(a), float(b)) == (6, 6)
    assert float(outer.gradient(y, x)) == 2 * 2 * 6


@pytest.mark.parametrize("around", [lambda fn: fn, gx.jit], ids=["eager", "compiled"])
def test_x2_a_variable_that_is_watched_late_is_computed_and_a_start(around):
    u = gx.Variable(1.0, trainable=False)

    def late(x):
        with gx.GradientTape(persistent=True) as tape:
            tape.watch(x)
            held = x * 2
            u.assign(held)
            tape.watch(u)
            y = u * u * held
        return tape.gradient(y, u), tape.gradient(y, x), tape.gradient(y, [u, x])

    by_u, by_x, both = around(late)(ops.asarray(3.0))
    assert (float(by_u), float(by_x)) == (2 * 6 * 6, 3 * 36 * 2)
    assert [float(g) for g in both] == [2 * 6 * 6, 3 * 36 * 2]


@pytest.mark.parametrize("trainable", [False, True])
def test_x2_an_array_that_was_assigned_before_the_tape_is_another_thing_than_the_variable(trainable):
    v, x = gx.Variable(0.0, trainable=trainable), ops.asarray(3.0)
    v.assign(x)
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = v * v * x
    assert float(tape.gradient(y, x)) == 9
    assert (tape.gradient(y, v) is None) is not trainable


def test_x2_what_is_assigned_while_a_tape_does_not_record_is_a_start():
    v = gx.Variable(2.0)
    with gx.GradientTape(persistent=True) as tape:
        v.assign(v * 3)
        first = v * v  # 36, and d/dv = 2 * 6 * 3
        with tape.stop_recording():
            v.assign(v + 1)
        second = v * v  # with respect to 7
    v.assign(5.0)
    with tape:
        third = v * v
    for y, gradient in ((first, 36), (second, 14), (third, 10), ([first, second, third], 60)):
        assert float(tape.gradient(y, v)) == gradient


@pytest.mark.broad
def test_x2_a_gradient_of_an_average_does_not_keep_arrays_alive():
    v, t = gx.Variable(ops.ones((10,))), gx.Variable(ops.ones((10,)), trainable=False)
    gc.disable()
    try:
        with gx.GradientTape(persistent=True) as tape:
            t.assign(0.9 * t + 0.1 * v)
            y = ops.sum(v * t)
        assert tape.gradient(y, v) is not None
        assigned, start = weakref.ref(t.value), weakref.ref(v.value)
        v.assign(ops.zeros((10,)))
        t.assign(ops.zeros((10,)))
        assert assigned() is None  # computed again where it is needed
        del tape, y
        assert start() is None
    finally:
        gc.enable()
