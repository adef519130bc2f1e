"""Losses and metrics called with tables: columns belong together by name, rows by their labels."""

import numpy as np
import pytest

from graftax import losses, metrics
from graftax.errors import DataError
from tests.conformance import loss_rows

pandas = pytest.importorskip("pandas")
RNG = np.random.default_rng(5)
ORDER = [2, 0, 1]
NAMES = list("abc")


def frame(values, columns=NAMES, index=None):
    return pandas.DataFrame(np.asarray(values), columns=list(columns), index=index)


LOSSES = {name: row for name, row in loss_rows.ROWS.items() if row.targets(RNG, (6, 3)).shape == (6, 3)}
METRICS = {
    "mean_squared_error": metrics.MeanSquaredError,
    "binary_accuracy": metrics.BinaryAccuracy,
    "precision": metrics.Precision,
    "auc": metrics.AUC,
    "f1": lambda: metrics.F1Score(average="macro"),
    "r2": metrics.R2Score,
    "pearson": metrics.PearsonCorrelation,
    "iou": lambda: metrics.IoU(3, sparse_y_true=False, sparse_y_pred=False),
    "confusion": metrics.TruePositives,
}


@pytest.mark.parametrize("name", LOSSES)
def test_columns_of_losses_belong_together_by_name(name):
    row = LOSSES[name]
    y, p = row.targets(RNG, (6, 3)), row.predictions(RNG, (6, 3))
    wanted = float(row.make()(y, p))
    assert float(row.make()(frame(y)[[NAMES[i] for i in ORDER]], frame(p))) == pytest.approx(wanted)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_refuse_rows_in_different_orders(name):
    row = LOSSES[name]
    y, p = frame(row.targets(RNG, (6, 3))), frame(row.predictions(RNG, (6, 3)))
    with pytest.raises(DataError, match="same labels in different orders"):
        row.make()(y.iloc[::-1], p)


@pytest.mark.parametrize("name", METRICS)
def test_metrics(name):
    y, p = RNG.integers(0, 2, (6, 3)), RNG.uniform(0.05, 0.95, (6, 3))
    plain, named = METRICS[name](), METRICS[name]()
    plain.update(y, p)
    named.update(frame(y)[[NAMES[i] for i in ORDER]], frame(p))
    np.testing.assert_allclose(np.asarray(named.result()), np.asarray(plain.result()), rtol=1e-6)
    with pytest.raises(DataError, match="same labels in different orders"):
        METRICS[name]().update(frame(y).iloc[::-1], frame(p))


def test_weights_and_means_of_values():
    y, p = pandas.Series(np.arange(4.0)), pandas.Series(np.ones(4))
    weights = pandas.Series([1.0, 0.0, 0.0, 0.0])
    for call in (losses.MeanSquaredError(), metrics.MeanSquaredError()):
        with pytest.raises(DataError, match="sample_weight"):
            call(y, p, sample_weight=weights.iloc[::-1])
    for mean in (metrics.Mean(), metrics.Sum()):
        with pytest.raises(DataError, match="sample_weight"):
            mean(y, sample_weight=weights.iloc[::-1])


def test_other_names_and_other_labels_say_nothing():
    y, p = RNG.normal(size=(2, 4, 3))
    wanted = float(losses.MeanSquaredError()(y, p))
    given = frame(y, "xyz", index=list("abcd")), frame(p)
    assert float(losses.MeanSquaredError()(*given)) == pytest.approx(wanted)


def test_tables_of_polars():
    polars = pytest.importorskip("polars")
    y, p = RNG.normal(size=(2, 4, 3))
    table = polars.DataFrame(dict(zip(NAMES, y.T, strict=True)))
    other = polars.DataFrame({name: p[:, NAMES.index(name)] for name in "cab"})
    wanted = float(losses.MeanSquaredError()(y, p))
    assert float(losses.MeanSquaredError()(table, other)) == pytest.approx(wanted)
    assert float(losses.MeanSquaredError()({"x": table}["x"], p)) == pytest.approx(wanted)
