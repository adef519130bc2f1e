"""What is equal for Python and still another program: 0.0 and -0.0; 1, 1.0 and True, wherever a call depends on it."""

import dataclasses
import math

import numpy as np
import pytest

import graftax as gx
from graftax import ops

PAIRS = [(0.0, -0.0), (-0.0, 0.0), (1, 1.0), (1, True), (1.0, True), (0j, -0j), (2, 2.0 + 0j)]


@dataclasses.dataclass(frozen=True)
class Config:
    """Settings, equal if these are."""

    inner: object


def kind_and_sign(value):
    """Say in one number what Python says of a value."""
    if isinstance(value, bool):
        return 1.0
    sign = math.copysign(1, value.imag + value.real if isinstance(value, complex) else value)
    return sign * {int: 2.0, float: 3.0, complex: 4.0}[type(value)]


HELD = {
    "an attribute": (lambda x: x, lambda x: x),
    "a list": (lambda x: [x], lambda x: x[0]),
    "a tuple in a list": (lambda x: [(x,)], lambda x: x[0][0]),
    "a value of a dict": (lambda x: {"a": x}, lambda x: x["a"]),
    "a key of a dict": (lambda x: {x: "a"}, lambda x: next(iter(x))),
    "a set": (lambda x: {x}, lambda x: next(iter(x))),
}


@pytest.mark.in_turn(3, broad=2)
@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_in_an_attribute(held, pair):
    put, take = HELD[held]
    module = gx.Module()
    f = gx.jit(lambda: ops.asarray(kind_and_sign(take(module.held))))
    found = []
    for one in (*pair, *pair):
        module.held = put(one)
        found.append(float(f()))
    assert found == [*map(kind_and_sign, (*pair, *pair))]
    assert f.trace_count == 2


STATIC = {
    "a frozenset": (lambda x: frozenset({x}), lambda x: next(iter(x))),
    "a dataclass": (Config, lambda x: x.inner),
    "a dataclass in a dataclass": (lambda x: Config(Config((x,))), lambda x: x.inner.inner[0]),
}


@pytest.mark.parametrize("held", STATIC)
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_in_an_argument(held, pair):
    put, take = STATIC[held]
    f = gx.jit(lambda given: ops.asarray(kind_and_sign(take(given))))
    assert [float(f(put(one))) for one in (*pair, *pair)] == [*map(kind_and_sign, (*pair, *pair))]
    assert f.trace_count == 2


def test_one_nan_is_like_another():
    module = gx.Module()
    f = gx.jit(lambda: ops.asarray(module.rate) + 1)
    for _ in range(3):
        module.rate = float("nan")
        assert np.isnan(f())
    assert f.trace_count == 1


def test_a_type_of_numbers_is_an_argument_that_stays():
    f = gx.jit(lambda x, kind: ops.cast(x, kind))
    assert [str(f(1.0, kind).dtype) for kind in (np.float16, np.int32, np.float16)] == ["float16", "int32", "float16"]
    assert f.trace_count == 2


def test_layers_of_equal_but_different_settings_share_no_program():
    x = np.asarray([-1.0], "float32")
    layers = [gx.layers.LeakyReLU(slope) for slope in (0.0, -0.0, 0.0)]
    found = [np.signbit(np.asarray(layer(x))).tolist() for layer in layers for _ in range(2)]
    assert found == [[True], [True], [False], [False], [True], [True]]


def test_graphs_of_layers_with_equal_but_different_numbers_share_no_program():
    x = np.asarray([[-1.0]], "float32")
    found = []
    for factor in (0.0, -0.0):
        inputs = gx.Input((1,))
        model = gx.Model(inputs, inputs * factor)
        found += [np.signbit(np.asarray(model(x))).item() for _ in range(2)]
    assert found == [True, True, False, False]
