"""Each number that fit and evaluate show has a name of its own, and each metric measures one thing."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, metrics, ops

X = np.array([[-1.5], [-0.5], [0.2], [0.8], [2.0]], "float32")
Y = np.array([[0], [1], [0], [1], [1]], "float32")


class Twice(gx.Model):
    """Two outputs, ``x`` and ``2 x``."""

    def call(self, x):
        return {"a": x, "b": 2 * x}


class Extremes(metrics.Metric):
    """The smallest and the largest prediction."""

    def __init__(self):
        super().__init__()
        self.low = self.add_variable((), np.inf)
        self.high = self.add_variable((), -np.inf)

    def update(self, y_true, y_pred):
        self.low.assign(ops.minimum(self.low, ops.min(y_pred)))
        self.high.assign(ops.maximum(self.high, ops.max(y_pred)))

    def result(self):
        return {"low": self.low.value, "high": self.high.value}


def accuracy(threshold):
    return float(np.mean((threshold < X) == (Y == 1)))


def identity(**options):
    model = gx.Sequential([layers.Activation("linear")])
    model.compile(loss="mse", **options)
    return model


@pytest.mark.broad
def test_several_metrics_of_one_name_are_all_shown():
    thresholds = (-2.0, -1.0, 0.5, 1.0)
    model = identity(metrics=[metrics.BinaryAccuracy(threshold) for threshold in thresholds])
    logs = model.evaluate(X, Y, verbose=0)
    names = ["loss", "binary_accuracy", "also_binary_accuracy", "binary_accuracy_3", "binary_accuracy_4"]
    assert list(logs) == names
    assert [logs[name] for name in names[1:]] == pytest.approx([accuracy(threshold) for threshold in thresholds])


def test_a_metric_called_loss_does_not_hide_the_loss():
    logs = identity(metrics=[metrics.MeanAbsoluteError(name="loss")]).evaluate(X, Y, verbose=0)
    assert logs["loss"] == pytest.approx(float(np.mean((X - Y) ** 2)))
    assert logs["also_loss"] == pytest.approx(float(np.mean(np.abs(X - Y))))


@pytest.mark.broad
def test_a_weighted_metric_of_an_output_has_the_name_that_keras_gives_it():
    model = Twice()
    model.compile(loss="mse", metrics={"b": ["mae"]}, weighted_metrics={"b": ["mae"]})
    weights = np.arange(5, dtype="float32")
    logs = model.evaluate(X, {"a": Y, "b": Y}, sample_weight={"b": weights}, verbose=0)
    errors = np.abs(2 * X - Y)[:, 0]
    assert logs["b_mae"] == pytest.approx(float(errors.mean()))
    assert logs["b_weighted_mae"] == pytest.approx(float((errors * weights).sum() / weights.sum()))


@pytest.mark.broad
def test_results_that_are_dicts_are_told_apart_by_output():
    model = Twice()
    model.compile(loss="mse", metrics={"a": [Extremes()], "b": [Extremes()]})
    logs = model.evaluate(X, {"a": Y, "b": Y}, verbose=0)
    shown = [logs[name] for name in ("a_low", "a_high", "b_low", "b_high")]
    assert shown == pytest.approx([-1.5, 2.0, -3.0, 4.0])


@pytest.mark.broad
def test_a_dict_of_one_output_keeps_its_names_and_hides_nothing():
    logs = identity(metrics=[Extremes(), Extremes()]).evaluate(X, Y, verbose=0)
    assert list(logs) == ["loss", "low", "high", "extremes_low", "extremes_high"]


def test_one_metric_for_two_things_is_refused():
    one = metrics.MeanAbsoluteError()
    with pytest.raises(gx.errors.ArgumentError, match="given twice"):
        Twice().compile(loss="mse", metrics={"a": [one], "b": [one]})
    with pytest.raises(gx.errors.ArgumentError, match="given twice"):
        Twice().compile(loss="mse", metrics={"a": [one]}, weighted_metrics={"a": [one]})


@pytest.mark.broad
def test_one_metric_for_all_outputs_is_refused_and_a_name_is_not():
    model = Twice()
    model.compile(loss="mse", metrics=metrics.MeanAbsoluteError())
    with pytest.raises(gx.errors.ArgumentError, match="given twice"):
        model.evaluate(X, {"a": Y, "b": Y}, verbose=0)
    model.compile(loss="mse", metrics="mae")
    assert {"a_mae", "b_mae"} <= set(model.evaluate(X, {"a": Y, "b": Y}, verbose=0))


def test_a_factor_on_a_loss_that_there_is_not_is_refused():
    with pytest.raises(gx.errors.ArgumentError, match="no loss for 'b'"):
        Twice().compile(loss={"a": "mse"}, loss_weights={"a": 1.0, "b": 2.0})
    with pytest.raises(gx.errors.ArgumentError, match="no loss for 'b'"):
        Twice().compile(loss={"a": "mse", "b": None}, loss_weights={"b": 2.0})
    Twice().compile(loss={"a": "mse"}, loss_weights={"a": 1.0, "b": None})
