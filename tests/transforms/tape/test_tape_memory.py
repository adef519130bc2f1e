"""What a tape keeps, and when it lets go."""

import gc
import weakref

import jax
import pytest

import graftax as gx
from graftax import ops
from tests.transforms.tape.numbers import close, number

# --- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.broad
def test_a_persistent_tape_lets_go_when_it_is_deleted():
    v = gx.Variable(ops.ones((10, 10)))
    gc.disable()
    try:
        with gx.GradientTape(persistent=True) as tape:
            x = ops.ones((10, 10))
            tape.watch(x)
            y = ops.sum(ops.sin(x * v))
        tape.gradient(y, [x, v])
        alive = [weakref.ref(x), weakref.ref(v.value)]
        v.assign(ops.zeros((10, 10)))
        del x, y, tape
        assert [ref() for ref in alive] == [None, None]
    finally:
        gc.enable()


def test_a_spent_tape_holds_nothing():
    x = ops.ones((10,))
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = ops.sum(x * x)
    tape.gradient(y, x)
    alive = weakref.ref(x)
    del x
    assert alive() is None


@pytest.mark.broad
def test_results_in_between_are_not_kept():
    x = ops.ones((1000, 100))
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(20):
            y = ops.sin(y)
        gc.collect()
        assert sum(a.shape == (1000, 100) for a in jax.live_arrays()) <= 3
    assert tape.gradient(y, x).shape == (1000, 100)


def test_ids_that_are_used_again_are_not_confused():
    x = number(1)
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = x
        for i in range(200):
            junk = y * 1.5
            del junk
            fresh = number(i)
            y = y * 2 if i % 100 == 0 else y
        z = fresh * 3
    assert tape.gradient(z, x) is None


def test_ids_after_a_gradient():
    x = number(1)
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * 4
    close(tape.gradient(y, x), 4)
