"""Labels of classes beside scores."""

import numpy as np
import pytest

import graftax as gx
from graftax.core.errors import DTypeError, IndexRangeError, ShapeError
from graftax.objectives import labels


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int32", "int64"])
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 1)])
def test_labels_of_any_integer_dtype(dtype, shape):
    found = labels.class_labels(np.ones(shape, dtype), (2, 3, 300))
    assert found.shape == (2, 3)
    assert found.dtype.name == "int32"


def test_labels_along_another_axis():
    assert labels.class_labels(np.zeros((2, 5), int), (2, 4, 5), axis=1).shape == (2, 5)
    with pytest.raises(ShapeError, match=r"axis = 3"):
        labels.class_labels(np.zeros((2, 5), int), (2, 4, 5), axis=3)


@pytest.mark.parametrize(
    ("y_true", "shape", "error", "message"),
    [
        ([0, 5], (2, 3), IndexRangeError, r"^labels\[1\] = 5 is not in \[0, 3\)"),
        ([[0], [-1]], (2, 3), IndexRangeError, r"^labels\[1, 0\] = -1 is not in \[0, 3\)"),
        ([0.0, 1.0], (2, 3), DTypeError, r"y_true of dtype float32(?s:.)*ops.cast"),
        ([[1, 0, 0], [0, 1, 0]], (2, 3), ShapeError, "one-hot rows(?s:.)*categorical variant"),
        ([0, 1, 2], (2, 3), ShapeError, r"y_true \[3\], y_pred \[2, 3\]"),
        ([0, 0], (2, 1), ShapeError, "single class"),
        (0, (), ShapeError, "axis"),
    ],
)
def test_labels_that_do_not_fit(y_true, shape, error, message):
    with pytest.raises(error, match=message):
        labels.class_labels(y_true, shape)


def test_a_label_to_ignore_may_lie_outside():
    assert labels.class_labels([0, -1], (2, 3), ignore_class=-1).tolist() == [0, -1]
    with pytest.raises(IndexRangeError, match=r"labels\[1\] = -2"):
        labels.class_labels([0, -2], (2, 3), ignore_class=-1)


def test_labels_in_place_of_distributions():
    with pytest.raises(ShapeError, match=r"(?s)looks like labels.*ops.one_hot\(y_true, 3\)"):
        labels.class_pair([0, 1], np.ones((2, 3)))


def test_labels_that_are_counted_from_1_are_told_so():
    for values, begins in ((np.arange(1, 5), True), (np.arange(5), False)):
        with pytest.raises(IndexRangeError, match="= 4 is not in") as caught:
            labels.check_labels(values, 4)
        assert caught.value.instead.startswith("y - 1") == begins


@pytest.mark.broad
def test_unsigned_labels_do_not_become_the_one_to_ignore():
    given, shares = np.uint32([2**32 - 1, 1]), np.full((2, 3), 1 / 3, "float32")
    loss = gx.losses.SparseCategoricalCrossentropy(ignore_class=-1)
    assert np.isnan(gx.jit(loss)(given, shares))
    with pytest.raises(IndexRangeError):
        gx.metrics.MeanIoU(3, ignore_class=-1, sparse_y_pred=True)(given, np.int32([1, 1]))
    with pytest.raises(IndexRangeError):
        gx.losses.CTC()(np.uint32([[1, 2**32 - 1]]), np.zeros((1, 4, 5), "float32"))
