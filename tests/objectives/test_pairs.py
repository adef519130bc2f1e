"""Targets and predictions made ready for each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

from graftax import ops
from graftax.core.errors import DTypeError, ShapeError
from graftax.objectives import pairs
from graftax.variables import floating


@pytest.mark.broad
@given(shape=array_shapes(min_dims=0, max_dims=3, max_side=4), side=st.sampled_from(["y_true", "y_pred", "none"]))
def test_one_last_axis_of_1_is_dropped(shape, side):
    longer = (*shape, 1)
    pair = pairs.pair(np.ones(longer if side == "y_true" else shape), np.ones(longer if side == "y_pred" else shape))
    assert pair[0].shape == pair[1].shape == shape


@given(
    shapes=st.tuples(array_shapes(min_dims=0, max_dims=3, max_side=3), array_shapes(min_dims=0, max_dims=3, max_side=3))
)
def test_nothing_else_is_broadcast(shapes):
    a, b = shapes
    if a == b or (*a, 1) == b or a == (*b, 1):
        assert pairs.pair(np.zeros(a), np.zeros(b))[0].shape == min(a, b, key=len)
    else:
        with pytest.raises(ShapeError) as caught:
            pairs.pair(np.zeros(a), np.zeros(b))
        assert f"y_true {list(a)}, y_pred {list(b)}" in str(caught.value)


def test_dtypes_follow_the_predictions_and_are_at_least_float32():
    for given_dtype, wanted in (
        ("float16", "float32"),
        ("int32", "float32"),
        ("bool", "float32"),
        ("float32", "float32"),
    ):
        y, p = pairs.pair(np.ones(2, "int64"), np.ones(2, given_dtype))
        assert (y.dtype.name, p.dtype.name) == (wanted, wanted)
    assert floating.to_floating(ops.cast([1.0], "bfloat16")).dtype.name == "float32"
    with pytest.raises(DTypeError, match="complex64"):
        pairs.pair(np.ones(2), np.ones(2, "complex64"))
