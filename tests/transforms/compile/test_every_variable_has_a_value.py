"""FN23: whatever happens to a compiled step, every Variable has a value."""

import signal
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.backend.jax.transforms import JaxProgram
from graftax.core.errors import (
    StateError,
)
from graftax.transforms.compile.jit import jit
from graftax.variables.variable import Variable

# --- fn23: whatever happens, every Variable has a value -------------------------------------------------------------


def test_fn23_an_exception_while_tracing():
    v = Variable([1.0])

    @jit
    def f(x):
        v.assign(v * x)
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            f(2.0)
    assert v.numpy().tolist() == [1.0]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("where", ["top", "scan", "cond"])
@pytest.mark.filterwarnings("ignore")
def test_fn23_an_exception_at_run_time(where, caplog):
    v, fail = Variable([1.0, 2.0]), [False]

    def call(x):
        if fail[0]:
            raise ValueError("boom")
        return x

    def callback(x):
        return jax.pure_callback(call, jax.ShapeDtypeStruct((), jnp.float32), x)

    @jit
    def f():
        v.assign(v + 1)
        x = v.value.sum()
        if where == "scan":
            x = jax.lax.scan(lambda c, _: (callback(c), None), x, None, length=2)[0]
        elif where == "cond":
            x = jax.lax.cond(x > 0, callback, lambda x: x, x)
        else:
            x = callback(x)
        v.assign(v + x)
        return x

    assert float(f()) == 5.0
    before = v.numpy().tolist()
    fail[0] = True
    with pytest.raises(Exception, match="boom"):
        f()
    assert v.numpy().tolist() == before
    fail[0] = False
    f()
    assert v.numpy().tolist() != before


def test_fn23_debug_nans():
    v = Variable([1.0])
    f = jit(lambda x: v.assign(v / x).value)
    f(1.0)
    v.assign([0.0])
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="in div"):
        f(0.0)
    assert v.numpy().tolist() == [0.0]


@pytest.mark.broad
@pytest.mark.parametrize("compiled", ["under the setting", "before"])
def test_fn23_debug_nans_where_variables_are_packed(compiled):
    """It was an IndexError, whatever the numbers: the program got packed buffers, and took them for single ones."""
    weights, sgd = [Variable([1.0, 2.0]), Variable([3.0, 4.0])], gx.optimizers.SGD(0.5)
    f = jit(lambda x: sgd.minimize(lambda: sum(ops.sum(ops.log(x * w)) for w in weights), weights))
    if compiled == "before":
        f(1.0)
    with jax.debug_nans(True):
        f(1.0)
        before = [w.numpy().tolist() for w in weights]
        with pytest.raises(FloatingPointError, match="in log"):
            f(-1.0)
        assert [w.numpy().tolist() for w in weights] == before
        assert sgd.iterations.numpy() == 1 + (compiled == "before")
    if compiled != "before":
        np.testing.assert_allclose(before, [[0.5, 1.75], [3 - 0.5 / 3, 3.875]], rtol=1e-6)


@pytest.mark.usefixtures("interruptible")
def test_fn23_ctrl_c_at_the_first_run(monkeypatch):
    v = Variable([1.0])
    f = jit(lambda: v.assign(v * 2).value)
    real = JaxProgram.run_donating.fget

    def interrupted(program):
        def run(*args):
            results = real(program)(*args)
            signal.raise_signal(signal.SIGINT)  # the buffers are given away, the results not yet in place
            return results

        return run

    monkeypatch.setattr(JaxProgram, "run_donating", property(interrupted))
    with pytest.raises(KeyboardInterrupt):
        f()
    assert v.numpy().tolist() == [2.0]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class Alarm:
    """Interrupts once, as Ctrl-C does, what runs in its block; one that comes after the block is late, and dropped."""

    def __init__(self):
        self.is_set = False

    def __call__(self, number, frame):
        if self.is_set:
            self.is_set = False
            raise KeyboardInterrupt

    def interrupts(self, f, delay, most=1.0):
        """Run for so long at most, in seconds; JAX loses interrupts that come while it frees something in Python."""
        try:
            self.is_set = True
            signal.setitimer(signal.ITIMER_REAL, delay)  # once
            end = time.monotonic() + most
            while time.monotonic() < end:
                f()
            self.is_set = False  # on a machine with too much to do, some come too late
        except KeyboardInterrupt:
            return True
        return False


@pytest.mark.broad
def test_fn23_ctrl_c_at_any_time(monkeypatch):
    # One that comes while Python collects garbage or frees something goes to this hook, and is lost.
    monkeypatch.setattr(sys, "unraisablehook", lambda args: None)
    variables = [Variable(np.zeros(16, "float32")) for _ in range(40)]

    @jit
    def f():
        for v in variables:
            v.assign(v + 1)

    f()
    f()
    alarm = Alarm()
    before = signal.signal(signal.SIGALRM, alarm)
    hits = 0
    try:
        for delay in np.random.default_rng(0).uniform(1e-4, 3e-3, size=150):
            hits += alarm.interrupts(f, delay)
            assert len({float(v.numpy()[0]) for v in variables}) == 1  # all of one step
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert hits > 100


def test_fn23_an_alarm_that_comes_late_interrupts_nothing():
    alarm = Alarm()
    assert not alarm.interrupts(lambda: None, 2.0, most=0.01)
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert alarm(signal.SIGALRM, None) is None


def test_fn23_lost_on_the_device_is_said():
    v = Variable([1.0], name="w")
    f = jit(lambda: v.assign(v * 2).value)
    f()
    ((entry,),) = f._entries.values()

    class Broken:
        def run_donating(self, donated, kept, leaves):
            donated[0].delete()
            raise RuntimeError("out of memory")

    entry.program = Broken()
    with pytest.raises(StateError, match="Variables w were lost with it: out of memory"):
        f()
