"""What `py_function` is given runs later, with the free variables of its call, those of its helpers among them."""

import functools

import pytest

import graftax as gx
from graftax import ops
from graftax.transforms.frozen_closure import frozen_closure


def decorated(fn):
    @functools.wraps(fn)
    def run(*args):
        return fn(*args)

    return run


def made(form, k):
    """Return a function that multiplies by a free variable, and a function that changes that."""

    def change(value):
        nonlocal k
        k = value

    def direct(x):
        return k * x

    def helped(x):
        return direct(x)

    def factor():
        return k

    def recursive(x, n=2):
        return k * x if n == 0 else recursive(x, n - 1)

    forms = {
        "direct": direct,
        "helped": helped,
        "decorated": decorated(direct),
        "partial": functools.partial(direct),
        "partial of a helper": functools.partial(lambda get, x: get() * x, factor),
        "by keyword": functools.partial(lambda x, get: get() * x, get=factor),
        "recursive": recursive,
    }
    return forms[form], change


FORMS = ("direct", "helped", "decorated", "partial", "partial of a helper", "by keyword", "recursive")


@pytest.mark.parametrize("form", FORMS)
def test_what_a_free_variable_becomes_later_does_not_reach_it(form):
    fn, change = made(form, 2.0)
    kept = frozen_closure(fn)
    change(3.0)
    assert (fn(1.0), kept(1.0)) == (3.0, 2.0)


@pytest.mark.in_turn(6)
@pytest.mark.parametrize("compiled", [False, True], ids=["tape", "compiled"])
@pytest.mark.parametrize("form", FORMS)
def test_two_turns_of_a_loop(form, compiled):
    def loop(x):
        fn, change = made(form, 2.0)
        first = gx.py_function(fn, [x], output=gx.ArraySpec(()))
        change(3.0)
        second = gx.py_function(fn, [x], output=gx.ArraySpec(()))
        change(5.0)
        return first + 10 * second

    x = ops.asarray(1.0)
    if compiled:
        assert [float(one) for one in gx.jit(gx.value_and_grad(loop), allow_callback=True)(x)] == [32.0, 32.0]
        return
    with gx.GradientTape() as tape:
        tape.watch(x)
        y = loop(x)
    assert float(tape.gradient(y, x)) == 32.0


def test_what_a_helper_assigns_stays_shared():
    count = 0

    def tick():
        nonlocal count
        count += 1

    def fn(x):
        tick()
        return x * count

    kept = frozen_closure(fn)
    assert [kept(1), kept(1), count] == [1, 2, 2]


def test_names_and_defaults_stay():
    scale = 2

    def fn(x: int, *, more: int = 1) -> int:
        """Multiply."""
        return x * scale + more

    kept = frozen_closure(fn)
    scale = 3
    assert (kept(1), kept(1, more=5), fn(1)) == (3, 7, 4)
    assert (kept.__name__, kept.__doc__, kept.__annotations__) == ("fn", "Multiply.", fn.__annotations__)
    assert frozen_closure(abs) is abs


def test_functions_that_call_each_other():
    base = 1

    def even(n):
        return base if n == 0 else odd(n - 1)

    def odd(n):
        return -base if n == 0 else even(n - 1)

    kept = frozen_closure(even)
    base = 7
    assert (kept(4), even(4), kept(3)) == (1, 7, -1)
