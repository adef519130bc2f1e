"""The log of a function that is traced again and again tells what differed between the last two traces."""

import logging

import numpy as np
import pytest

import graftax as gx
from graftax.layers.call_context import call_context


class Rated(gx.Module):
    def __init__(self):
        self.rate = 0

    def scale(self, x):
        return x * self.rate


RATED = Rated()


def with_rate(f, n):
    RATED.rate = n
    f(1.0)


DTYPES = ["bool", "int8", "int16", "int32", "uint8", "float32"]
OFTEN = {
    # a function, how it is called for the n-th time, what the warning of its sixth trace tells
    "shape": (lambda x: x * 2, lambda f, n: f(np.ones(n, "float32")), "(argument x: float32[5] -> float32[6])"),
    "dtype": (lambda x: x, lambda f, n: f(np.ones(2, DTYPES[n - 1])), "(argument x: uint8[2] -> float32[2])"),
    "value": (lambda x, mode: x, lambda f, n: f(1.0, f"m{n}"), "(argument mode: 'm5' -> 'm6')"),
    "longer": (lambda x: x[0], lambda f, n: f([1.0] * n), "(the arguments have another structure: with x/5)"),
    "keys": (lambda x: x["a"], lambda f, n: f({"a": 1.0, f"b{n}": 2.0}), "structure: with x/b6 and without x/b5)"),
    "attribute": (RATED.scale, with_rate, ".rate: 5 -> 6)"),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("kind", OFTEN)
def test_the_warning_of_many_traces(kind, caplog):
    function, call, told = OFTEN[kind]
    f = gx.jit(function)
    with caplog.at_level(logging.WARNING, "graftax"):
        for n in range(1, 7):
            call(f, n)
    (message,) = caplog.messages
    assert "was traced 5 times and goes on (" in message
    assert told in message
    assert "\n" not in message


@pytest.mark.broad
def test_the_warning_of_a_model(caplog):
    model = gx.Sequential([gx.layers.Dense(2)])
    model.compile("sgd", "mse")
    with caplog.at_level(logging.WARNING, "graftax"):
        for n in range(1, 7):
            model.train_on_batch(np.ones((n, 3), "float32"), np.ones((n, 2), "float32"))
    assert "(argument batch/0: float32[5, 3] -> float32[6, 3])" in caplog.messages[0]


def test_a_structure_that_is_another_kind(caplog):
    f = gx.jit(lambda x: x[0])
    f([1.0])
    with caplog.at_level(logging.INFO, "graftax"):
        f((1.0,))
    assert "another structure: a list, tuple or dict changed" in caplog.messages[0]


def test_a_setting_that_changed_is_named(caplog):
    f = gx.jit(lambda x: x * 2)
    f(1.0)
    with caplog.at_level(logging.INFO, "graftax"):
        with call_context(training=True):
            f(1.0)
        g = gx.jit(lambda x: x * 2)
        g(1.0)
        gx.set_dtype_policy("mixed_bfloat16")
        try:
            g(1.0)
        finally:
            gx.set_dtype_policy("float32")
    assert "the training flag of the call around: None -> True" in caplog.messages[0]
    assert "the global dtype policy: 'float32' -> 'mixed_bfloat16'" in caplog.messages[1]
