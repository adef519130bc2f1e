"""Arguments that are no arrays and cannot be hashed: what the message says to write works."""

import dataclasses

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import CompileError


def fields(kind, base):
    """A class with two fields, made a dataclass by ``kind``."""

    class State(base):
        net: gx.Layer
        factor: float

    return kind(State)


class Compared(gx.Module):
    def __init__(self, factor):
        self.factor = factor

    __hash__ = None


class Alone:
    def __eq__(self, other):
        return True

    __hash__ = None


def scaled(state, x):
    return state.net(x) * state.factor


@pytest.mark.parametrize(
    ("make", "told", "instead"),
    [
        (
            lambda: fields(dataclasses.dataclass, object)(None, 2.0),
            "compares its fields",
            "@dataclasses.dataclass(eq=False) above class State(graftax.Module)",
        ),
        (
            lambda: fields(dataclasses.dataclass, gx.Module)(None, 2.0),
            "compares its fields",
            "@dataclasses.dataclass(eq=False) above class State",
        ),
        (Alone, "must be hashable", "class Alone(graftax.Module), without __eq__"),
        (lambda: {1, 2}, "must be hashable", "pass arrays, numbers"),
    ],
)
def test_the_message_shows_the_class_to_write(make, told, instead):
    with pytest.raises(CompileError, match=told) as caught:
        gx.jit(scaled)(make(), np.ones(3, "float32"))
    assert caught.value.instead.startswith(instead)


@pytest.mark.broad
def test_a_dataclass_that_is_a_module_is_followed():
    net = gx.layers.Dense(1, kernel_initializer="ones")
    x = np.ones((1, 3), "float32")
    net(x)
    state = fields(dataclasses.dataclass(eq=False), gx.Module)(net, 2.0)
    step = gx.jit(scaled)
    assert float(step(state, x)[0, 0]) == 6
    state.factor = 3.0
    net.kernel.assign(2 * net.kernel)
    assert float(step(state, x)[0, 0]) == 18


@pytest.mark.broad
def test_a_frozen_dataclass_is_told_apart_by_its_fields():
    @dataclasses.dataclass(frozen=True)
    class Options:
        factor: float

    step = gx.jit(lambda options, x: x * options.factor)
    assert [float(step(Options(factor), 2.0)) for factor in (2.0, 3.0)] == [4, 6]
