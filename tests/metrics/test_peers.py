"""Losses and metrics with masks, weights and classes to ignore, against Keras, torch and scikit-learn."""

import numpy as np
import pytest

import graftax as gx
from graftax import losses, metrics, ops

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(8)
LOGITS = RNG.normal(size=(4, 3, 5)).astype("float32")
LABELS = RNG.integers(0, 5, (4, 3))
KEEP = np.bool_([[1, 0, 1], [0, 0, 0], [1, 1, 0], [0, 1, 1]])
HOLES = np.where(KEEP, LABELS, -100)
SHARES = (1 / (1 + np.exp(-LOGITS))).astype("float32")
BITS = RNG.integers(0, 2, (4, 3, 5)).astype("float32")


def test_l5_ignored_classes_and_their_gradients_are_those_of_torch(torch):
    x = torch.tensor(LOGITS.reshape(-1, 5), requires_grad=True)
    theirs = torch.nn.functional.cross_entropy(x, torch.tensor(HOLES.reshape(-1)), ignore_index=-100)
    theirs.backward()
    ours = losses.SparseCategoricalCrossentropy(True, ignore_class=-100)
    value, gradient = gx.value_and_grad(lambda p: ours(HOLES, p))(ops.asarray(LOGITS))
    np.testing.assert_allclose(value, theirs.item(), rtol=1e-6)
    np.testing.assert_allclose(np.reshape(gradient, (-1, 5)), x.grad.numpy(), rtol=1e-4, atol=1e-7)
    masked = losses.SparseCategoricalCrossentropy(True)
    np.testing.assert_allclose(masked(HOLES, LOGITS, mask=KEEP), theirs.item(), rtol=1e-6)


@pytest.mark.parametrize("ignored", [-1, 2, 255])
def test_l5_ignored_classes_are_those_of_keras(keras, ignored):
    labels = np.where(KEEP, LABELS, ignored).astype("int32")
    ours = losses.SparseCategoricalCrossentropy(True, ignore_class=ignored)
    theirs = keras.losses.SparseCategoricalCrossentropy(True, ignore_class=ignored, reduction="none")
    each = np.asarray(theirs(labels, LOGITS))
    np.testing.assert_allclose(ours(labels, LOGITS), each.sum() / (labels != ignored).sum(), rtol=1e-5)


@pytest.mark.parametrize("name", ["MeanSquaredError", "Huber", "LogCosh", "BinaryCrossentropy", "CosineSimilarity"])
def test_l4_masks_are_those_of_keras(keras, name):
    y = SHARES[::-1].copy()
    ours, theirs = getattr(losses, name)(), getattr(keras.losses, name)(reduction="none")
    each = np.asarray(theirs(y, SHARES))[KEEP]
    bad = np.where(KEEP[..., None], SHARES, np.nan).astype("float32")
    np.testing.assert_allclose(ours(y, bad, mask=KEEP), each.mean(), rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "keras_name"),
    [
        ("mape", "MeanAbsolutePercentageError"),
        ("msle", "MeanSquaredLogarithmicError"),
        ("cosine_similarity", "CosineSimilarity"),
        ("kld", "KLDivergence"),
        ("poisson", "Poisson"),
        ("log_cosh", "LogCoshError"),
        ("hinge", "Hinge"),
        ("squared_hinge", "SquaredHinge"),
    ],
)
def test_a5_names_of_keras_measure_what_they_do_there(keras, name, keras_name):
    y, p = (BITS if "hinge" in name else SHARES[::-1])[0], SHARES[0]
    theirs = getattr(keras.metrics, keras_name)()
    for weights in (None, np.float32([1, 2, 0])):
        theirs.reset_state()
        theirs.update_state(y, p, sample_weight=weights)
        ours = metrics.get(name)
        ours.update(y, p, weights)
        np.testing.assert_allclose(ours.result(), np.asarray(theirs.result()), rtol=2e-5)


def test_metrics_of_scikit_learn():
    measures = pytest.importorskip("sklearn.metrics")
    y, p = BITS[..., 0].reshape(-1), SHARES[..., 0].reshape(-1)
    weights, keep = RNG.uniform(0, 2, 12), KEEP.reshape(-1)
    labels, shares = LABELS.reshape(-1), np.asarray(ops.softmax(LOGITS)).reshape(-1, 5)
    rows = [
        (metrics.Precision(), y, p, measures.precision_score, p > 0.5),
        (metrics.Recall(), y, p, measures.recall_score, p > 0.5),
        (metrics.BinaryAccuracy(), y, p, measures.accuracy_score, p > 0.5),
        (metrics.BinaryCrossentropy(), y, p, measures.log_loss, p),
        (metrics.SparseCategoricalAccuracy(), labels, shares, measures.accuracy_score, shares.argmax(-1)),
        (metrics.MeanSquaredError(), y, p, measures.mean_squared_error, p),
        (metrics.RootMeanSquaredError(), y, p, measures.root_mean_squared_error, p),
        (metrics.MeanAbsoluteError(), y, p, measures.mean_absolute_error, p),
    ]
    for metric, target, prediction, theirs, shown in rows:
        options = {"zero_division": 0} if theirs in (measures.precision_score, measures.recall_score) else {}
        wanted = theirs(target[keep], shown[keep], sample_weight=weights[keep], **options)
        metric.update(target, prediction, weights, mask=keep)
        np.testing.assert_allclose(metric.result(), wanted, rtol=1e-5)
    top = metrics.SparseTopKCategoricalAccuracy(2)
    top.update(labels, shares, mask=keep)
    np.testing.assert_allclose(
        top.result(), measures.top_k_accuracy_score(labels[keep], shares[keep], k=2, labels=range(5)), rtol=1e-6
    )
