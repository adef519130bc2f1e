"""Losses and metrics by output, without a model around them."""

import numpy as np
import pytest

from graftax import losses, metrics
from graftax.core.errors import ArgumentError, ArgumentTypeError, DataError
from graftax.training.objectives import Objectives
from graftax.training.outputs import ONLY, outputs_of, per_output, targets_of

Y = np.float32([[1.0], [3.0]])
P = np.float32([[0.0], [1.0]])  # squared errors 1 and 4, absolute errors 1 and 2


def objectives(loss="mse", metrics=None, weighted=None, factors=None):
    return Objectives(None, loss, metrics, weighted, factors)


def numbers(found):
    return {name: round(float(value), 5) for name, value in found.items()}


def test_one_output_has_one_loss_and_its_metrics_count_every_sample_alike():
    one = objectives(metrics=["mae"], weighted=["mae"])
    weight = np.float32([1, 3])
    assert float(one.loss(Y, P, weight, None)) == pytest.approx((1 + 12) / 2)
    one.update(Y, P, weight, None)
    found = numbers(one.results())
    assert found.pop("loss") == 0  # the step updates it, with what layers add
    assert sorted(found.values()) == [1.5, 1.75]
    one.reset()
    assert set(numbers(one.results()).values()) == {0}


def test_losses_of_several_outputs_are_added_with_their_factors():
    by_name = objectives({"a": "mse", "b": "mae"}, factors={"b": 10.0})
    outputs = {"a": P, "b": P, "c": P}
    assert float(by_name.loss({"a": Y, "b": Y}, outputs, None, None)) == pytest.approx(2.5 + 15)
    assert numbers(by_name.results()) == {"loss": 0, "a_loss": 2.5, "b_loss": 1.5}
    assert [metric.name for metric in by_name.metrics] == ["loss", "a_loss", "b_loss"]


def test_a_list_goes_by_position_and_none_is_no_loss():
    both = objectives(["mse", None])
    assert float(both.loss([Y], [P, P], None, None)) == pytest.approx(2.5)
    with pytest.raises(DataError, match="the output 'output_0' has a loss"):
        both.loss({"output_1": Y}, [P, P], None, None)


def test_masks_leave_rows_out_of_loss_and_metrics():
    one = objectives(metrics=["mae"])
    mask = np.bool_([True, False])
    assert float(one.loss(Y, P, None, mask)) == pytest.approx(1)
    one.update(Y, P, None, mask)
    assert numbers(one.results())["mae"] == 1


def test_without_a_loss_there_is_none_and_metrics_count():
    none = objectives(None, metrics=["mae"])
    assert none.loss(None, P, None, None) is None
    none.update(Y, P, None, None)
    assert numbers(none.results())["mae"] == 1.5


def test_labels_are_looked_at_only_where_a_loss_or_metric_can_tell():
    assert not objectives("mse").looks
    sparse = objectives(losses.SparseCategoricalCrossentropy())
    assert sparse.looks
    sparse.check_targets(np.int32([0, 1]), np.ones((2, 2), "float32"))
    with pytest.raises(IndexError, match="2"):
        sparse.check_targets(np.int32([0, 2]), np.ones((2, 2), "float32"))
    sparse.check_targets(np.int32([0, 2]), np.ones((2, 2), "float32"), np.float32([1, 0]))  # a weight of 0 hides it
    assert objectives("mse", metrics=["accuracy"]).looks


def test_targets_and_weights_that_nothing_uses_are_refused():
    with pytest.raises(DataError, match="b"):
        objectives({"a": "mse"}).require_used({"a": Y, "b": Y}, {"a": P, "b": P}, None)
    objectives({"a": "mse"}, metrics={"b": ["mae"]}).require_used({"a": Y, "b": Y}, {"a": P, "b": P}, None)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"loss": []}, ArgumentError),
        ({"loss": "msse"}, ArgumentError),
        ({"metrics": ["accuraccy"]}, ArgumentError),
        ({"factors": 2.0}, ArgumentTypeError),
        ({"factors": [np.nan]}, ArgumentError),
        ({"factors": ["2"]}, ArgumentError),
        ({"loss": None, "factors": [1.0]}, ArgumentError),
        ({"loss": {"a": "mse"}, "factors": {"b": 1.0}}, ArgumentError),
    ],
)
def test_mistakes_are_told_before_there_is_a_batch(options, error):
    with pytest.raises(error):
        objectives(**options)


def test_the_same_metric_twice_is_refused():
    mean = metrics.MeanAbsoluteError()
    with pytest.raises(ArgumentError):
        objectives(metrics=[mean], weighted=[mean])


# --- what is given for each output ------------------------------------------------------------------------------------


def test_outputs_have_names():
    assert outputs_of(P, "y_pred") == {ONLY: P}
    assert list(outputs_of([P, P], "y_pred")) == ["output_0", "output_1"]
    assert list(outputs_of({"z": P, "a": P}, "y_pred")) == ["z", "a"]
    for what, said in (("y_pred", "the model returned None"), ("y", "y is missing")):
        with pytest.raises(DataError, match=said):
            outputs_of(None, what)


def test_targets_fit_the_outputs():
    assert targets_of([Y], [ONLY]) == {ONLY: Y}
    with pytest.raises(DataError, match="the outputs are 'a'"):
        targets_of({"b": Y}, ["a"])
    with pytest.raises(DataError, match="one output, without a name"):
        targets_of({"b": Y}, [ONLY])


def test_what_is_given_for_outputs_goes_by_name_position_or_for_all():
    names = ["a", "b"]
    assert per_output({"b": 2}, names, "loss", 1) == {"a": 1, "b": 2}
    assert per_output([3, 4], names, "loss", 1) == {"a": 3, "b": 4}
    assert per_output("mse", names, "loss", None) == {"a": "mse", "b": "mse"}
    with pytest.raises(ArgumentError, match="the outputs are 'a', 'b'"):
        per_output({"c": 1}, names, "loss", 1)
    with pytest.raises(ArgumentError, match="a list of 1"):
        per_output([1], names, "loss", 1)


@pytest.mark.parametrize(
    ("outputs", "y", "instead"),
    [
        ({"a": P, "b": P}, [Y, Y], "y={'a': ..., 'b': ...}"),
        (
            {"a": P, "b": P},
            (Y,),
            "y={'a': ..., 'b': ...}; y={'a': y, 'b': y}, if all are compared with the same targets",
        ),
        (P, [Y, Y], "one array as y"),
        ([P, P], [Y, Y, Y], "y={'output_0': ..., 'output_1': ...}"),
    ],
    ids=["dict", "tuple", "one", "list"],
)
def test_a_list_of_targets_has_no_names_that_the_model_has_not(outputs, y, instead):
    names = list(outputs_of(outputs, "y_pred"))
    with pytest.raises(DataError) as caught:
        targets_of(y, names)
    assert caught.value.received == f"a {type(y).__name__} of {len(y)} targets"
    assert caught.value.instead == instead
    assert all(name in names for name in ("output_0", "output_1", "output_2") if name in str(caught.value))
