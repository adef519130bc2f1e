"""Values that must lie in a range."""

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.objectives import ranges


def test_values_are_looked_at_only_where_they_are_at_hand():
    def check(values):
        ranges.check_range(values, 0, 1, "p", "why", "instead")
        return values

    with pytest.raises(ArgumentError, match=r"p\[1, 0\] = 1.5"):
        check(ops.asarray([[1.0], [1.5]]))
    check(ops.asarray([1.00001, -0.00001, np.nan]))
    assert gx.jit(check)(np.float32([7.0])).tolist() == [7.0]
