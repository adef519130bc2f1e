"""Losses and metrics that users write: what they return, and weights and masks along the axis of samples."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, ops
from graftax.errors import ArgumentTypeError, ShapeError

rng = np.random.default_rng(0)
X = rng.normal(size=(4, 4, 3)).astype("float32")  # as many samples as time steps, so that shapes tell nothing
X[:, -1], X[0, 1:] = 0, 0
Y = rng.normal(size=(4, 4, 2)).astype("float32")
SAMPLES = np.array([1, 0, 2, 3], "float32")
STEPS = np.arange(16, dtype="float32").reshape(4, 4)

RIGHT = {
    "a value for each step": lambda t, p: ops.mean((p - t) ** 2, axis=-1),
    "the same with an axis": lambda t, p: ops.mean((p - t) ** 2, axis=-1, keepdims=True),
    "a value for each element": lambda t, p: (p - t) ** 2,
}
WHOLE = {
    "a value for each sample": lambda t, p: ops.mean((p - t) ** 2, axis=(1, 2)),
    "the same with an axis": lambda t, p: ops.mean((p - t) ** 2, axis=(1, 2))[:, None],
}
WRONG = {
    "one number": lambda t, p: ops.mean((p - t) ** 2),
    "steps": lambda t, p: ops.mean((p - t) ** 2, axis=(0, 2)),
    "steps first": lambda t, p: ops.swapaxes(ops.mean((p - t) ** 2, axis=-1), 0, 1),
    "steps and features": lambda t, p: ops.mean((p - t) ** 2, axis=0),
}


def mean_of(table):
    return [pytest.param(fn, id=name) for name, fn in table.items()]


def compiled(fn, masked=False, as_metric=False):
    model = gx.Sequential([layers.Masking(), layers.Dense(2)] if masked else [layers.Dense(2)])
    if as_metric:
        model.compile(gx.optimizers.SGD(0.1), RIGHT["a value for each step"], weighted_metrics=[fn])
    else:
        model.compile(gx.optimizers.SGD(0.1), fn)
    return model


def loss_of(model, weight):
    return model.evaluate(X, Y, sample_weight=weight, batch_size=4, verbose=0)["loss"]


def wanted(model, weight, masked):
    errors = ((np.asarray(model(X)) - Y) ** 2).mean(-1)
    visible = (X != 0).any(-1) if masked else np.ones((4, 4))
    weights = np.ones(4) if weight is None else weight
    weights = weights if weights.ndim == 2 else weights[:, None]
    return (errors * weights * visible).sum() / visible.sum()


@pytest.mark.in_turn(4, broad=2)
@pytest.mark.parametrize("fn", mean_of(RIGHT))
@pytest.mark.parametrize("weight", [None, SAMPLES, STEPS], ids=["none", "samples", "steps"])
@pytest.mark.parametrize("masked", [False, pytest.param(True, marks=pytest.mark.broad)])
def test_what_keeps_samples_and_steps_is_weighted_and_masked(fn, weight, masked):
    model = compiled(fn, masked)
    found = loss_of(model, weight)
    assert found == pytest.approx(wanted(model, weight, masked), rel=1e-5)


@pytest.mark.broad
@pytest.mark.parametrize("fn", mean_of(WHOLE))
def test_a_value_for_each_sample_takes_weights_of_samples_and_no_others(fn):
    model = compiled(fn)
    assert loss_of(model, SAMPLES) == pytest.approx(wanted(model, SAMPLES, False), rel=1e-5)
    with pytest.raises(ShapeError, match=r"sample_weight \[4, 4\]") as caught:
        loss_of(model, STEPS)
    assert "such as time steps" in caught.value.reason
    with pytest.raises(ShapeError, match=r"with mask \[4, 4\]"):
        loss_of(compiled(fn, masked=True), None)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("fn", mean_of(WRONG))
@pytest.mark.parametrize("as_metric", [False, True], ids=["loss", "metric"])
def test_what_loses_the_axis_of_samples_takes_no_weights(fn, as_metric):
    with pytest.raises(ShapeError) as caught:
        loss_of(compiled(fn, as_metric=as_metric), SAMPLES)
    error = caught.value
    assert f"the {'metric' if as_metric else 'loss'} <lambda> returned shape" in error.received
    assert "for a batch of 4, with sample_weight [4]" in error.received
    assert "ops.mean(..., axis=-1)" in error.instead


@pytest.mark.parametrize("fn", mean_of(WRONG))
def test_what_loses_the_axis_of_samples_takes_no_mask(fn):
    with pytest.raises(ShapeError, match=r"with mask \[4, 4\]"):
        loss_of(compiled(fn, masked=True), None)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("fn", mean_of(WRONG))
def test_without_weights_they_are_all_the_mean(fn):
    model = compiled(fn)
    assert loss_of(model, None) == pytest.approx(wanted(model, None, False), rel=1e-5)


@pytest.mark.broad
def test_class_weights_need_the_axis_of_samples_too():
    labels = np.array([0, 1, 1, 0])
    each = gx.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
    model = compiled(each)
    probabilities = np.exp(np.asarray(model(X[:, 0])))
    probabilities /= probabilities.sum(-1, keepdims=True)
    by_hand = (-np.log(probabilities[np.arange(4), labels]) * np.where(labels == 1, 3.0, 1.0)).mean()
    model.compile(gx.optimizers.SGD(0.0), lambda t, p: each(t, p))
    history = model.fit(X[:, 0], labels, class_weight={0: 1.0, 1: 3.0}, batch_size=4, verbose=0).history
    assert history["loss"][0] == pytest.approx(by_hand, rel=1e-5)
    model.compile(gx.optimizers.SGD(0.0), lambda t, p: ops.mean(each(t, p)))
    with pytest.raises(ShapeError, match=r"returned shape \[\] for a batch of 4"):
        model.fit(X[:, 0], labels, class_weight={0: 1.0, 1: 3.0}, batch_size=4, verbose=0)


@pytest.mark.broad
def test_a_function_for_one_batch_size_alone_is_believed():
    fixed = gx.losses.FunctionLoss(lambda t, p: ops.mean(ops.reshape((p - t) ** 2, (4, 8)), axis=-1))
    errors = ((X[..., :2] - Y) ** 2).mean((1, 2))
    assert float(fixed(Y, X[..., :2], sample_weight=SAMPLES)) == pytest.approx((errors * SAMPLES).mean(), rel=1e-5)


@pytest.mark.broad
def test_the_look_at_another_batch_size_changes_no_state():
    count = gx.Variable(0, role="state")

    def counted(t, p):
        count.assign_add(1)
        return ops.mean((p - t) ** 2, axis=-1)

    gx.losses.FunctionLoss(counted)(Y, X[..., :2], sample_weight=SAMPLES)
    assert int(count) == 1


def test_on_the_numpy_backend():
    with gx.backend.use("numpy"), pytest.raises(ShapeError, match="returned shape"):
        gx.losses.FunctionLoss(WRONG["steps"])(Y, X[..., :2], sample_weight=SAMPLES)


@pytest.mark.parametrize(
    ("found", "got"),
    [
        (lambda p: None, "returned None"),
        (lambda p: (ops.mean(p), {}), "returned a tuple of 2"),
        (lambda p: {"a": ops.mean(p)}, "returned a dict of 1"),
        (lambda p: [ops.mean(p), ops.mean(p)], "returned a list of 2"),
    ],
    ids=["none", "tuple", "dict", "list"],
)
@pytest.mark.parametrize("as_metric", [False, True], ids=["loss", "metric"])
def test_a_function_returns_one_array(found, got, as_metric):
    with pytest.raises(ArgumentTypeError, match=got) as caught:
        loss_of(compiled(lambda t, p: found(p), as_metric=as_metric), None)
    assert "return ops.mean" in caught.value.instead
