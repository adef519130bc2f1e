"""Buckets take weights and targets in the shapes that can be meant, and refuse others by their rows."""

from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import DataError

ROWS = [[1, 2, 3], [4], [5, 6]]


def only(*data: Any, **options: Any) -> Any:
    (batch,) = gx.data.bucket(*data, sizes=[4], batch_size=4, shuffle=False, **options)
    return batch


@pytest.mark.parametrize("weights", [[2.0, 3.0, 4.0], [[2.0], [3.0], [4.0]], np.array([[2.0], [3.0], [4.0]])])
def test_one_weight_for_each_sequence_weighs_all_of_its_positions(weights):
    _, _, found = only(ROWS, ROWS, weights)
    np.testing.assert_array_equal(found, [[2, 2, 2, 0], [3, 0, 0, 0], [4, 4, 0, 0]])
    _, _, found = only(ROWS, [0, 1, 2], weights)
    np.testing.assert_array_equal(found, [2, 3, 4])


def test_weights_of_positions_are_those():
    _, _, found = only(ROWS, ROWS, [[1.0, 2.0, 3.0], [4.0], [5.0, 6.0]])
    np.testing.assert_array_equal(found, [[1, 2, 3, 0], [4, 0, 0, 0], [5, 6, 0, 0]])


@pytest.mark.parametrize(
    ("targets", "weights", "said"),
    [
        (ROWS, [[1.0, 2.0], [4.0], [5.0, 6.0]], r"sample_weight\[0\] has shape \(2,\), for a sequence of length 3"),
        (ROWS, [1.0, 1.0, [5.0, 6.0, 7.0]], r"sample_weight\[2\] has shape \(3,\), for a sequence of length 2"),
        ([0, 1, 2], [[1.0, 2.0, 3.0], [4.0], [5.0, 6.0]], r"sample_weight\[0\] has shape \(3,\)"),
    ],
)
def test_weights_of_other_shapes_are_refused(targets, weights, said):
    with pytest.raises(DataError, match=said):
        gx.data.bucket(ROWS, targets, weights)


def test_rows_that_make_no_array_are_refused():
    with pytest.raises(DataError, match=r"y\[0\] has shape \(2,\), and y\[1\] has shape \(1,\)"):
        gx.data.bucket(ROWS, [[1, 2], [4], [5, 6]])
    with pytest.raises(DataError, match=r"x\[0\] has shape \(2,\), and x\[2\] has shape \(3,\), after its first axis"):
        gx.data.bucket([np.ones((3, 2)), np.ones((1, 2)), np.ones((2, 3))], [0, 1, 2])


def test_an_empty_sequence_has_the_dtype_of_the_others():
    x, _ = only([[], [1, 2]], [0, 1])
    assert x.dtype.kind == "i"
    np.testing.assert_array_equal(x, [[0, 0, 0, 0], [1, 2, 0, 0]])
