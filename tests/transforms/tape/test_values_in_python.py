"""A Variable that becomes a number of Python or NumPy where a gradient is taken: what is told, and where."""

import math
import warnings

import numpy as np
import pytest

import graftax as gx
from graftax.errors import CompileError

LOSES = {
    "float": float,
    "complex": complex,
    "numpy": lambda v: v.numpy(),
    "asarray": np.asarray,
    "float32": np.float32,
    "math": math.sin,
    "ufunc": np.sin,
}
HAS_NO_GRADIENT = {"int": int, "bool": bool, "text": "{:.3f}".format, "print": str}


@pytest.mark.parametrize("name", LOSES)
def test_a_tape_warns_of_what_loses_the_gradient(name):
    v = gx.Variable(3.0)
    with gx.GradientTape(), pytest.warns(UserWarning, match="became a NumPy array"):
        LOSES[name](v)


@pytest.mark.parametrize("around", [lambda fn, v: gx.grad(fn, v)(), lambda fn, v: gx.jit(fn)()], ids=["grad", "jit"])
@pytest.mark.parametrize("name", LOSES)
def test_functions_refuse_it(name, around):
    v = gx.Variable(3.0)
    with pytest.raises(CompileError):
        around(lambda: LOSES[name](v) * v, v)


@pytest.mark.parametrize("name", HAS_NO_GRADIENT)
def test_a_tape_is_silent_about_what_has_none(name):
    v = gx.Variable(3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with gx.GradientTape() as tape:
            HAS_NO_GRADIENT[name](v)
            loss = v * v
            float(loss), loss.item(), f"{loss:.3f}", bool(loss > 1.0)  # what is logged
        assert float(tape.gradient(loss, v)) == 6.0


def test_a_variable_is_formatted_as_its_value():
    v = gx.Variable(2.5)
    assert f"{v:.3f}|{v:>6}" == "2.500|   2.5"
    assert f"{v}" == str(v)
