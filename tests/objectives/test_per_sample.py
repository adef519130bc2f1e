"""The formulas at their edges; in between, the conformance tables compare them with float64."""

import math

import numpy as np
import pytest

import graftax as gx
from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.objectives import per_sample


@pytest.mark.parametrize(
    ("formula", "y_true", "y_pred", "expected"),
    [
        (per_sample.binary_crossentropy, [[1.0]], [[0.0]], 16.118095),
        (per_sample.mean_absolute_percentage_error, [[0.0]], [[1.0]], 1e9),
        (per_sample.poisson, [[2.0]], [[0.0]], 32.236191),
        (per_sample.log_cosh, [[0.0]], [[1000.0]], 999.306853),
        (per_sample.log_cosh, [[0.0]], [[1e-3]], 5e-7),
        (per_sample.categorical_crossentropy, [[1.0, 0.0]], [[2.0, 2.0]], math.log(2)),
        (per_sample.cosine_similarity, [[0.0, 0.0]], [[1.0, 2.0]], 0.0),
        (per_sample.hinge, [[0.0, 1.0]], [[-0.5, 0.5]], 0.5),
        (per_sample.hinge, [[-1.0, 1.0]], [[-0.5, 0.5]], 0.5),
        (per_sample.mean_squared_logarithmic_error, [[0.0]], [[-5.0]], 0.0),
    ],
)
def test_numbers_of_section_20(formula, y_true, y_pred, expected):
    np.testing.assert_allclose(formula(y_true, y_pred), [expected], rtol=2e-5, atol=1e-9)


def test_huber_of_section_20():
    assert per_sample.huber([[0.0]], [[3.0]], 2.0).tolist() == [4.0]


def test_label_smoothing_of_section_20():
    y, p = [[1.0, 0.0]], [[0.9, 0.1]]
    np.testing.assert_allclose(per_sample.binary_crossentropy(y, p, label_smoothing=0.1), [0.21522], atol=5e-6)
    np.testing.assert_allclose(per_sample.categorical_crossentropy(y, p, label_smoothing=0.1), [0.21522], atol=5e-6)


@pytest.mark.broad
def test_logits_are_stable_at_both_ends():
    logits = np.float32([[1000.0], [-1000.0], [20.0], [0.0]])
    zeros, ones = np.zeros((4, 1)), np.ones((4, 1))
    np.testing.assert_allclose(
        per_sample.binary_crossentropy(zeros, logits, True), [1000, 0, 20, math.log(2)], rtol=1e-6
    )
    np.testing.assert_allclose(
        per_sample.binary_crossentropy(ones, logits, True), [0, 1000, math.exp(-20), math.log(2)], rtol=1e-5
    )
    gradient = gx.grad(lambda x: ops.sum(per_sample.binary_crossentropy(ones, x, True)))(ops.asarray(logits))
    np.testing.assert_allclose(gradient[:, 0], [0, -1, -math.exp(-20), -0.5], rtol=1e-4)
    far = np.float32([[1e4, 0.0, -1e4]])
    for label, expected in ((0, 0.0), (1, 1e4), (2, 2e4)):
        one_hot = np.eye(3, dtype="float32")[[label]]
        assert per_sample.sparse_categorical_crossentropy([label], far, True).tolist() == [expected]
        assert per_sample.categorical_crossentropy(one_hot, far, True).tolist() == [expected]


@pytest.mark.broad
def test_a_class_that_is_ruled_out_costs_nothing():
    logits = ops.asarray([[0.0, 0.0, -math.inf]])
    for loss in (
        lambda x: per_sample.categorical_crossentropy([[1.0, 0.0, 0.0]], x, True)[0],
        lambda x: per_sample.sparse_categorical_crossentropy([0], x, True)[0],
    ):
        value, gradient = gx.value_and_grad(loss)(logits)
        np.testing.assert_allclose(value, math.log(2), rtol=1e-6)
        np.testing.assert_allclose(gradient, [[-0.5, 0.5, 0.0]], atol=1e-6)
    assert per_sample.sparse_categorical_crossentropy([2], logits, True).tolist() == [math.inf]


@pytest.mark.broad
def test_gradients_at_the_kinks():
    slope = gx.grad(lambda x: ops.sum(per_sample.huber([[0.0, 0.0, 0.0]], x, 1.0)))
    np.testing.assert_allclose(slope(ops.asarray([[0.0, 1.0, -1.0]])) * 3, [[0, 1, -1]])
    slope = gx.grad(lambda x: ops.sum(per_sample.cosine_similarity([[1.0, 0.0]], x)))
    assert np.isfinite(slope(ops.zeros((1, 2)))).all()
    slope = gx.grad(lambda x: ops.sum(per_sample.log_cosh([[0.0, 0.0]], x)))
    np.testing.assert_allclose(slope(ops.asarray([[0.0, 1e4]])) * 2, [[0, 1]])


@pytest.mark.parametrize("label", [-1, 3])
def test_compiled_code_turns_a_label_out_of_range_into_nan(label):
    labels, logits = np.int32([0, label]), np.zeros((2, 3), "float32")
    values = gx.jit(lambda y, p: per_sample.sparse_categorical_crossentropy(y, p, True))(labels, logits)
    np.testing.assert_allclose(values, [math.log(3), math.nan], rtol=1e-6)


def test_logits_in_place_of_probabilities_raise():
    for formula, y_true in (
        (per_sample.binary_crossentropy, [[1.0, 0.0]]),
        (per_sample.categorical_crossentropy, [[1.0, 0.0]]),
        (per_sample.sparse_categorical_crossentropy, [0]),
    ):
        with pytest.raises(ArgumentError, match=r"(?s)y_pred\[0, 1\] = -3.*from_logits=True"):
            formula(y_true, [[0.5, -3.0]])
    with pytest.raises(ArgumentError, match=r"(?s)y_pred\[0, 0\] = 2.*ops.softmax"):
        per_sample.kl_divergence([[0.5, 0.5]], [[2.0, 0.5]])
    with pytest.raises(ArgumentError, match=r"y_true\[0, 0\] = -1"):
        per_sample.binary_crossentropy([[-1.0]], [[0.5]], True)
    with pytest.raises(ArgumentError, match="rate is not negative"):
        per_sample.poisson([[1.0]], [[-1.0]])


def test_a_vector_is_one_number_for_each_sample():
    np.testing.assert_allclose(per_sample.mean_squared_error([0.0, 0.0], [1.0, 3.0]), [1, 9])
    np.testing.assert_allclose(per_sample.mean_squared_error([0.0, 0.0], [[1.0], [3.0]]), [1, 9])
