"""Means and sums."""

import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graftax as gx
from graftax import losses, metrics, ops
from graftax.backend import registry
from graftax.core.errors import ArgumentTypeError, ShapeError


def test_mt2_mean_of_nothing():
    mean = metrics.Mean()
    assert float(mean.result()) == 0
    mean.update(np.zeros((0, 3), "float32"))
    assert (float(mean.result()), float(mean.count)) == (0, 0)


def test_mt3_counts_and_weights():
    mean = metrics.Mean()
    assert (float(mean.total), float(mean.count)) == (0, 0)
    mean.update([2.0, 3.0])
    assert float(mean.count) == 2
    mean.reset()
    mean.update([10.0, 20.0], sample_weight=[1, 0])
    assert (float(mean.total), float(mean.count)) == (10, 1)


@given(
    batches=st.lists(
        st.lists(st.tuples(st.floats(-100, 100, width=32), st.integers(0, 3)), min_size=1, max_size=5), max_size=5
    )
)
def test_any_split_into_batches_is_numpy_average(batches):
    with registry.use("numpy"):
        mean = metrics.Mean()
        for batch in batches:
            mean.update([x for x, _ in batch], sample_weight=[w for _, w in batch])
        values = [pair for batch in batches for pair in batch]
        weights = sum(w for _, w in values)
        expected = sum(x * w for x, w in values) / weights if weights else 0
        assert float(mean.result()) == pytest.approx(expected, rel=1e-5, abs=1e-5)
        assert float(mean.count) == weights


def test_ft1_means_of_batches_weighted_by_their_size():
    mean, squares = metrics.Mean(), np.float32([0, 1, 4, 9, 16])
    for part in (squares[:4], squares[4:]):
        mean.update(part.mean(), sample_weight=len(part))
    assert float(mean.result()) == 6.0


def test_ft2_weighted_metrics():
    x, weights = np.arange(5, dtype="float32"), [1, 1, 1, 1, 10]
    assert float(metrics.MeanAbsoluteError()(np.zeros(5), x)) == 2
    assert float(metrics.MeanAbsoluteError()(np.zeros(5), x, weights)) == pytest.approx(3.2857, abs=5e-5)


def test_weights_for_rows_and_masks():
    mean = metrics.Mean()
    mean.update(np.ones((2, 3)), sample_weight=[1, 2])
    assert (float(mean.total), float(mean.count)) == (9, 9)
    mean.reset()
    mean.update([[1.0, np.nan], [3.0, np.nan]], mask=[[True, False], [True, False]])
    assert (float(mean.total), float(mean.count)) == (4, 2)
    with pytest.raises(ShapeError, match="sample_weight"):
        mean.update([1.0, 2.0], sample_weight=[1, 2, 3])


def test_sum():
    total = metrics.Sum()
    total.update([[1.0, 2.0], [3.0, 4.0]], sample_weight=[1, 10])
    total.update(5)
    assert float(total.result()) == 78
    total.update(2**24)
    for _ in range(4):
        total.update(1)
    assert float(total.result()) == 2**24 + 82


def test_mt10_a_long_stream_of_right_answers():
    accuracy = metrics.Accuracy()
    accuracy.sums.assign([[2.0**24, 2.0**24], [0, 0]])
    for _ in range(3):
        accuracy.update([1], [1])
    assert (float(accuracy.total), float(accuracy.result())) == (2**24 + 4, 1)  # float32 of 2**24 + 3 is even
    assert accuracy.sums.numpy().astype("float64").sum(0).tolist() == [2**24 + 3, 2**24 + 3]


def test_infinite_values_give_an_infinite_mean():
    mean = metrics.Mean()
    mean.update([np.inf, 1.0])
    mean.update(1.0)
    assert float(mean.result()) == np.inf
    mean.reset()
    assert float(mean(2.0)) == 2


def test_functions():
    def worst(y_true, y_pred):
        return ops.max(ops.abs(y_true - y_pred))

    metric = metrics.MeanMetricWrapper(worst)
    assert metric.name == "worst"
    metric.update(np.zeros(4, "float32"), np.full(4, 2, "float32"))
    metric.update(np.zeros(1, "float32"), np.full(1, 7, "float32"))
    assert float(metric.result()) == 3  # (4 * 2 + 1 * 7) / 5
    right = metrics.MeanMetricWrapper(lambda y_true, y_pred: y_true == y_pred, name="right")
    assert float(right(np.array([1, 2]), np.array([1, 0]))) == 0.5
    with pytest.raises(ArgumentTypeError, match="not a class"):
        metrics.MeanMetricWrapper(losses.Huber)


@pytest.mark.broad
def test_an_attribute_that_changes_is_honoured(caplog):
    metric = metrics.BinaryAccuracy()
    step = gx.jit(lambda y, p: metric(y, p))
    ones, middle = np.ones(2, "float32"), np.full(2, 0.4, "float32")
    assert float(step(ones, middle)) == 0
    metric.threshold = 0.25
    with caplog.at_level(logging.INFO, "graftax"):
        assert float(step(ones, middle)) == 0.5
    assert "threshold: 0.5 -> 0.25" in caplog.text


@pytest.mark.parametrize("apart", [{"sample_weight": [1.0, 0.0]}, {"mask": [True, False]}, {"mask": [[True], [False]]}])
def test_one_number_for_a_batch_is_neither_weighted_nor_masked_sample_by_sample(apart):
    metric = metrics.MeanMetricWrapper(lambda y_true, y_pred: ops.mean(ops.abs(y_true - y_pred)))
    with pytest.raises(ShapeError, match=r"(sample_weight|mask)(.|\n)*a value of its own"):
        metric.update([1.0, 5.0], [1.0, 1.0], **apart)
    assert (float(metric.total), float(metric.count)) == (0, 0)
    assert float(metric([1.0, 5.0], [1.0, 1.0], sample_weight=3.0)) == 2
    metric.update([1.0], [1.0])
    assert (float(metric.total), float(metric.count)) == (12, 7)
