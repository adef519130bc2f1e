"""Losses and metrics against Keras and torch; slow only because importing these is."""

import os

import numpy as np
import pytest

from graftax import losses, metrics

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(5)
REAL = RNG.normal(size=(2, 6, 4)).astype("float32")
SHARE = RNG.uniform(0.05, 0.95, (2, 6, 4)).astype("float32")
BITS = RNG.integers(0, 2, (6, 4)).astype("float32")
LABELS = RNG.integers(0, 4, 6)
ONE_HOT = np.eye(4, dtype="float32")[LABELS]
NORMAL = SHARE / SHARE.sum(-1, keepdims=True)
WEIGHTS = RNG.uniform(0, 2, 6).astype("float32")

CASES = [
    ("MeanSquaredError", {}, REAL),
    ("MeanAbsoluteError", {}, REAL),
    ("MeanAbsolutePercentageError", {}, REAL),
    ("MeanSquaredLogarithmicError", {}, REAL),
    ("Huber", {"delta": 0.5}, REAL),
    ("LogCosh", {}, REAL),
    ("Poisson", {}, SHARE),
    ("CosineSimilarity", {}, REAL),
    ("BinaryCrossentropy", {"label_smoothing": 0.2}, (BITS, SHARE[0])),
    ("BinaryCrossentropy", {"from_logits": True}, (BITS, REAL[0])),
    ("BinaryCrossentropy", {}, (BITS, BITS[::-1])),
    ("CategoricalCrossentropy", {"label_smoothing": 0.2}, (ONE_HOT, SHARE[0])),
    ("CategoricalCrossentropy", {"from_logits": True}, (NORMAL[1], REAL[0])),
    ("SparseCategoricalCrossentropy", {}, (LABELS, SHARE[0])),
    ("SparseCategoricalCrossentropy", {"from_logits": True, "ignore_class": 1}, (LABELS, REAL[0])),
    ("KLDivergence", {}, NORMAL),
    ("Hinge", {}, (BITS, REAL[0])),
    ("SquaredHinge", {}, (2 * BITS - 1, REAL[0])),
]
METRICS = [
    ("Accuracy", (BITS, BITS[::-1])),
    ("BinaryAccuracy", (BITS, SHARE[0])),
    ("CategoricalAccuracy", (ONE_HOT, SHARE[0])),
    ("SparseCategoricalAccuracy", (LABELS, SHARE[0])),
    ("RootMeanSquaredError", (REAL[0], REAL[1])),
    ("MeanSquaredError", (REAL[0], REAL[1])),
    ("SparseCategoricalCrossentropy", (LABELS, SHARE[0])),
    ("Precision", (BITS[:, 0], SHARE[0][:, 0])),
    ("Recall", (BITS[:, 0], SHARE[0][:, 0])),
]


@pytest.fixture(scope="module")
def keras():
    os.environ.setdefault("KERAS_BACKEND", "jax")
    return pytest.importorskip("keras")


@pytest.mark.parametrize(("name", "options", "values"), CASES)
def test_keras_losses(keras, name, options, values):
    for reduction in ("sum_over_batch_size", "sum", "mean_with_sample_weight", "none"):
        ours = getattr(losses, name)(**options, reduction=reduction)
        theirs = getattr(keras.losses, name)(**options, reduction=reduction)
        for weights in (None, WEIGHTS):
            expected = np.asarray(theirs(*values, sample_weight=weights))
            np.testing.assert_allclose(ours(*values, weights), expected, rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize(("name", "values"), METRICS)
def test_keras_metrics(keras, name, values):
    ours, theirs = getattr(metrics, name)(), getattr(keras.metrics, name)()
    for weights in (None, WEIGHTS):
        ours.update(*values, weights)
        theirs.update_state(*values, sample_weight=weights)
        np.testing.assert_allclose(ours.result(), np.asarray(theirs.result()), rtol=1e-5)


def test_torch():
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    p, y, labels = torch.tensor(REAL[0]), torch.tensor(BITS), torch.tensor(LABELS)
    pairs = [
        (losses.MeanSquaredError()(BITS, REAL[0]), functional.mse_loss(p, y)),
        (losses.Huber(0.5)(BITS, REAL[0]), functional.huber_loss(p, y, delta=0.5)),
        (losses.BinaryCrossentropy(True)(BITS, REAL[0]), functional.binary_cross_entropy_with_logits(p, y)),
        (losses.SparseCategoricalCrossentropy(True)(LABELS, REAL[0]), functional.cross_entropy(p, labels)),
        (
            losses.SparseCategoricalCrossentropy(True, ignore_class=1)(LABELS, REAL[0]),
            functional.cross_entropy(p, labels, ignore_index=1),
        ),
        (
            losses.CategoricalCrossentropy(True, label_smoothing=0.1)(ONE_HOT, REAL[0]),
            functional.cross_entropy(p, labels, label_smoothing=0.1),
        ),
        (
            losses.KLDivergence()(NORMAL[0], NORMAL[1]),
            functional.kl_div(torch.tensor(NORMAL[1]).log(), torch.tensor(NORMAL[0]), reduction="batchmean"),
        ),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(float(ours), float(theirs), rtol=1e-5)
