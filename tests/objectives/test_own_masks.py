"""A loss or metric of a user that gives one number for a sequence takes the mask of its steps."""

from functools import partial

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.errors import ShapeError

RNG = np.random.default_rng(0)
TOKENS = np.array([[1, 2, 3, 0], [4, 0, 0, 0], [0, 0, 0, 0], [1, 1, 2, 2]])
SHOWN = TOKENS != 0
Y = RNG.normal(size=4).astype("float32")
PRED = RNG.normal(size=(4, 4, 1)).astype("float32")


def error_of_mean(y_true, y_pred, mask=None):
    """Return the square of a sequence's mean, over the steps that count, minus its target."""
    steps = y_pred[..., 0]
    shown = ops.ones_like(steps) if mask is None else ops.cast(mask, "float32")
    mean = ops.divide_no_nan(ops.sum(steps * shown, axis=1), ops.sum(shown, axis=1))
    return (mean - y_true) ** 2


def wanted(pred, weights=None):
    """The same in NumPy, one sequence after the other."""
    each = [(pred[i, SHOWN[i], 0].mean() - Y[i]) ** 2 for i in range(4) if SHOWN[i].any()]
    weigh = np.ones(3) if weights is None else weights[SHOWN.any(1)]
    return np.sum(np.multiply(each, weigh)) / 3


class Own(gx.losses.Loss):
    def call(self, y_true, y_pred, mask=None):
        return error_of_mean(y_true, y_pred, mask)


class OwnMetric(gx.metrics.SampleMetric):
    def values(self, y_true, y_pred, mask=None):
        return error_of_mean(y_true, y_pred, mask)


LOSSES = {"function": lambda: gx.losses.FunctionLoss(error_of_mean), "class": Own}


@pytest.mark.parametrize("kind", LOSSES)
def test_a_loss_of_sequences_takes_the_mask(kind):
    loss = LOSSES[kind]()
    hidden = np.where(SHOWN[..., None], PRED, np.nan).astype("float32")  # what is hidden does not matter
    for pred in (PRED, hidden):
        np.testing.assert_allclose(loss(Y, pred, mask=SHOWN), wanted(PRED), rtol=1e-5)
    weights = np.float32([1, 2, 3, 4])
    np.testing.assert_allclose(loss(Y, PRED, weights, SHOWN), wanted(PRED, weights), rtol=1e-5)
    np.testing.assert_allclose(loss(Y, PRED), ((PRED[..., 0].mean(1) - Y) ** 2).mean(), rtol=1e-5)
    gradient = gx.grad(lambda pred: loss(Y, pred, mask=SHOWN))(hidden)
    assert np.isfinite(gradient).all()
    assert (np.asarray(gradient)[~SHOWN] == 0).all()


@pytest.mark.parametrize("make", [lambda: gx.metrics.MeanMetricWrapper(error_of_mean), OwnMetric], ids=["fn", "class"])
def test_so_does_a_metric(make):
    metric = make()
    for rows in (slice(0, 1), slice(1, 4)):
        metric.update(Y[rows], PRED[rows], mask=SHOWN[rows])
    np.testing.assert_allclose(metric.result(), wanted(PRED), rtol=1e-5)


def test_one_number_for_a_batch_is_what_the_function_makes_of_the_mask():
    loss = gx.losses.FunctionLoss(lambda y, p, mask=None: ops.sum(error_of_mean(y, p, mask)[:2]))
    np.testing.assert_allclose(
        loss(Y, PRED, mask=SHOWN), sum((PRED[i, SHOWN[i], 0].mean() - Y[i]) ** 2 for i in (0, 1)), rtol=1e-5
    )


def test_a_mask_that_is_bound_already_is_no_parameter():
    loss = gx.losses.FunctionLoss(partial(error_of_mean, mask=None), name="bound")
    with pytest.raises(ShapeError, match="mask has numbers for parts of a sample"):
        loss(Y, PRED, mask=SHOWN)


def test_without_a_parameter_the_message_names_it():
    with pytest.raises(ShapeError, match=r"instead: .*def loss\(y_true, y_pred, mask=None\)"):
        gx.losses.FunctionLoss(lambda y, p: error_of_mean(y, p))(Y, PRED, mask=SHOWN)
    with pytest.raises(ShapeError) as caught:
        gx.losses.FunctionLoss(lambda y, p: error_of_mean(y, p))(Y, PRED, sample_weight=np.ones((4, 4)))
    assert "mask=None" not in str(caught.value)


@pytest.mark.parametrize("eagerly", [False, True])
@pytest.mark.broad
def test_in_fit(eagerly):
    gx.set_random_seed(0)
    model = gx.Sequential(
        [layers.Embedding(9, 4, mask_zero=True), layers.LSTM(4, return_sequences=True), layers.Dense(1)]
    )
    model.compile(gx.optimizers.SGD(0.0), error_of_mean, metrics=[error_of_mean], run_eagerly=eagerly)
    found = model.fit(TOKENS, Y, verbose=0).history
    pred = np.asarray(ops.array(model(TOKENS)))
    np.testing.assert_allclose([found["loss"][0], found["error_of_mean"][0]], wanted(pred), rtol=1e-5)
    weights = np.float32([1, 2, 3, 4])
    found = model.evaluate(TOKENS, Y, sample_weight=weights, verbose=0)
    np.testing.assert_allclose(found["loss"], wanted(pred, weights), rtol=1e-5)
