"""Metrics by name, and what "accuracy" means."""

import numpy as np
import pytest

from graftax import losses, metrics
from graftax.core.errors import ArgumentError, ArgumentTypeError, ShapeError
from graftax.metrics import registry


@pytest.mark.in_turn(8)
@pytest.mark.parametrize(
    ("y_true", "y_pred", "kind"),
    [
        ((8,), (8,), "binary"),
        ((8,), (8, 1), "binary"),
        ((8, 1), (8, 1), "binary"),
        ((8, 5, 1), (8, 5), "binary"),
        ((8,), (8, 10), "sparse"),
        ((8, 1), (8, 10), "sparse"),
        ((1,), (1, 10), "sparse"),
        ((1, 1), (1, 10), "sparse"),
        ((8, 5), (8, 5, 10), "sparse"),
        ((8, 1), (8, 1, 10), "sparse"),
        ((8, 5, 1), (8, 5, 10), "sparse"),
        ((8, 10), (8, 10), "categorical"),
        ((8, 5, 10), (8, 5, 10), "categorical"),
    ],
)
def test_accuracy_by_shapes(y_true, y_pred, kind):
    assert registry.target_kind(y_true, y_pred) == kind
    metric = metrics.get("accuracy", y_true, y_pred)
    names = {"binary": "BinaryAccuracy", "sparse": "SparseCategoricalAccuracy", "categorical": "CategoricalAccuracy"}
    assert (type(metric).__name__, metric.name) == (names[kind], "accuracy")
    one_hot = kind == "categorical"
    metric.update(np.eye(10)[np.zeros(y_true[:-1], int)] if one_hot else np.zeros(y_true, "int32"), np.ones(y_pred))


def test_shapes_that_fit_nothing():
    with pytest.raises(ShapeError, match=r"targets \[8, 3\], predictions \[8, 10\]"):
        metrics.get("accuracy", (8, 3), (8, 10))


def test_the_loss_knows_better_than_shapes():
    many_labels = metrics.get("acc", (8, 10), (8, 10), losses.BinaryCrossentropy())
    assert isinstance(many_labels, metrics.BinaryAccuracy)
    assert (many_labels.threshold, many_labels.name) == (0.5, "acc")
    logits = metrics.get("accuracy", (8, 1), (8, 1), losses.BinaryCrossentropy(from_logits=True))
    assert logits.threshold == 0
    assert isinstance(
        metrics.get("accuracy", (8,), (8, 3), losses.MeanSquaredError()), metrics.SparseCategoricalAccuracy
    )


def test_crossentropy_by_loss():
    metric = metrics.get("crossentropy", (8,), (8, 3), losses.SparseCategoricalCrossentropy(from_logits=True))
    assert isinstance(metric, metrics.SparseCategoricalCrossentropy)
    assert metric.from_logits
    assert isinstance(metrics.get("ce", (8,), (8, 1)), metrics.BinaryCrossentropy)


@pytest.mark.parametrize("name", ["precision", "recall", "binary_accuracy", "Precision"])
def test_a_threshold_between_probabilities_does_not_meet_logits_of_classes(name):
    for loss in (losses.CategoricalCrossentropy, losses.SparseCategoricalCrossentropy):
        with pytest.raises(ArgumentError, match="logits of classes"):
            metrics.get(name, (8, 3), (8, 3), loss(from_logits=True))
        assert metrics.get(name, (8, 3), (8, 3), loss()).threshold == 0.5
    assert metrics.get(name, (8, 1), (8, 1), losses.BinaryCrossentropy(from_logits=True)).threshold == 0.0


def test_the_first_batch_is_needed():
    assert registry.needs_shapes("accuracy")
    assert not registry.needs_shapes("binary_accuracy")
    assert not registry.needs_shapes(metrics.Accuracy())
    with pytest.raises(ArgumentError, match="without shapes"):
        metrics.get("accuracy")


def test_names_functions_and_metrics():
    assert isinstance(metrics.get("rmse"), metrics.RootMeanSquaredError)
    assert metrics.get("mae").name == "mae"
    assert metrics.get("mean_absolute_error").name == "mean_absolute_error"
    mean = metrics.Mean()
    assert metrics.get(mean) is mean
    assert metrics.get("mae") is not metrics.get("mae")

    def bias(y_true, y_pred):
        return y_pred - y_true

    metric = metrics.get(bias, (2,), (2,))
    assert metric.name == "bias"
    assert float(metric(np.zeros(2), np.ones(2))) == 1


def test_what_is_no_metric():
    with pytest.raises(ArgumentError, match=r"(?s)metric='acuracy'.*accuracy"):
        metrics.get("acuracy")
    with pytest.raises(ArgumentTypeError, match=r"metric=Precision\(\)"):
        metrics.get(metrics.Precision)
    with pytest.raises(ArgumentTypeError, match=r"MeanMetricWrapper\(loss.call\)"):
        metrics.get(losses.Huber())
    with pytest.raises(ArgumentTypeError, match="metric=3"):
        metrics.get(3)
