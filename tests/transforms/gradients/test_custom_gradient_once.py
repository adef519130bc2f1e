"""Functions with gradients of their own run once a call: what changes around them afterwards does not matter."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import CompileError, GradientError

runs: list[float] = []


def in_a_loop(x):
    """13 x; a rule that is told late would see the last ``k`` only."""
    total = 0.0
    for k in (2.0, 3.0):

        @gx.custom_gradient
        def times(x):
            runs.append(k)  # noqa: B023
            c = k  # noqa: B023
            return x * c, lambda dy: dy * c * k  # noqa: B023

        total = total + times(x)
    return total


def with_a_list(x):
    """The same with a list that changes: in the function, and in its rule."""
    kept = [2.0]

    @gx.custom_gradient
    def times(x):
        runs.append(kept[0])
        c = kept[0]
        return x * c, lambda dy: dy * c * kept[0]

    total = times(x)
    kept[0] = 3.0
    total = total + times(x)
    kept[0] = 100.0
    return total


def by_tape(fn):
    def run(x):
        x = ops.asarray(x)
        with gx.GradientTape() as tape:
            tape.watch(x)
            y = fn(x)
        return tape.gradient(y, x)

    return run


def by_minimize(compiled):
    def way(fn):
        def run(x):
            w, optimizer = gx.Variable(x), gx.optimizers.SGD(1.0)
            step = compiled(lambda: optimizer.minimize(lambda: fn(w), [w]))
            step()
            return x - w.value

        return run

    return way


WAYS = {
    "grad": gx.grad,
    "jit of grad": lambda fn: gx.jit(gx.grad(fn)),
    "grad of jit": lambda fn: gx.grad(gx.jit(fn)),
    "tape": by_tape,
    "tape around jit": lambda fn: by_tape(gx.jit(fn)),
    "jit of tape": lambda fn: gx.jit(by_tape(fn)),
    "rows": lambda fn: lambda x: gx.vectorized_map(gx.grad(fn), ops.full((2,), x))[1],
    "grad of rows": lambda fn: lambda x: gx.grad(lambda x: ops.sum(gx.vectorized_map(fn, x)))(ops.full((2,), x))[0],
    "scan": lambda fn: gx.grad(lambda x: gx.scan(lambda c, _: (c + fn(x) / 4, None), 0.0, length=4)[0]),
    "remat": lambda fn: gx.grad(gx.remat(fn)),
    "minimize": by_minimize(lambda fn: fn),
    "compiled minimize": by_minimize(gx.jit),
    "implicit": lambda fn: lambda x: gx.implicit_gradients(lambda v: fn(v))(gx.Variable(x))[0][0],
    "jacobian": lambda fn: lambda x: gx.jacobian(fn, x),
}


@pytest.mark.in_turn(9)
@pytest.mark.parametrize("fn", [in_a_loop, with_a_list])
@pytest.mark.parametrize("way", WAYS)
def test_x12_the_surroundings_count_as_they_are_at_the_call(way, fn):
    runs.clear()
    np.testing.assert_allclose(WAYS[way](fn)(1.0), 13, rtol=1e-6)
    assert runs == [2, 3]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("order", ["grad of grad", "jit", "tapes"])
def test_x12_second_derivatives(order):
    def cube(x):
        return in_a_loop(x) * x * x

    def nested(x):
        with gx.GradientTape() as outer:
            outer.watch(x)
            first = by_tape(cube)(x)
        return outer.gradient(first, x)

    second = {"grad of grad": gx.grad(gx.grad(cube)), "jit": gx.jit(gx.grad(gx.grad(cube))), "tapes": nested}[order]
    # the value grows by 5 x, the told gradient is 13: d(5 x^3) counts as 2 x 5 x + 13 x^2, and again with both
    first = 10.0 + 13.0
    assert float(gx.grad(cube)(1.0)) == first
    np.testing.assert_allclose(second(ops.asarray(1.0)), 2 * 5 + 2 * 13 + 2 * 13, rtol=1e-6)


@pytest.mark.broad
def test_x12_a_loop_that_reads_variables():
    variables = [gx.Variable(2.0), gx.Variable(3.0)]

    def fn(x):
        total = 0.0
        for v in variables:

            @gx.custom_gradient
            def times(x):
                return x * v, lambda dy, variables: (dy * v * v, [dy * x * 10])  # noqa: B023

            total = total + times(x)
        return total

    def tape():
        with gx.GradientTape() as tape:
            y = fn(ops.asarray(1.0))
        return tape.gradient(y, variables)

    for ways in (gx.jit(gx.grad(fn)), gx.grad(gx.jit(fn)), gx.jit(lambda x: gx.grad(gx.jit(fn))(x))):
        np.testing.assert_allclose(ways(1.0), 4 + 9)
    for ways in (
        gx.jit(gx.grad(lambda: fn(1.0), wrt=variables)),
        gx.grad(lambda: gx.jit(fn)(1.0), wrt=variables),
        tape,
        gx.jit(tape),
    ):
        np.testing.assert_allclose(ways(), [10, 10])


@pytest.mark.parametrize("way", ["grad", "jit of grad", "grad of jit", "tape", "jit of tape"])
def test_x12_a_variable_that_was_assigned_hands_its_gradient_on(way):
    v = gx.Variable(2.0)

    @gx.custom_gradient
    def times(x):
        return x * v, lambda dy, variables: (dy * v, [dy * x * 10])

    def program(x):
        v.assign(x * x)
        return times(ops.asarray(1.0))

    assert float(WAYS[way](program)(3.0)) == 10 * 2 * 3


class Chosen:
    """A function that decides by a value, with something around it that changes."""

    def __init__(self):
        self.factor, self.runs = 2.0, 0

    def __call__(self, x):
        @gx.custom_gradient
        def fn(x):
            self.runs += 1
            c = self.factor
            return (x * c if x > 0 else x), lambda dy: dy * c * 10

        return fn(x)


@pytest.mark.parametrize("way", ["tape", "grad"])
def test_x12_python_that_asks_for_values_keeps_the_run_that_had_them(way):
    chosen = Chosen()

    def fn(x):
        y = chosen(x)
        chosen.factor = 5.0
        return y

    with pytest.raises(CompileError, match="needs the value of a traced array"):
        gx.jit(gx.grad(fn))(1.0)
    chosen.factor = 2.0
    np.testing.assert_allclose(WAYS[way](fn)(1.0), 20)
    chosen.factor = 2.0
    np.testing.assert_allclose(gx.grad(gx.grad(lambda x: fn(x) * x))(1.0), 2 * 20)  # (2 x)' is told as 20


def test_x12_what_a_tape_cannot_know_raises():
    x, chosen = ops.asarray(1.0), Chosen()
    with gx.GradientTape() as outer:
        outer.watch(x)
        with gx.GradientTape(persistent=True) as inner:
            inner.watch(x)
            y = chosen(x)
        with pytest.raises(GradientError, match="a gradient of the gradient of .*whose Python asks for values"):
            inner.gradient(y, x)
        with outer.stop_recording():
            np.testing.assert_allclose(inner.gradient(y, x), 20)
    np.testing.assert_allclose(outer.gradient(y, x), 20)


ASSIGNING = [("grad", None), ("tape", None), ("jit of grad", None), ("scan", None), ("grad", bool), ("tape", bool)]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(("way", "asks"), ASSIGNING)
def test_x12_what_is_assigned_inside_carries_its_own_gradient(way, asks):
    seen = gx.Variable(0.0, trainable=False, name="seen")

    def total(x, asks=asks):
        @gx.custom_gradient
        def fn(x):
            if asks:
                asks(x > 0 if asks is bool else x)
            seen.assign(x * x)
            return x, lambda dy: dy * 100

        return fn(x) + seen

    np.testing.assert_allclose(WAYS[way](total)(3.0), 100 + 6, rtol=1e-6)
    if way == "grad":
        with pytest.raises(GradientError, match=r"(?s)asks for values, assigns 'seen'.*instead: .*assign it outside"):
            gx.grad(lambda x: total(x, float))(3.0)


@pytest.mark.broad
def test_x12_a_gradient_for_what_is_told_nothing_about_raises():
    held = gx.Variable(1.0, trainable=False, name="held")

    @gx.custom_gradient
    def fn(x):
        return x * held, lambda dy: dy * held

    def program(x):
        held.assign(x * 2)
        return fn(x)

    for way in ("grad", "jit of grad", "grad of jit", "tape", "scan"):
        with pytest.raises(GradientError, match=r"(?s)reads 'held', which is not trainable.*instead: pass its value"):
            WAYS[way](program)(1.0)
    held.assign(3.0)
    np.testing.assert_allclose(gx.grad(fn)(1.0), 3)  # as a constant it may


PARTS = {
    "remat": lambda fn, x: gx.remat(fn)(x),
    "recompute_grad": lambda fn, x: gx.recompute_grad(fn)(x),
    "jit": lambda fn, x: gx.jit(fn)(x),
    "cond": lambda fn, x: gx.cond(x > 0, fn, lambda x: x, x),
    "while_loop": lambda fn, x: gx.while_loop(
        lambda c: c[1] < 1, lambda c: (fn(c[0]), c[1] + 1), (x, 0), maximum_iterations=1
    )[0],
    "scan": lambda fn, x: gx.scan(lambda c, _: (c, fn(x)), 0.0, length=1)[1][0],
    "rows": lambda fn, x: gx.vectorized_map(fn, ops.reshape(x, (1,)))[0],
    "py_function": lambda fn, x: gx.py_function(fn, [x]),
}


@pytest.mark.broad
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("part", PARTS)
def test_x12_whatever_takes_a_function_runs_it_with_what_it_is_handed(part):
    """Of a loop, each function has the number that there was when it was handed over; so has one that runs later."""

    def closing_over(x):
        total = 0.0
        for k in (2.0, 3.0):
            total = total + PARTS[part](lambda x: x * x * k, x)  # noqa: B023
        return total

    for way in (
        gx.grad(closing_over),
        gx.jit(gx.grad(closing_over), allow_callback=True),
        gx.grad(gx.jit(closing_over, allow_callback=True)),
    ):
        np.testing.assert_allclose(way(1.0), 10, rtol=1e-6)
    np.testing.assert_allclose(by_tape(closing_over)(1.0), 10, rtol=1e-6)
    assert float(gx.jit(closing_over, allow_callback=True)(1.0)) == 5
