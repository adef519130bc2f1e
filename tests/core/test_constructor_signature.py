"""What tools show as the arguments of a class: those of its constructor."""

import inspect
import pydoc
import re

import pytest

import graftax as gx
from graftax.core.keywords import ConstructorSignature


class WithoutConstructor(gx.Layer):
    """Has that of `Layer`."""

    def call(self, x):
        return x


class WithConstructor(WithoutConstructor):
    """Has its own."""

    def __init__(self, units, *, bias=True):
        super().__init__()


class WithNew(gx.Module):
    """Decides before there is an object."""

    def __new__(cls, first, second=2):
        return super().__new__(cls)


OF_LAYER = "(name: 'str | None' = None, trainable: 'bool' = True, dtype: 'str | DTypePolicy | None' = None) -> 'None'"
SHOWN = [
    (gx.Module, "(name: 'str | None' = None) -> 'None'"),
    (gx.Layer, OF_LAYER),
    (gx.Model, OF_LAYER.replace("(", "(inputs: 'object' = None, outputs: 'object' = None, ", 1)),
    (gx.layers.Add, OF_LAYER),
    (WithoutConstructor, OF_LAYER),
    (WithConstructor, "(units, *, bias=True)"),
    (WithNew, "(first, second=2)"),
    (gx.metrics.Metric, "(name: 'str | None' = None, dtype: 'str' = 'float32') -> 'None'"),
]


@pytest.mark.parametrize(("cls", "expected"), SHOWN)
def test_a11_the_signature_of_a_class_is_that_of_its_constructor(cls, expected):
    assert str(inspect.signature(cls)) == expected
    shown = pydoc.plain(pydoc.render_doc(cls))  # from Python 3.13 on, with an argument on each line
    assert without_lines(f"{cls.__name__}{expected}") in without_lines(shown)


def without_lines(text):
    return re.sub(r"[\s|]+", "", text).replace(",)", ")")


def test_a11_tools_that_ask_new_before_init_find_the_arguments_first():
    """They all look for ``__signature__`` before both."""
    assert str(gx.layers.Dense.__signature__).startswith("(units: 'int', activation:")


def test_a11_an_object_is_called_with_other_arguments_than_its_class():
    layer = gx.layers.Dense(2)
    assert not hasattr(layer, "__signature__")
    assert list(inspect.signature(layer).parameters) == ["args", "kwargs"]


def test_a11_the_descriptor_keeps_out_where_new_comes_first():
    class Base:
        __signature__ = ConstructorSignature()

        def __new__(cls, a):
            return super().__new__(cls)

    assert str(inspect.signature(Base)) == "(a)"
