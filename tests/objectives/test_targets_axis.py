"""Losses and metrics that users write, where a batch has as many samples as another axis has elements."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.errors import ShapeError
from graftax.losses import FunctionLoss, Loss
from graftax.metrics import MeanMetricWrapper

rng = np.random.default_rng(0)
Q = np.array([0.1, 0.5, 0.9], "float32")
Y = rng.normal(size=3).astype("float32")
P = rng.normal(size=(3, 3)).astype("float32")
T = rng.normal(size=(3, 3, 3)).astype("float32")


def pinball(y_true, y_pred):
    error = y_true - y_pred
    return ops.mean(ops.maximum(Q * error, (Q - 1) * error), axis=-1)


class Pinball(Loss):
    def call(self, y_true, y_pred):
        return pinball(y_true, y_pred)


def similarity(y_true, y_pred):
    same = ops.cast(y_true[:, None] == y_true[None, :], "float32")
    near = ops.matmul(y_pred, ops.swapaxes(y_pred, 0, 1))
    return ops.mean((same - near) ** 2, axis=-1)


WRONG = {
    "a function": (lambda y, p: FunctionLoss(pinball)(y, p), Y, P, "y_true[:, None]"),
    "a loss": (lambda y, p: Pinball()(y, p), Y, P, "targets of shape (3, 1)"),
    "one number": (lambda y, p: FunctionLoss(lambda t, p: ops.mean((p - t) ** 2))(y, p), Y, P, "y_true[:, None]"),
    "where": (lambda y, p: FunctionLoss(lambda t, p: ops.where(t > 0, p, -p))(y, p), Y, P, "y_true[:, None]"),
    "several axes": (lambda y, p: FunctionLoss(lambda t, p: (t - p) ** 2)(y, p), Y, T, "y_true[:, None, None]"),
    "predictions": (lambda y, p: FunctionLoss(lambda t, p: (t - p) ** 2)(y, p), P, Y, "y_pred[:, None]"),
    "a metric": (lambda y, p: MeanMetricWrapper(lambda t, p: abs(t - p)).update(y, p), Y, P, "y_true[:, None]"),
}
RIGHT = {
    "an axis of its own": (lambda t, p: (t[:, None] - p) ** 2, Y, P),
    "labels": (lambda t, p: ops.take_along_axis(p, t[:, None], axis=1)[:, 0], np.array([0, 2, 1]), P),
    "pairs of samples": (similarity, np.array([0, 2, 0]), P),
    "pairs that the model gives": (lambda t, p: (ops.cast(t[:, None] == t, p.dtype) - p) ** 2, np.array([0, 2, 0]), P),
    "one batch size": (lambda t, p: ops.mean((np.ones((3, 1), "float32") * p - t[:, None]) ** 2, axis=-1), Y, P),
    "one batch size, along samples": (lambda t, p: p[:, 0] * t * np.ones(3, "float32"), Y, P),
    "two samples at a time": (lambda t, p: ops.reshape(p[:, 0] - t, (3, 1)) ** 2, Y, P),
    "classes with weights": (lambda t, p: ops.mean(Q * p, axis=-1) * t, Y, P),
    "one sample": (lambda t, p: (t - p) ** 2, Y[:1], T[:1, :1]),
    "targets of the same shape": (lambda t, p: (t - p) ** 2, P, P),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in WRONG.items()])
def test_samples_along_another_axis_of_the_same_size_are_refused(case, compiled):
    call, y, p, line = case
    with pytest.raises(ShapeError, match="same size by chance: for a batch of 4 it fails") as caught:
        (gx.jit(call) if compiled else call)(ops.asarray(y), ops.asarray(p))
    assert line in str(caught.value)


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in RIGHT.items()])
def test_what_is_meant_for_these_sizes_is_computed(case):
    fn, y, p = case
    expected = np.mean(np.asarray(fn(ops.asarray(y), ops.asarray(p))))
    np.testing.assert_allclose(FunctionLoss(fn)(y, p), expected, rtol=1e-6)
    metric = MeanMetricWrapper(fn)
    metric.update(y, p)
    np.testing.assert_allclose(metric.result(), expected, rtol=1e-6)


def test_a_loss_runs_once_where_the_sizes_differ():
    calls = []

    def loss(y_true, y_pred):
        calls.append(1)
        return ops.mean((y_true[:, None] - y_pred) ** 2, axis=-1)

    FunctionLoss(loss)(np.zeros(5, "float32"), np.zeros((5, 3), "float32"))
    assert len(calls) == 1


@pytest.mark.broad
def test_fit_refuses_it_before_it_trains():
    model = gx.Sequential([layers.Dense(3)])
    model.compile("sgd", pinball)
    x, y = rng.normal(size=(9, 2)).astype("float32"), rng.normal(size=9).astype("float32")
    with pytest.raises(ShapeError, match="same size by chance"):
        model.fit(x, y, batch_size=3, verbose=0)
    found = model.evaluate(x, y[:, None], batch_size=3, verbose=0)["loss"]
    error = y[:, None] - np.asarray(model(x))
    np.testing.assert_allclose(found, np.maximum(Q * error, (Q - 1) * error).mean(), rtol=1e-5)
