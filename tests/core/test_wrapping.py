"""Wrapping carries names and documentation, never state."""

import functools
import inspect
import re
from pathlib import Path

import numpy as np

import graftax as gx
from graftax.core.wrapping import carry_names, wraps

PACKAGE = Path(gx.__file__).parent


class Scale:
    """Scale a number."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return self.factor * x


def test_x1_a_wrapper_of_an_object_does_not_take_over_its_state():
    @wraps(Scale(3))
    def run(x):
        return x

    assert "factor" not in vars(run)
    assert run.__doc__ == "Scale a number."
    assert run(2) == 2


def test_the_name_and_the_signature_are_carried():
    def loss(x, y=2):
        """Return a loss."""

    made = carry_names(lambda *args: None, loss)
    assert (made.__name__, made.__doc__) == ("loss", "Return a loss.")
    assert list(inspect.signature(made).parameters) == ["x", "y"]


def test_a_compiled_method_of_an_object_has_the_signature_of_a_method():
    class Scaled(gx.Module):
        @gx.jit
        def scale(self, x, factor=2.0):
            return x * factor

        @gx.jit
        def of_all(*given):
            return given[1]

    scaled = Scaled()
    assert list(inspect.signature(scaled.scale).parameters) == ["x", "factor"]
    assert list(inspect.signature(scaled.of_all).parameters) == ["given"]
    assert list(inspect.signature(Scaled.scale).parameters) == ["self", "x", "factor"]
    assert scaled.scale.__self__ is scaled
    x = np.ones((1, 2), "float32")
    for layer in (gx.layers.Lambda(scaled.scale), gx.layers.Activation(scaled.scale)):
        np.testing.assert_array_equal(layer(x), 2 * x)


def test_x1_a_decorator_of_the_users_own_finds_no_state_in_a_compiled_function():
    compiled = gx.jit(lambda x: x * 2)
    compiled(1.0)

    @functools.wraps(compiled)
    def run(x):
        return -compiled(x)

    assert not {name for name in vars(run) if not name.startswith("__")}
    assert float(gx.jit(run)(3.0)) == -6


def test_x1_nothing_in_the_package_wraps_with_functools():
    pattern = re.compile(r"functools\.(wraps|update_wrapper)\(|from functools import .*\b(wraps|update_wrapper)\b")
    found = [path.name for path in PACKAGE.rglob("*.py") if pattern.search(path.read_text())]
    assert found == ["wrapping.py"]
