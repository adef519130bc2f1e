"""Shapes that do not broadcast are found, and told by the axis that NumPy stumbles over."""

import itertools

import numpy as np
import pytest

from graftax.core.broadcasting import mismatch

SHAPES = [shape for axes in range(4) for shape in itertools.product((1, 2, 3), repeat=axes)]


def test_it_speaks_of_the_shapes_that_numpy_refuses_and_of_no_others() -> None:
    for left, right in itertools.product(SHAPES, repeat=2):
        try:
            np.broadcast_shapes(left, right)
        except ValueError:
            assert mismatch(left, right) is not None, (left, right)
        else:
            assert mismatch(left, right) is None, (left, right)


@pytest.mark.parametrize(
    ("left", "right", "told"),
    [((2, 3), (4,), "axis -1 has size 3 and 4"), ((2, 1, 3), (5, 4, 3), "axis -3 has size 2 and 5")],
)
def test_it_names_the_axis_that_is_nearest_to_the_end(left, right, told) -> None:
    assert told in mismatch(left, right)
