"""Tapes inside of tapes: when each records, and that everything is put back in whatever order they end."""

import threading

import pytest

import graftax as gx
from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ShapeError, TapeError
from graftax.variables.state.storage import frames
from tests.transforms.tape.numbers import close, number

# --- GT8 to GT14: nesting, and when it records ------------------------------------------------------------------------


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("as_variable", [False, True])
def test_gt8_nested(as_variable):
    x = gx.Variable(3.0) if as_variable else number(3)
    with gx.GradientTape() as outer:
        outer.watch(x)
        with gx.GradientTape() as inner:
            inner.watch(x)
            y = x * x * x
        first = inner.gradient(y, x)
    assert (float(first), float(outer.gradient(first, x))) == (27, 18)
    with gx.GradientTape() as t3:
        t3.watch(x)
        with gx.GradientTape() as t2:
            t2.watch(x)
            with gx.GradientTape() as t1:
                t1.watch(x)
                y = x**4
            d1 = t1.gradient(y, x)
        d2 = t2.gradient(d1, x)
    close([d1, d2, t3.gradient(d2, x)], [108, 108, 72])


def test_outer_tape_sees_the_first_order_too():
    x = number(2)
    with gx.GradientTape(persistent=True) as a:
        a.watch(x)
        with gx.GradientTape() as b:
            b.watch(x)
            y = x**3
        g = b.gradient(y, x)
        z = g * y
    close([a.gradient(y, x), a.gradient(g, x), a.gradient(z, x)], [12, 12, 15 * 2.0**4])


def test_gt9_gradient_inside_its_own_persistent_tape():
    x = number(3)
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x * x
        first = tape.gradient(y, x)
    assert (float(first), float(tape.gradient(first, x))) == (27, 18)


def test_gt10_gradient_inside_its_own_tape():
    x = number(3)
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = x * x * x
        assert float(tape.gradient(y, x)) == 27
        x * x
    with pytest.raises(RuntimeError):
        tape.gradient(y, x)


def test_gt11_stop_recording():
    x = number(3)
    with gx.GradientTape() as tape:
        tape.watch(x)
        with tape.stop_recording():
            assert registry.current().tracing.eager()
            z = 100 * x
        w = x * x + z
    close(tape.gradient(w, x), 6)


def test_stop_recording_of_one_of_two():
    x = number(3)
    with gx.GradientTape() as outer:
        outer.watch(x)
        with gx.GradientTape() as inner:
            inner.watch(x)
            with outer.stop_recording():
                y = x * x
            z = y + x
    close(inner.gradient(z, x), 7)
    close(outer.gradient(z, x), 1)


def test_variables_assigned_while_stopped():
    v = gx.Variable(2.0)
    v.assign(5.0)
    with gx.GradientTape() as tape:
        c = v * v
        with tape.stop_recording():
            v.assign(7.0)
        d = v * v
        total = c + d
    close(tape.gradient(total, v), 2 * 5 + 2 * 7)


def test_gt12_reset_forgets_watches():
    x, v = number(3), gx.Variable(1.0)
    with gx.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * v
        tape.reset()
        assert tape.watched_variables() == ()
        z = 2 * x
        tape.watch(x)
        again = 2 * x * v
    assert tape.gradient(y, x) is None
    assert tape.gradient(z, x) is None
    assert float(tape.gradient(again, x)) == 2
    assert float(tape.gradient(again, v)) == 6


def test_gt13_reset_when_not_recording():
    tape = gx.GradientTape()
    with pytest.raises(ValueError, match="does not record"):
        tape.reset()
    with tape:
        pass
    with pytest.raises(TapeError):
        tape.reset()


def test_gt14_the_same_tape_twice():
    x = number(3)
    tape = gx.GradientTape(persistent=True)
    with tape:
        tape.watch(x)
        y = x * x
    with tape:
        z = y * x  # goes on
        with pytest.raises(ValueError, match="its own block"), tape:
            pass
    close(tape.gradient(z, x), 27)
    once = gx.GradientTape()
    for _ in range(2):
        with once:
            once.watch(x)
            y = x * x
        close(once.gradient(y, x), 6)


# --- in and out in every order ----------------------------------------------------------------------------------------


def test_exceptions_put_everything_back():
    x, v = number(1), gx.Variable(1.0)

    def fails():
        with gx.GradientTape() as a, gx.GradientTape():
            a.watch(x)
            return 1 // int(v * x * 0)

    with pytest.raises(ZeroDivisionError):
        fails()
    assert registry.current().tracing.eager()
    assert frames.top is None
    with gx.GradientTape() as tape:
        y = v * v
        with pytest.raises(ShapeError):
            ops.matmul(ops.ones((1, 3)), ops.ones((4, 1)))
        with pytest.raises(TypeError):
            gx.jit(lambda z: ops.asarray(float(z)))(y)
        z = y * v
    close(tape.gradient(z, v), 3)


def test_exits_in_another_order():
    x, v = number(2), gx.Variable(3.0)
    a, b = gx.GradientTape(), gx.GradientTape()
    a.__enter__()
    a.watch(x)
    b.__enter__()
    b.watch(x)
    y = x * x * v
    a.__exit__(None, None, None)
    z = y * x
    b.__exit__(None, None, None)
    assert registry.current().tracing.eager()
    close(a.gradient(y, [x, v]), [12, 4])
    close(b.gradient(z, [x, v]), [36, 8])


def test_generators():
    v = gx.Variable(3.0)

    def blocks():
        with gx.GradientTape() as tape:
            y = v * v
            yield None
            y = y * v
        yield tape.gradient(y, v)

    one, two = blocks(), blocks()
    next(one)
    next(two)
    close(next(one), 27)
    close(next(two), 27)
    three = blocks()
    next(three)
    three.close()


@pytest.mark.broad
def test_threads():
    wrong = []

    def work(k):
        for i in range(5):
            v = gx.Variable(float(k + i))
            with gx.GradientTape() as tape:
                y = v * v * k
            if float(tape.gradient(y, v)) != 2 * k * (k + i):
                wrong.append((k, i))

    x = number(2)
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        y = y * x
    assert not wrong
    close(tape.gradient(y, x), 12)
