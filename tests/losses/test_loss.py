"""Loss: reductions, weights, masks, functions."""

import logging

import numpy as np
import pytest

import graftax as gx
from graftax import losses, ops
from graftax.core.errors import ArgumentError, ArgumentTypeError, DataError, GraftaxError, ShapeError

ZEROS, ONE_THREE = np.zeros((2, 1), "float32"), np.float32([[1], [3]])  # squared error 1 and 9


@pytest.mark.parametrize(
    ("reduction", "plain", "weighted", "nothing"),
    [
        ("sum_over_batch_size", 5, 14, 0),
        ("mean_with_sample_weight", 5, 7, 0),
        ("sum", 10, 28, 0),
        ("none", [1, 9], [1, 27], [0, 0]),
    ],
)
def test_reductions_of_section_20(reduction, plain, weighted, nothing):
    loss = losses.MeanSquaredError(reduction=reduction)
    np.testing.assert_array_equal(loss(ZEROS, ONE_THREE), plain)
    np.testing.assert_array_equal(loss(ZEROS, ONE_THREE, [1, 3]), weighted)
    np.testing.assert_array_equal(loss(ZEROS, ONE_THREE, sample_weight=[0.0, 0.0]), nothing)


@pytest.mark.broad
def test_ft2_both_readings_of_weights():
    x, weights = np.arange(5, dtype="float32"), [1, 1, 1, 1, 10]
    assert float(losses.MeanSquaredError()(np.zeros(5), x, weights)) == pytest.approx(34.8)
    mean = losses.MeanSquaredError(reduction="mean_with_sample_weight")
    assert float(mean(np.zeros(5), x, weights)) == pytest.approx(12.43, abs=0.005)


@pytest.mark.broad
def test_ft3_class_weights_as_sample_weights():
    loss = losses.SparseCategoricalCrossentropy(from_logits=True)
    assert float(loss([0, 1, 1, 1], np.zeros((4, 2)), [1, 2, 2, 2])) == pytest.approx(1.2130, abs=5e-5)


def test_sums_of_section_20():
    ones = np.ones((2, 3))
    assert float(losses.MeanSquaredError(reduction="sum")(np.zeros((2, 3)), ones)) == 2
    assert losses.MeanSquaredError(reduction="none")(np.zeros((2, 3)), ones).tolist() == [1, 1]


def test_shapes_of_section_20():
    assert float(losses.MeanSquaredError()([1.0, 2.0], [[1.0], [2.0]])) == 0
    with pytest.raises(ShapeError, match=r"y_true \[2, 3\], y_pred \[3\]"):
        losses.MeanSquaredError()(np.zeros((2, 3)), np.zeros(3))
    with pytest.raises(DataError, match=r"\[0, 3\]"):
        losses.MeanSquaredError()(np.zeros((0, 3)), np.zeros((0, 3)))


@pytest.mark.broad
def test_kl11_masks():
    mse = losses.MeanSquaredError()
    for shape in ((2,), (2, 1), (1, 2, 1)):
        y = np.float32([1, 5]).reshape(shape)
        mask = np.array([True, False]).reshape(shape if shape == (2,) else shape[:-1])
        assert float(mse(y, np.zeros(shape), mask=mask)) == 1
        assert float(mse(y, np.zeros(shape), mask=~mask & mask)) == 0
    assert float(mse([1.0, 5.0], [0.0, 0.0], sample_weight=[3, 3], mask=[1, 0])) == 3


def test_what_a_mask_leaves_out_may_be_nan():
    loss = losses.MeanSquaredError()
    assert float(loss([1.0, np.nan], [0.0, 0.0], mask=[True, False])) == 1


def test_a_mask_finer_than_the_values_raises():
    with pytest.raises(ShapeError, match=r"mask \[2, 3\] for values \[2\]"):
        losses.MeanSquaredError()(np.zeros((2, 3)), np.zeros((2, 3)), mask=np.ones((2, 3), bool))


class Pinball(losses.Loss):
    def __init__(self, quantile, **options):
        super().__init__(**options)
        self.quantile = quantile

    def call(self, y_true, y_pred):
        return ops.maximum(self.quantile * (y_true - y_pred), (self.quantile - 1) * (y_true - y_pred))


def test_a_loss_of_ones_own():
    loss = Pinball(0.9, name="pinball_90")
    assert (loss.name, Pinball(0.5).name) == ("pinball_90", "pinball")
    assert repr(loss) == "Pinball(reduction='sum_over_batch_size', quantile=0.9)"
    assert float(loss([1.0, 1.0], [0.0, 2.0])) == pytest.approx(0.5)


def test_a_plain_attribute_that_changes_is_honoured(caplog):
    loss = Pinball(0.5)
    compiled = gx.jit(lambda p: loss(np.zeros(1, "float32"), p))
    assert float(compiled(np.ones(1, "float32"))) == 0.5
    loss.quantile = 0.75
    with caplog.at_level(logging.INFO, "graftax"):
        assert float(compiled(np.ones(1, "float32"))) == 0.25
    assert "quantile: 0.5 -> 0.75" in caplog.text
    loss.reduction = "none"
    assert compiled(np.ones(1, "float32")).shape == (1,)


def test_structures_reach_call():
    class Gaussian(losses.Loss):
        def call(self, y_true, y_pred):
            mean, log_scale = y_pred
            return ops.square((y_true["x"] - mean) * ops.exp(-log_scale)) + log_scale

    value = Gaussian()({"x": [1.0, 2.0]}, (np.zeros(2, "float16"), np.zeros(2, "float16")))
    assert float(value) == 2.5
    assert str(value.dtype) == "float32"


def test_functions():
    def distance(y_true, y_pred):
        return ops.abs(y_true - y_pred)

    loss = losses.FunctionLoss(distance)
    assert loss.name == "distance"
    assert float(loss([1.0, 2.0], [0.0, 0.0], [1, 10])) == 10.5
    whole = losses.FunctionLoss(lambda y_true, y_pred: ops.max(ops.abs(y_true - y_pred)))
    assert (whole.name, float(whole([1.0, 2.0], [0.0, 0.0]))) == ("function_loss", 2.0)
    with pytest.raises(ShapeError, match="a value of its own"):
        whole([1.0, 2.0], [0.0, 0.0], [1, 10])


def test_targets_of_functions_get_the_dtype_of_floating_predictions():
    seen = []
    loss = losses.FunctionLoss(lambda y, p: seen.append((y.dtype.name, p.dtype.name)) or ops.zeros((1,)))
    loss(np.ones(1, "float16"), np.ones(1, "float16"))
    loss(np.ones(1, "int32"), np.ones(1, "float32"))
    assert seen == [("float32", "float32"), ("int32", "float32")]


def test_what_cannot_be_raises():
    with pytest.raises(ArgumentError, match="'mean_with_sample_weight'"):
        losses.MeanSquaredError(reduction="mean")
    loss = losses.MeanSquaredError()
    loss.reduction = "mean"
    with pytest.raises(ArgumentError, match="reduction='mean'"):
        loss([1.0], [1.0])
    with pytest.raises(NotImplementedError, match=r"must define call\(y_true, y_pred\)"):
        losses.Loss()([1.0], [1.0])
    with pytest.raises(ArgumentTypeError, match="not the class"):
        losses.FunctionLoss(losses.Huber)


@pytest.mark.parametrize("reduction", [None, np.array(["sum"]), ["sum"], 1])
def test_a_reduction_is_a_name(reduction):
    with pytest.raises(GraftaxError, match="reduction="):
        losses.MeanSquaredError(reduction=reduction)
