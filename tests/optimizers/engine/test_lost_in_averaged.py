"""What is assigned while averages are in place is lost at the end of the block: a warning says so."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops


def trained(steps=3, goal=3.0):
    w = gx.Variable([0.0, 1.0])
    optimizer = gx.optimizers.Adam(0.1, ema_momentum=0.5)
    for _ in range(steps):
        optimizer.minimize(lambda: ops.sum((w - goal) ** 2), [w])
    return w, optimizer


def test_an_assignment():
    w, optimizer = trained()
    before = w.numpy()
    with (
        pytest.warns(UserWarning, match="variable: values that were assigned inside of averaged"),
        optimizer.averaged(),
    ):
        w.assign([5.0, 6.0])
    np.testing.assert_array_equal(w, before)


def test_a_restore(tmp_path):
    w, optimizer = trained(9, -7.0)
    gx.Checkpoint(w=w, optimizer=optimizer).save(tmp_path / "other")
    v, optimizer = trained()
    with pytest.warns(UserWarning, match="restore a checkpoint, before the block"), optimizer.averaged():
        gx.Checkpoint(w=v, optimizer=optimizer).restore(tmp_path / "other").assert_consumed()


@pytest.mark.parametrize("value", [1.0, float("nan")])
def test_what_is_the_same_is_not_warned_of(value):
    w, optimizer = trained()
    w.assign([value, value])
    optimizer.apply([ops.zeros(2)], [w])
    with optimizer.averaged():
        w.assign(w.value + 0.0)
        with gx.GradientTape() as tape:
            loss = ops.sum(w**2)
        tape.gradient(loss, w)


def test_in_a_compiled_program():
    w, optimizer = trained()

    @gx.jit
    def evaluate():
        with optimizer.averaged():
            return ops.sum(w)

    with optimizer.averaged():
        expected = float(ops.sum(w))
    assert float(evaluate()) == pytest.approx(expected)


def test_an_error_in_the_block_comes_out_as_it_is():
    w, optimizer = trained()

    def fail():
        with optimizer.averaged():
            w.assign([5.0, 6.0])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
