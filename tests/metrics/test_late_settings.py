"""What is assigned to a metric or a loss after its constructor is used, or refused."""

import inspect

import numpy as np
import pytest

from graftax import losses, metrics
from graftax.backend import registry
from graftax.core.errors import AssignmentError, GraftaxError, MissingAttributeError
from tests.conformance.metric_rows import ROWS, data
from tests.layers.test_late_settings import another

PAIRS = np.array([[0], [0], [1], [1], [1]]), np.float32([[0.1], [0.6], [0.3], [0.55], [0.9]])
CASES = {
    "recall": (lambda **o: metrics.Recall(**o), "threshold", 0.8),
    "precision": (lambda **o: metrics.Precision(**o), "threshold", [0.2, 0.8]),
    "true_positives": (lambda **o: metrics.TruePositives(**o), "thresholds", 0.8),
    "false_negatives": (lambda **o: metrics.FalseNegatives(**o), "thresholds", [0.2, 0.8]),
    "binary_accuracy": (lambda **o: metrics.BinaryAccuracy(**o), "threshold", 0.2),
}


def result(metric):
    return np.asarray(metric(*PAIRS))


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("case", CASES)
def test_a_setting_of_a_metric_counts_when_it_is_assigned_or_is_refused(case):
    make, name, value = CASES[case]
    expected = result(make(**{name: value}))
    assert not np.array_equal(result(make()), expected)
    metric = make()
    try:
        setattr(metric, name, value)
    except (AssignmentError, MissingAttributeError):
        np.testing.assert_array_equal(result(metric), result(make()))
    else:
        np.testing.assert_array_equal(result(metric), expected)


@pytest.mark.broad
@pytest.mark.parametrize(("make", "name"), [(metrics.Recall, "threshold"), (metrics.TruePositives, "thresholds")])
def test_a_threshold_may_change_but_not_how_many_there_are(make, name):
    one, several = make(), make([0.2, 0.5])
    setattr(one, name, 0.8)
    setattr(several, name, [0.8, 0.1])
    assert result(one).tolist() == result(make(0.8)).tolist()
    assert result(several).tolist() == result(make([0.8, 0.1])).tolist()
    for metric, value in ((one, [0.1, 0.2]), (several, 0.5), (several, [0.1])):
        with pytest.raises(AssignmentError, match="where there are"):
            setattr(metric, name, value)
    with pytest.raises(GraftaxError):
        setattr(one, name, "high")


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (metrics.PrecisionAtRecall, "recall"),
        (metrics.RecallAtPrecision, "precision"),
        (metrics.SpecificityAtSensitivity, "sensitivity"),
        (metrics.SensitivityAtSpecificity, "specificity"),
    ],
)
def test_the_least_share_can_be_read_and_is_not_assigned_for_nothing(make, name):
    metric = make(0.5)
    assert getattr(metric, name) == 0.5
    with pytest.raises(MissingAttributeError):
        setattr(metric, name, 0.9)


def test_a_class_of_ones_own_may_assign_what_it_likes():
    class Mine(metrics.Recall):
        def __init__(self):
            super().__init__()
            self.threshold = 0.75

    assert Mine().threshold == 0.75


@pytest.mark.parametrize("kind", [losses.Dice, losses.Tversky])
def test_axes_of_an_overlap(kind):
    y, p = np.ones((2, 3, 4), "float32"), np.full((2, 3, 4), 0.5, "float32")
    loss = kind(axis=1)
    assert loss.axis == (1,)
    with pytest.raises(GraftaxError):
        loss.axis = 2
    mask = np.array([[True, True, False]] * 2)
    np.testing.assert_allclose(loss(y, p, mask=mask), loss(y[:, :2], p[:, :2]), rtol=1e-5)
    assert "axis" in inspect.signature(kind).parameters


ALIKE = {
    # what is given another value makes the same result of these data
    "sparse_top_k": {"ignore_class"},
    "specificity_at_sensitivity": {"from_logits"},
    "precision_at_recall": {"from_logits"},
    "recall_at_precision": {"from_logits"},
}


@pytest.mark.broad
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("name", ROWS)
def test_every_setting_of_every_metric_counts_when_it_is_assigned_or_is_refused(name, late):
    row = ROWS[name]
    pair = data(row)
    with registry.use("numpy"):
        expected = np.asarray(row.make()(*pair))
        for argument in [*inspect.signature(type(row.make())).parameters]:
            metric = row.make()
            value = "float64" if argument == "dtype" else another(argument, getattr(metric, argument))
            if argument == "name" or value is None:
                continue
            if late:
                metric.update(*pair)
            before = getattr(metric, argument)
            try:
                setattr(metric, argument, value)
            except GraftaxError:
                assert getattr(metric, argument) is before
                continue
            metric.reset()
            try:
                found = np.asarray(metric(*pair))
            except GraftaxError:
                continue
            assert argument in ALIKE.get(name, ()) or not np.array_equal(found, expected), argument


def test_curves_have_the_thresholds_that_they_were_made_with():
    for metric in (metrics.AUC(num_thresholds=5), metrics.AUC(thresholds=[0.2]), metrics.RecallAtPrecision(0.5)):
        count = metric.num_thresholds
        for name, value in (("num_thresholds", 7), ("thresholds", [0.3])):
            with pytest.raises(AssignmentError, match="a new metric"):
                setattr(metric, name, value)
        metric.num_thresholds = count


def test_curves_of_a_class_of_ones_own_may_change():
    class Mine(metrics.AUC):
        pass

    metric = Mine()
    metric.num_thresholds = 7
    assert metric.num_thresholds == 7
