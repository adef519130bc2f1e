"""No metric stops counting where float32 does, at 2**24: after so many batches, the next ones still count."""

import numpy as np
import pytest

from graftax import metrics
from tests.conformance import metric_rows

BEFORE, AFTER = 2**24, 8
LABELS = (np.int32([0, 1]), np.int32([0, 1]))
ROWS = {
    **{name: (row.make, metric_rows.data(row, (1, 5))) for name, row in metric_rows.ROWS.items()},
    "mean": (metrics.Mean, (np.float32([3]),)),
    "sum": (metrics.Sum, (np.float32([3]),)),
    "iou": (lambda: metrics.IoU(2, [0], sparse_y_pred=True), LABELS),
    "mean_iou": (lambda: metrics.MeanIoU(2, sparse_y_pred=True), LABELS),
    "r2": (metrics.R2Score, (np.float32([[1], [3]]), np.float32([[1.5], [2.5]]))),
}
MEANS = {"r2": 1}
"""Which row of the sums is a mean, which does not grow."""


def test_every_metric_is_here():
    made = {type(make()) for make, _ in ROWS.values()}
    bases = {metrics.Metric, metrics.SampleMetric}
    kinds = {one for one in (getattr(metrics, name) for name in dir(metrics)) if isinstance(one, type)}
    assert {one for one in kinds if issubclass(one, metrics.Metric)} - bases <= made


def sums(metric):
    """What it has added up: a number and the rest that rounding took from it, together."""
    (variable,) = metric.variables
    return np.asarray(variable.value).astype("float64").sum(0)


@pytest.mark.in_turn(8)
@pytest.mark.parametrize("name", ROWS)
def test_mt10_batches_after_many(name):
    make, batch = ROWS[name]
    metric = make()
    metric.update(*batch)
    one = sums(metric)
    (variable,) = metric.variables
    many = np.stack([one, 0 * one]) * BEFORE
    if name in MEANS:
        many[:, MEANS[name]] /= BEFORE
    variable.assign(many.astype("float32"))
    before = sums(metric)
    for _ in range(AFTER):
        metric.update(*batch)
    growth, wanted = sums(metric) - before, AFTER * one
    if name in MEANS:
        growth, wanted = (np.delete(part, MEANS[name], 0) for part in (growth, wanted))
    np.testing.assert_allclose(growth, wanted, rtol=0.05, atol=1e-5)
