"""Metrics that compare labels refuse scores, which equal none: eagerly by value, compiled by dtype."""

import numpy as np
import pytest

import graftax as gx
from graftax import layers, metrics, ops

TARGETS = np.array([[1.0], [0], [1], [0]], "float32")
SCORES = np.array([[0.9], [0.2], [0.8], [0.1]], "float32")
HIDDEN = np.array([True, True, False, False])
MEAN_IOU = {"num_classes": 2, "sparse_y_pred": True}


def model(*last, loss, metric, **compiled):
    made = gx.Sequential([gx.Input((2,)), layers.Dense(1, activation="sigmoid"), *last])
    made.compile("sgd", loss, metrics=[metric], **compiled)
    return made


X = np.ones((4, 2), "float32")


@pytest.mark.parametrize("make", [lambda: metrics.IoU(2, [1], sparse_y_pred=True), lambda: metrics.MeanIoU(**MEAN_IOU)])
def test_compiled_code_refuses_floating_predictions_as_labels(make):
    with pytest.raises(gx.errors.ArgumentError, match="of dtype float32 in compiled code"):
        gx.jit(lambda metric, y, p: metric(y, p))(make(), TARGETS, SCORES)
    with pytest.raises(gx.errors.ArgumentError, match="of dtype float32 in compiled code"):
        model(loss="binary_crossentropy", metric=make()).fit(X, TARGETS, verbose=0)
    with pytest.raises(gx.errors.ArgumentError, match=r"with the label 0\.9"):
        make()(TARGETS, SCORES)
    whole = gx.jit(lambda metric, y, p: metric(y, ops.cast(p > 0.5, "int32")))
    assert float(whole(make(), TARGETS, SCORES)) == 1.0


def test_a_checked_function_looks_at_the_labels():
    step = gx.jit(lambda metric, y, p: metric(y, p), checked=True)
    assert float(step(metrics.MeanIoU(**MEAN_IOU), TARGETS, TARGETS)) == 1.0
    with pytest.raises(gx.errors.ArgumentError, match="with the label"):
        step(metrics.MeanIoU(**MEAN_IOU), TARGETS, SCORES)
    with pytest.raises(gx.errors.ArgumentError, match="y_true with the label"):
        step(metrics.MeanIoU(**MEAN_IOU), SCORES, TARGETS)


@pytest.mark.parametrize("make", [metrics.Accuracy, lambda: metrics.MeanIoU(**MEAN_IOU)])
def test_what_is_hidden_is_no_score(make):
    predicted = np.where(HIDDEN[:, None], TARGETS, np.nan)
    assert float(make()(TARGETS, predicted, mask=HIDDEN)) == 1.0
    assert float(make()(TARGETS, predicted, sample_weight=HIDDEN.astype("float32"))) == 1.0


@pytest.mark.parametrize("kind", ["float32", "int32", "bool"])
def test_accuracy_refuses_scores(kind):
    with pytest.raises(gx.errors.ArgumentError, match="BinaryAccuracy"):
        metrics.Accuracy()(TARGETS.astype(kind), SCORES)


def test_accuracy_takes_all_that_can_be_equal():
    assert float(metrics.Accuracy()(TARGETS, TARGETS)) == 1.0
    assert float(metrics.Accuracy()([0.5, 1.5], [0.5, 1.0])) == 0.5
    assert float(metrics.Accuracy()([1.0, 2.0, 3.0], [1.0, 2.5, 3.0])) == pytest.approx(2 / 3)
    assert float(metrics.Accuracy()([1, 2], [1.0, np.nan])) == 0.5


@pytest.mark.parametrize("run_eagerly", [False, True])
@pytest.mark.parametrize(
    ("last", "loss", "y", "meant"),
    [
        ((), "binary_crossentropy", TARGETS, "BinaryAccuracy"),
        ((2, "softmax"), "categorical_crossentropy", np.eye(2)[[0, 1, 0, 1]], "CategoricalAccuracy"),
        ((2, "softmax"), "sparse_categorical_crossentropy", np.array([0, 1, 0, 1]), "SparseCategoricalAccuracy"),
    ],
)
def test_fit_names_the_accuracy_that_the_loss_asks_for(last, loss, y, meant, run_eagerly):
    added = [layers.Dense(*last)] if last else []
    made = model(*added, loss=loss, metric=metrics.Accuracy(), run_eagerly=run_eagerly)
    with pytest.raises(gx.errors.ArgumentError, match=r"Accuracy\(.*beside") as caught:
        made.fit(X, y, verbose=0)
    assert f".{meant}()" in caught.value.instead


def test_fit_warns_beside_a_loss_that_may_take_rounded_outputs():
    made = model(loss="mse", metric=metrics.Accuracy())
    with pytest.warns(UserWarning, match="hardly ever"):
        made.fit(X, TARGETS, verbose=0)


@pytest.mark.filterwarnings("error")
def test_accuracy_of_an_output_of_labels_is_let_be():
    a = gx.Input((2,))
    scores = layers.Dense(2, "softmax", name="scores")(a)
    labels = layers.Lambda(lambda s: ops.argmax(s, -1), name="labels")(scores)
    made = gx.Model(a, {"scores": scores, "labels": labels})
    made.compile("sgd", {"scores": "sparse_categorical_crossentropy"}, metrics={"labels": [metrics.Accuracy()]})
    y = np.array([0, 1, 0, 1])
    shown = made.fit(X, {"scores": y, "labels": y}, verbose=0).history
    assert shown["labels_accuracy"] == [0.5]


class Within(metrics.Accuracy):
    def values(self, y_true, y_pred):
        return ops.abs(y_true - y_pred) < 1


@pytest.mark.filterwarnings("error")
def test_a_subclass_with_its_own_values_takes_what_it_likes():
    shown = model(loss="binary_crossentropy", metric=Within()).fit(X, TARGETS, verbose=0).history
    assert shown["within"] == [1.0]
