"""Targets and predictions made ready for each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError, DTypeError, IndexRangeError, ShapeError
from graftax.objectives import targets


@pytest.mark.broad
@given(shape=array_shapes(min_dims=0, max_dims=3, max_side=4), side=st.sampled_from(["y_true", "y_pred", "none"]))
def test_one_last_axis_of_1_is_dropped(shape, side):
    longer = (*shape, 1)
    pair = targets.pair(np.ones(longer if side == "y_true" else shape), np.ones(longer if side == "y_pred" else shape))
    assert pair[0].shape == pair[1].shape == shape


@given(
    shapes=st.tuples(array_shapes(min_dims=0, max_dims=3, max_side=3), array_shapes(min_dims=0, max_dims=3, max_side=3))
)
def test_nothing_else_is_broadcast(shapes):
    a, b = shapes
    if a == b or (*a, 1) == b or a == (*b, 1):
        assert targets.pair(np.zeros(a), np.zeros(b))[0].shape == min(a, b, key=len)
    else:
        with pytest.raises(ShapeError) as caught:
            targets.pair(np.zeros(a), np.zeros(b))
        assert f"y_true {list(a)}, y_pred {list(b)}" in str(caught.value)


def test_dtypes_follow_the_predictions_and_are_at_least_float32():
    for given_dtype, wanted in (
        ("float16", "float32"),
        ("int32", "float32"),
        ("bool", "float32"),
        ("float32", "float32"),
    ):
        y, p = targets.pair(np.ones(2, "int64"), np.ones(2, given_dtype))
        assert (y.dtype.name, p.dtype.name) == (wanted, wanted)
    assert targets.floating(ops.cast([1.0], "bfloat16")).dtype.name == "float32"
    with pytest.raises(DTypeError, match="complex64"):
        targets.pair(np.ones(2), np.ones(2, "complex64"))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int32", "int64"])
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 1)])
def test_labels_of_any_integer_dtype(dtype, shape):
    labels = targets.class_labels(np.ones(shape, dtype), (2, 3, 300))
    assert labels.shape == (2, 3)
    assert labels.dtype.name == "int32"


def test_labels_along_another_axis():
    assert targets.class_labels(np.zeros((2, 5), int), (2, 4, 5), axis=1).shape == (2, 5)
    with pytest.raises(ShapeError, match=r"axis = 3"):
        targets.class_labels(np.zeros((2, 5), int), (2, 4, 5), axis=3)


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
        targets.class_labels(y_true, shape)


def test_a_label_to_ignore_may_lie_outside():
    assert targets.class_labels([0, -1], (2, 3), ignore_class=-1).tolist() == [0, -1]
    with pytest.raises(IndexRangeError, match=r"labels\[1\] = -2"):
        targets.class_labels([0, -2], (2, 3), ignore_class=-1)


def test_labels_in_place_of_distributions():
    with pytest.raises(ShapeError, match=r"(?s)looks like labels.*ops.one_hot\(y_true, 3\)"):
        targets.class_pair([0, 1], np.ones((2, 3)))


def test_values_are_looked_at_only_where_they_are_at_hand():
    def check(values):
        targets.check_range(values, 0, 1, "p", "why", "instead")
        return values

    with pytest.raises(ArgumentError, match=r"p\[1, 0\] = 1.5"):
        check(ops.asarray([[1.0], [1.5]]))
    check(ops.asarray([1.00001, -0.00001, np.nan]))
    assert gx.jit(check)(np.float32([7.0])).tolist() == [7.0]


@given(data=st.data(), shape=array_shapes(min_dims=1, max_dims=3, max_side=4))
def test_weights_for_rows_or_for_values(data, shape):
    ndim = data.draw(st.integers(0, len(shape)))
    weight = np.arange(np.prod(shape[:ndim]), dtype="float32").reshape(shape[:ndim])
    expected = np.broadcast_to(weight.reshape(shape[:ndim] + (1,) * (len(shape) - ndim)), shape)
    with gx.backend.use("numpy"):  # where no shape is compiled
        np.testing.assert_array_equal(targets.spread(weight, ops.zeros(shape)), expected)
        if ndim == len(shape):
            np.testing.assert_array_equal(targets.spread(weight[..., None], ops.zeros(shape)), expected)


@pytest.mark.parametrize(
    ("weight", "values"), [((3,), (2,)), ((1,), (2,)), ((2, 3), (2,)), ((3,), (2, 3)), ((2,), ()), ((2, 2), (2, 3))]
)
def test_weights_that_do_not_fit(weight, values):
    with pytest.raises(ShapeError, match="sample_weight"):
        targets.spread(np.ones(weight), ops.zeros(values))
