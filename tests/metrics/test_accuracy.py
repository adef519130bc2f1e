"""Accuracies: what the conformance table does not show."""

import numpy as np
import pytest

import graftax as gx
from graftax import metrics
from graftax.backend import registry
from graftax.core.errors import ArgumentError, IndexRangeError, ShapeError


def test_mt5_exactly_at_the_threshold_counts_as_0():
    metric = metrics.BinaryAccuracy()
    assert float(metric([[1.0], [0.0]], [[0.5], [0.5]])) == 0.5
    logits = metrics.BinaryAccuracy(threshold=0.0)
    assert float(logits([1, 0, 1], [[0.1], [0.0], [0.0]])) == pytest.approx(2 / 3)


@pytest.mark.broad
def test_mt8_ties_count_in_favour_of_the_label():
    flat = np.full((2, 4), 0.25, "float32")
    assert float(metrics.SparseTopKCategoricalAccuracy(k=1)([3, 0], flat)) == 1
    assert float(metrics.SparseCategoricalAccuracy()([3, 0], flat)) == 0.5  # argmax takes the first
    scores = np.float32([[0.4, 0.3, 0.3, 0.0]])
    for label, k, right in ((2, 2, 1), (1, 2, 1), (3, 3, 0), (3, 4, 1)):
        assert float(metrics.SparseTopKCategoricalAccuracy(k=k)([label], scores)) == right
        assert float(metrics.TopKCategoricalAccuracy(k=k)(np.eye(4)[[label]], scores)) == right


def test_nan_is_among_no_first_k():
    assert float(metrics.SparseTopKCategoricalAccuracy(k=3)([0, 1], np.full((2, 3), np.nan, "float32"))) == 0


@pytest.mark.broad
@pytest.mark.parametrize("label", [-1, 3])
def test_labels_out_of_range_raise_and_are_wrong_in_compiled_code(label):
    p = np.float32([[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]])
    for make in (metrics.SparseCategoricalAccuracy, lambda: metrics.SparseTopKCategoricalAccuracy(k=3)):
        with pytest.raises(IndexRangeError, match=rf"labels\[1\] = {label} is not in \[0, 3\)"):
            make().update([2, label], p)
        metric = make()
        assert float(gx.jit(lambda y, p, metric=metric: metric(y, p))(np.int32([2, label]), p)) == 0.5


def test_kinds_that_do_not_fit():
    with pytest.raises(ShapeError, match="categorical variant"):
        metrics.SparseCategoricalAccuracy().update(np.eye(3), np.ones((3, 3)))
    with pytest.raises(ShapeError, match="sparse variant"):
        metrics.CategoricalAccuracy().update([0, 1], np.ones((2, 3)))
    for k in (0, -1, 2.5):
        with pytest.raises(ArgumentError, match="k="):
            metrics.TopKCategoricalAccuracy(k=k)


@pytest.mark.parametrize("name", ["jax", "numpy"])
def test_integers_are_compared_to_the_last_digit(name):
    with registry.use(name):
        assert float(metrics.Accuracy()([2**24 + 1, 3], [2**24, 3])) == 0.5
        assert float(metrics.Accuracy()(np.array([[255], [1]], "uint8"), np.array([-1, 1], "int8"))) == 0.5
        assert float(metrics.Accuracy()([True, False], [1, 1])) == 0.5
        with pytest.raises(ShapeError):
            metrics.Accuracy()([1, 2, 3], [1, 2])


@pytest.mark.parametrize("name", ["jax", "numpy"])
def test_a_prediction_of_nan_is_never_right(name):
    rows = np.float32([[np.nan, 0.1], [0.9, 0.1], [0.1, np.nan], [np.nan, np.nan]])
    with registry.use(name):
        assert float(metrics.SparseCategoricalAccuracy()([0, 0, 1, 0], rows)) == 0.25
        assert float(metrics.CategoricalAccuracy()(np.eye(2)[[0, 0, 1, 0]], rows)) == 0.25
        assert float(metrics.SparseCategoricalAccuracy(axis=0)([0, 1], rows.T[:, :2])) == 0
        assert float(metrics.BinaryAccuracy()([0, 1, 0], np.float32([np.nan, np.nan, 0.1]))) == pytest.approx(1 / 3)
