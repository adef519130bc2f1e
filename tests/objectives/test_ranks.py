"""Targets (n,) beside predictions (n, 1): functions of one's own get both with the same axes, too."""

from typing import Any

import numpy as np
import pytest

import graftax as gx
from graftax import layers, losses, metrics, ops

PREDICTIONS = np.arange(8, dtype="float32")[:, None]
TARGETS = 2 * PREDICTIONS[:, 0] + 1
WANTED = float(np.mean((TARGETS - PREDICTIONS[:, 0]) ** 2))


def squares(y_true: Any, y_pred: Any) -> Any:
    return ops.square(y_true - y_pred)


def mean_of_squares(y_true: Any, y_pred: Any) -> Any:
    return ops.mean(ops.square(y_true - y_pred))


class Squares(losses.Loss):
    def call(self, y_true: Any, y_pred: Any) -> Any:
        return squares(y_true, y_pred)


class SquaresMetric(metrics.SampleMetric):
    def values(self, y_true: Any, y_pred: Any) -> Any:
        return squares(y_true, y_pred)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("shapes", [((8,), (8, 1)), ((8, 1), (8,)), ((2, 4), (2, 4, 1)), ((2, 2, 2), (2, 2, 2, 1))])
@pytest.mark.parametrize(
    "objective",
    [
        lambda: losses.FunctionLoss(squares),
        lambda: losses.FunctionLoss(mean_of_squares),
        Squares,
        lambda: metrics.MeanMetricWrapper(squares),
        lambda: metrics.MeanMetricWrapper(mean_of_squares),
        SquaresMetric,
    ],
)
def test_targets_come_with_the_axes_of_the_predictions(objective: Any, shapes: Any) -> None:
    y_true, y_pred = TARGETS.reshape(shapes[0]), PREDICTIONS.reshape(shapes[1])
    assert float(objective()(y_true, y_pred)) == pytest.approx(WANTED)


@pytest.mark.parametrize("objective", [lambda: losses.FunctionLoss(squares), Squares, SquaresMetric])
def test_weights_and_masks_go_with_them(objective: Any) -> None:
    weight = np.array([1.0] + [0.0] * 7, "float32")
    keep = weight > 0
    assert float(objective()(TARGETS, PREDICTIONS, mask=keep)) == 1.0
    one = objective()
    if isinstance(one, losses.Loss):
        one.reduction = "sum"
    assert float(one(TARGETS, PREDICTIONS, sample_weight=weight)) == 1.0


def test_labels_and_structures_stay() -> None:
    seen: list[Any] = []

    def look(y_true: Any, y_pred: Any) -> Any:
        seen.append(tuple(y_true["a"].shape) if isinstance(y_true, dict) else tuple(y_true.shape))
        return ops.sum(y_pred["a"] if isinstance(y_pred, dict) else y_pred)

    loss = losses.FunctionLoss(look)
    loss(np.zeros(4, "int32"), np.zeros((4, 3), "float32"))
    loss(np.zeros((4, 1), "int32"), np.zeros((4, 3), "float32"))
    loss({"a": np.zeros(4, "float32")}, {"a": np.zeros((4, 1), "float32")})
    assert seen == [(4,), (4, 1), (4,)]


def test_labels_of_losses_that_compare_samples_stay() -> None:
    class Pairs(losses.Loss):
        compares = True

        def call(self, y_true: Any, y_pred: Any) -> Any:
            assert y_true.shape == (3,)
            return y_pred[:, 0]

    assert float(Pairs()(np.arange(3), np.ones((3, 1), "float32"))) == 1.0


@pytest.mark.broad
def test_fit_and_evaluate_with_functions_of_ones_own() -> None:
    model = gx.Sequential([layers.Dense(1)])
    model.compile(loss=lambda t, p: ops.mean(ops.square(t - p)), metrics=[squares, "mse"], optimizer="sgd")
    found = model.evaluate(PREDICTIONS, TARGETS, batch_size=4, verbose=0)
    assert found["squares"] == pytest.approx(found["mse"], rel=1e-5)
    assert found["loss"] == pytest.approx(found["mse"], rel=1e-5)


def test_functions_of_the_package_keep_their_shapes() -> None:
    y_true, y_pred = TARGETS.reshape(2, 4), PREDICTIONS.reshape(2, 4, 1)
    loss = losses.FunctionLoss(losses.mean_squared_error, reduction="none")
    assert loss(y_true, y_pred).shape == losses.MeanSquaredError(reduction="none")(y_true, y_pred).shape == (2,)


def classes_of(space: Any, base: Any) -> list[Any]:
    return [
        kind
        for name in dir(space)
        if isinstance(kind := getattr(space, name), type)
        and issubclass(kind, base)
        and kind.__module__ != base.__module__
    ]


EVERY = [*classes_of(losses, losses.Loss), *classes_of(metrics, metrics.Metric)]


def outcome(kind: Any, y_true: Any, y_pred: Any) -> Any:
    """The number, or the class of the error; None where the class needs arguments."""
    try:
        objective = kind()
    except TypeError:
        return None
    try:
        return np.asarray(objective(y_true, y_pred), "float64")
    except gx.errors.GraftaxError as error:
        return type(error)


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: f"{kind.__module__.split('.')[1]}-{kind.__name__}")
def test_every_loss_and_metric_takes_a_missing_last_axis_as_one(kind: Any) -> None:
    """Targets (n,) beside predictions (n, 1) are targets (n, 1), also where a formula goes along the last axis."""
    rng = np.random.default_rng(0)
    y_true, y_pred = np.float32([0, 1, 1, 0, 1, 0]), rng.uniform(0.1, 0.9, (6, 1)).astype("float32")
    for shape in ((6,), (2, 3)):
        less, full, predictions = y_true.reshape(shape), y_true.reshape(*shape, 1), y_pred.reshape(*shape, 1)
        found = [
            outcome(kind, less, predictions), outcome(kind, full, predictions), outcome(kind, full, predictions[..., 0])
        ]  # fmt: skip
        numbers = [one for one in found if isinstance(one, np.ndarray)]
        assert len(numbers) in (0, 3), found
        for one in numbers:
            np.testing.assert_allclose(one, numbers[0], rtol=1e-5, atol=1e-7)
