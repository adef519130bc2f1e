"""Intersection over union, explained variance, and precision and recall of many kinds."""

import math

import numpy as np
import pytest

import graftax as gx
from graftax import losses, metrics, ops
from graftax.backend.registry import use
from graftax.core.errors import ArgumentError, IndexRangeError, ShapeError

RNG = np.random.default_rng(4)
LABELS = RNG.integers(0, 4, (6, 5)).astype("int32")
SCORES = RNG.normal(size=(6, 5, 4)).astype("float32")
BITS = RNG.integers(0, 2, (6, 4)).astype("float32")
SHARES = RNG.uniform(size=(6, 4)).astype("float32")
REAL = RNG.normal(size=(2, 8, 3)).astype("float32") + 100


def iou(labels, predicted, classes, weights=None):
    weights = np.ones(labels.shape) if weights is None else weights
    found = []
    for k in classes:
        both = (weights * ((labels == k) & (predicted == k))).sum()
        union = (weights * ((labels == k) | (predicted == k))).sum()
        if union:
            found.append(both / union)
    return np.mean(found)


@pytest.mark.broad
@pytest.mark.parametrize("backend", ["jax", "numpy"])
def test_iou_is_that_of_all_batches(backend):
    with use(backend):
        mean, some = metrics.MeanIoU(4), metrics.IoU(4, [0, 2])
        assert float(mean.result()) == 0
        for part in (slice(0, 2), slice(2, 6)):
            mean.update(LABELS[part], SCORES[part])
            some.update(LABELS[part], SCORES[part])
        predicted = SCORES.argmax(-1)
        np.testing.assert_allclose(mean.result(), iou(LABELS, predicted, range(4)), rtol=1e-6)
        np.testing.assert_allclose(some.result(), iou(LABELS, predicted, [0, 2]), rtol=1e-6)
        one_hot = metrics.MeanIoU(4, sparse_y_true=False, sparse_y_pred=True)
        np.testing.assert_allclose(one_hot(np.eye(4)[LABELS], predicted), mean.result(), rtol=1e-6)


@pytest.mark.broad
def test_iou_leaves_out_what_is_hidden_or_ignored():
    keep = RNG.integers(0, 2, LABELS.shape).astype(bool)
    weights = RNG.uniform(size=6).astype("float32")
    labels, scores = np.where(keep, LABELS, -7), np.where(keep[..., None], SCORES, np.nan)
    wanted = iou(LABELS[keep], SCORES.argmax(-1)[keep], range(4))
    step = gx.jit(lambda metric, y, p, mask: metric(y, p, mask=mask))
    np.testing.assert_allclose(metrics.MeanIoU(4)(labels, scores, mask=keep), wanted, rtol=1e-6)
    np.testing.assert_allclose(step(metrics.MeanIoU(4), labels, scores, keep), wanted, rtol=1e-6)
    np.testing.assert_allclose(metrics.MeanIoU(4, ignore_class=-7)(labels, SCORES), wanted, rtol=1e-6)
    wanted = iou(LABELS, SCORES.argmax(-1), range(4), np.broadcast_to(weights[:, None], LABELS.shape))
    np.testing.assert_allclose(metrics.MeanIoU(4)(LABELS, SCORES, weights), wanted, rtol=1e-5)


def test_iou_tells_what_does_not_fit():
    with pytest.raises(IndexRangeError):
        metrics.MeanIoU(3)(LABELS, SCORES[..., :3])
    with pytest.raises(ShapeError):
        metrics.MeanIoU(4)(LABELS, SCORES[..., :3])
    with pytest.raises(ShapeError):
        metrics.MeanIoU(4)(LABELS[:5], SCORES)
    with pytest.raises(IndexRangeError):
        metrics.MeanIoU(3, sparse_y_pred=True)(LABELS % 3, LABELS)


def r2(y, p, w):
    mean = (w[:, None] * y).sum(0) / w.sum()
    return 1 - (w[:, None] * (y - p) ** 2).sum(0) / (w[:, None] * (y - mean) ** 2).sum(0)


@pytest.mark.in_turn(2, 1)
@pytest.mark.parametrize("backend", ["jax", "numpy"])
def test_the_explained_variance_loses_no_digits_over_batches(backend):
    y, p = REAL
    weights = RNG.uniform(size=8).astype("float32")
    with use(backend):
        metric, plain = metrics.R2Score(None), metrics.R2Score()
        for part in (slice(0, 3), slice(3, 8)):
            metric.update(y[part], p[part], weights[part])
            plain.update(y[part], p[part])
        np.testing.assert_allclose(metric.result(), r2(*REAL.astype("float64"), weights), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(plain.result(), r2(*REAL.astype("float64"), np.ones(8)).mean(), rtol=1e-4, atol=1e-5)
        plain.reset()
        assert float(plain.result()) == 0


@pytest.mark.broad
def test_the_explained_variance_leaves_out_what_is_hidden():
    y, p = REAL.copy()
    keep = np.array([1, 1, 0, 1, 1, 0, 1, 1], bool)
    y[~keep], p[~keep] = np.nan, np.inf
    wanted = r2(*REAL[:, keep].astype("float64"), np.ones(6)).mean()
    np.testing.assert_allclose(metrics.R2Score()(y, p, mask=keep), wanted, rtol=1e-4)
    np.testing.assert_allclose(
        gx.jit(lambda m, y, p, k: m(y, p, mask=k))(metrics.R2Score(), y, p, keep), wanted, rtol=1e-4
    )
    metric = metrics.R2Score()
    metric(REAL[0], REAL[1])
    with pytest.raises(ShapeError):
        metric(REAL[0][:, :2], REAL[1][:, :2])


@pytest.mark.broad
def test_thresholds_give_a_share_each():
    for kind, plain in ((metrics.Precision, metrics.Precision), (metrics.Recall, metrics.Recall)):
        found = kind([0.25, 0.5, 0.75])(BITS, SHARES)
        np.testing.assert_allclose(found, [plain(t)(BITS, SHARES) for t in (0.25, 0.5, 0.75)], rtol=1e-6)


def test_the_largest_count_whatever_they_are():
    top = np.zeros((6, 4), bool)
    np.put_along_axis(top, np.argsort(-SHARES, -1)[:, :2], True, -1)
    np.testing.assert_allclose(metrics.Precision(top_k=2)(BITS, SHARES / 10), (BITS * top).sum() / top.sum(), rtol=1e-6)
    np.testing.assert_allclose(metrics.Recall(top_k=2)(BITS, SHARES - 5), (BITS * top).sum() / BITS.sum(), rtol=1e-6)
    with pytest.raises(ArgumentError, match="top_k"):
        metrics.Precision(0.3, top_k=2)
    with pytest.raises(ShapeError):
        metrics.Precision(top_k=5)(BITS, SHARES)


@pytest.mark.broad
def test_one_class_alone():
    weights = RNG.uniform(size=6).astype("float32")
    found = metrics.Recall(class_id=2)(BITS, SHARES, weights)
    np.testing.assert_allclose(found, metrics.Recall()(BITS[:, 2], SHARES[:, 2], weights), rtol=1e-6)
    with pytest.raises(ShapeError):
        metrics.Recall(class_id=4)(BITS, SHARES)


@pytest.mark.broad
def test_perplexity_in_fit_reads_logits_beside_the_loss():
    gx.set_random_seed(0)
    model = gx.Sequential([gx.layers.Dense(4)])
    model.compile("adam", loss=losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["perplexity"])
    history = model.fit(SCORES[:, 0], LABELS[:, 0], epochs=1, verbose=0).history
    assert math.exp(history["loss"][-1]) == pytest.approx(history["perplexity"][-1], rel=1e-3)


@pytest.mark.parametrize(
    ("name", "options", "y", "p"),
    [
        ("R2Score", {}, *REAL),
        ("PearsonCorrelation", {}, *REAL),
        ("ConcordanceCorrelation", {}, *REAL),
        ("CosineSimilarity", {}, *REAL),
        ("MeanIoU", {"num_classes": 4, "sparse_y_pred": False}, LABELS, SCORES),
    ],
)
@pytest.mark.filterwarnings("ignore:Explicitly requested dtype int64")  # by the MeanIoU of Keras
def test_numbers_are_those_of_keras(name, options, y, p, keras):
    theirs, ours = getattr(keras.metrics, name)(**options), getattr(metrics, name)(**options)
    theirs.update_state(y, p)
    ours.update(y, p)
    # R2Score of Keras takes the mean off sums of squares in float32, and loses digits; ours has those of float64
    np.testing.assert_allclose(ours.result(), np.asarray(theirs.result()), rtol=5e-3, atol=1e-5)


def test_precision_of_the_largest_is_that_of_keras(keras):
    for kind in ("Precision", "Recall"):
        for options in ({"top_k": 2}, {"class_id": 1}, {"top_k": 2, "class_id": 1}):
            theirs = getattr(keras.metrics, kind)(**options)
            theirs.update_state(BITS, SHARES)
            np.testing.assert_allclose(getattr(metrics, kind)(**options)(BITS, SHARES), theirs.result(), rtol=1e-5)


def test_a_matrix_is_kept_in_twice_the_digits():
    assert ops.shape(metrics.IoU(3).sums) == (2, 3, 3)
