"""Weights of samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import graftax as gx
from graftax import ops
from graftax.core.errors import ShapeError
from graftax.objectives import sample_weights


@given(data=st.data(), shape=array_shapes(min_dims=1, max_dims=3, max_side=4))
def test_weights_for_rows_or_for_values(data, shape):
    ndim = data.draw(st.integers(0, len(shape)))
    weight = np.arange(np.prod(shape[:ndim]), dtype="float32").reshape(shape[:ndim])
    expected = np.broadcast_to(weight.reshape(shape[:ndim] + (1,) * (len(shape) - ndim)), shape)
    with gx.backend.use("numpy"):  # where no shape is compiled
        np.testing.assert_array_equal(sample_weights.spread(weight, ops.zeros(shape)), expected)
        if ndim == len(shape):
            np.testing.assert_array_equal(sample_weights.spread(weight[..., None], ops.zeros(shape)), expected)


@pytest.mark.parametrize(
    ("weight", "values"), [((3,), (2,)), ((1,), (2,)), ((2, 3), (2,)), ((3,), (2, 3)), ((2,), ()), ((2, 2), (2, 3))]
)
def test_weights_that_do_not_fit(weight, values):
    with pytest.raises(ShapeError, match="sample_weight"):
        sample_weights.spread(np.ones(weight), ops.zeros(values))
