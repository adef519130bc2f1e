"""Penalties and constraints of weights in half precision are computed in float32, so that none overflows."""

import numpy as np
import pytest

from graftax import constraints, ops, regularizers
from tests.conformance.test_objective_arguments import classes

BIG = np.float16([[3e4, -2e4, 1e4], [-3e4, 0.5, 2e4], [1e4, 1e4, -3e4]])


def of(base):
    return [cls for cls in classes() if issubclass(cls, base)]


@pytest.mark.parametrize("cls", of(regularizers.BaseRegularizer))
def test_l8_penalties_of_half_precision_do_not_overflow(cls):
    penalty = cls(0.01, 0.01) if cls is regularizers.L1L2 else cls(0.01)
    found = penalty(ops.asarray(BIG))
    assert str(found.dtype) == "float32"
    np.testing.assert_allclose(found, penalty(ops.asarray(BIG.astype("float32"))), rtol=1e-5)
    assert np.isfinite(found)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("half", ["float16", "bfloat16"])
@pytest.mark.parametrize("cls", of(constraints.BaseConstraint))
def test_l8_constraints_of_half_precision_do_not_overflow(cls, half):
    value = ops.cast(BIG, half)
    if cls is constraints.Radial:
        value = ops.reshape(value, (3, 3, 1, 1))
    found = cls()(value)
    wanted = cls()(ops.cast(value, "float32"))
    assert str(found.dtype) == half
    assert np.isfinite(np.asarray(wanted)).all()
    np.testing.assert_allclose(ops.cast(found, "float32"), ops.cast(ops.cast(wanted, half), "float32"), rtol=1e-2)
