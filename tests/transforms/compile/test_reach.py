"""Attributes of Modules are watched wherever a compiled function gets at them, whatever else it reads."""

import functools

import numpy as np
import pytest

import graftax as gx
from graftax.transforms.compile.reach import find_modules


class Margin(gx.Module):
    def __init__(self, below=None):
        super().__init__()
        self.first = True
        self.below = below
        self.v = gx.Variable(1.0, trainable=False)

    def scaled(self, x):
        return x * 10 if self.first else x

    def scaled_below(self, x):
        return self.below.scaled(x)

    @gx.jit
    def compiled(self, x):
        return self.scaled(x)


class Plain:
    def __init__(self, margin):
        self.parts = {"margin": margin}

    def step(self, x):
        return self.parts["margin"].scaled(x)

    __call__ = step


GLOBAL = Margin()


def of_the_file(x):
    return GLOBAL.scaled(x)


def jitted_default(margin):
    def f(x, m=margin):
        return m.scaled(x)

    return lambda x: f(x)


def decorated(margin):
    def f(x):
        return margin.scaled(x)

    @functools.wraps(f)
    def wrapper(*args):
        return f(*args)

    return wrapper


WAYS = {
    "closure": lambda m: lambda x: m.scaled(x),
    "closure and a Variable": lambda m: lambda x: m.scaled(x) * m.v,
    "bound method": lambda m: m.scaled,
    "below": lambda m: Margin(m).scaled_below,
    "list": lambda m: lambda x, held=[m]: held[0].scaled(x),
    "default": jitted_default,
    "partial": lambda m: functools.partial(lambda one, x: one.scaled(x), m),
    "decorated": decorated,
    "method of a plain object": lambda m: Plain(m).step,
    "plain object that is called": Plain,
    "gradient": lambda m: gx.grad(lambda x: m.scaled(x)),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("way", WAYS)
def test_a_change_of_an_attribute_is_seen(way):
    margin = Margin()
    f = gx.jit(WAYS[way](margin))
    found = [float(f(1.0)), float(f(1.0))]
    margin.first = False
    assert [*found, float(f(1.0)), float(f(1.0))] == [10.0, 10.0, 1.0, 1.0]
    assert f.trace_count == 2


def test_a_module_among_the_arguments_is_watched_with_all_below():
    margin = Margin()
    f = gx.jit(lambda b, x: b.scaled(x))
    g = gx.jit(lambda held, x: held["one"][0].scaled_below(x))
    above = {"one": [Margin(margin)]}
    assert (float(f(margin, 1.0)), float(g(above, 1.0))) == (10.0, 10.0)
    margin.first = False
    assert (float(f(margin, 1.0)), float(g(above, 1.0))) == (1.0, 1.0)


def test_a_compiled_method_watches_its_module():
    margin = Margin()
    assert float(margin.compiled(1.0)) == 10.0
    margin.first = False
    assert float(margin.compiled(1.0)) == 1.0


def test_globals_are_watched_of_the_function_and_of_those_in_its_file_that_it_names():
    f, g = gx.jit(of_the_file), gx.jit(lambda x: of_the_file(x))
    try:
        assert (float(f(1.0)), float(g(1.0))) == (10.0, 10.0)
        GLOBAL.first = False
        assert (float(f(1.0)), float(g(1.0))) == (1.0, 1.0)
    finally:
        GLOBAL.first = True


def test_what_it_finds_comes_once_and_circles_end():
    margin = Margin()
    held = [margin, {"again": margin}]
    held.append(held)

    def f():
        return f, held, np.ones(3)

    assert find_modules([f, margin])[0] == [margin]


class Slotted:
    """A plain object that keeps a Module in a slot."""

    __slots__ = ("margin",)

    def __init__(self, margin):
        self.margin = margin

    def __call__(self, x):
        return self.margin.scaled(x)


def by_class(margin, bound):
    """Return a function that finds a Module in an attribute of a class."""

    class Shared:
        held = margin

        @classmethod
        def of_class(cls, x):
            return cls.held.scaled(x)

        def of_object(self, x):
            return self.held.scaled(x)

    return Shared.of_class if bound == "class" else Shared().of_object, Shared


def test_a_module_in_a_slot_of_a_plain_object():
    margin = Margin()
    f = gx.jit(Slotted(margin))
    assert float(f(1.0)) == 10.0
    margin.first = False
    assert float(f(1.0)) == 1.0


@pytest.mark.parametrize("bound", ["class", "object"])
def test_a_module_in_an_attribute_of_a_class(bound):
    margin, other = Margin(), Margin()
    method, kind = by_class(margin, bound)
    f = gx.jit(method)
    assert float(f(1.0)) == 10.0
    margin.first = False
    assert float(f(1.0)) == 1.0
    kind.held = other
    assert (float(f(1.0)), f.trace_count) == (10.0, 3)
    other.first = False
    assert float(f(1.0)) == 1.0
