"""Numbers that fill parts of an array: an array of no axes is one; several numbers, or a computed one, are told so."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentTypeError
from graftax.ops import signatures
from graftax.ops.table import OPS

X = np.arange(6, dtype="float32").reshape(2, 3)
CALLS = {
    "pad": lambda number: ops.pad(X, 1, constant_values=number),
    "select": lambda number: ops.select([X > 3], [X], default=number),
    "image.pad": lambda number: ops.image.pad(X[None, :, :, None], top=1, value=number),
}


def test_every_such_op_has_a_row():
    filled = {name for name, op in OPS.items() for one in signatures.parameters(op) if one.kind.flags}
    assert filled == {*CALLS}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "make", [np.array, np.float32, ops.asarray, gx.Variable], ids="array scalar op variable".split()
)
def test_an_array_of_no_axes_is_a_number(name, make):
    np.testing.assert_array_equal(CALLS[name](make(2.0)), CALLS[name](2.0))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("make", [np.array, ops.asarray], ids=["NumPy", "backend"])
def test_several_numbers_are_refused(name, make):
    with pytest.raises(ArgumentTypeError, match=r"one number fills all, and this has the shape \[2\](.|\n)*ops\.where"):
        CALLS[name](make([1.0, 2.0]))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("wrap", [gx.jit, gx.grad], ids=["jit", "grad"])
def test_a_computed_number_is_refused(name, wrap):
    with pytest.raises(
        ArgumentTypeError, match=r"is computed in a compiled function, or has a gradient(.|\n)*ops\.where"
    ):
        wrap(lambda number: ops.sum(CALLS[name](number)))(ops.asarray(2.0))
