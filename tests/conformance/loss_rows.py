"""One row per loss, with its formula in float64; what the tests of all losses run over."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from graftax import losses


class Row(NamedTuple):
    make: Callable[..., losses.Loss]
    targets: Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
    predictions: Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
    formula: Callable[[np.ndarray, np.ndarray], np.ndarray]
    """Float64 targets and predictions to one number for each sample."""


def real(rng, shape):
    return rng.normal(size=shape)


def positive(rng, shape):
    return rng.uniform(0.1, 4, shape)


def bits(rng, shape):
    return rng.integers(0, 2, shape)


def share(rng, shape):
    return rng.uniform(0.05, 0.95, shape)


def distribution(rng, shape):
    values = rng.uniform(0.05, 1, shape)
    return values / values.sum(-1, keepdims=True)


def labels(rng, shape):
    return rng.integers(0, shape[-1], shape[:-1])


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def smooth(y, s, classes):
    return y * (1 - s) + s / classes


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def bce(y, p):
    return -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean(-1)


def focal(y, p, alpha=None, gamma=2.0):
    right = np.where(y == 1, p, 1 - p)
    weight = 1 if alpha is None else np.where(y == 1, alpha, 1 - alpha)
    return (-weight * (1 - right) ** gamma * np.log(right)).mean(-1)


def one_hot(rng, shape):
    return np.eye(shape[-1])[labels(rng, shape)]


def categorical_focal(y, p, alpha, gamma):
    return -(np.array(alpha) * (1 - p) ** gamma * y * np.log(p)).sum(-1)


def huber(y, p, delta):
    d = np.abs(p - y)
    return np.where(d <= delta, d**2 / 2, delta * d - delta**2 / 2).mean(-1)


def pick(logs, y):
    return -np.take_along_axis(logs, y.astype(int)[..., None], -1)[..., 0]


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def ruled(y, values, ignored):
    return np.where(y == ignored, 0, values)


L = losses
ROWS = {
    "mean_squared_error": Row(L.MeanSquaredError, real, real, lambda y, p: ((p - y) ** 2).mean(-1)),
    "mean_absolute_error": Row(L.MeanAbsoluteError, real, real, lambda y, p: np.abs(p - y).mean(-1)),
    "mean_absolute_percentage_error": Row(
        L.MeanAbsolutePercentageError, positive, real, lambda y, p: 100 * (np.abs(p - y) / np.abs(y)).mean(-1)
    ),
    "mean_squared_logarithmic_error": Row(
        L.MeanSquaredLogarithmicError,
        positive,
        positive,
        lambda y, p: ((np.log(1 + p) - np.log(1 + y)) ** 2).mean(-1),
    ),
    "huber": Row(lambda **o: L.Huber(0.7, **o), real, real, lambda y, p: huber(y, p, 0.7)),
    "log_cosh": Row(L.LogCosh, real, real, lambda y, p: np.log(np.cosh(p - y)).mean(-1)),
    "poisson": Row(L.Poisson, positive, positive, lambda y, p: (p - y * np.log(p)).mean(-1)),
    "cosine_similarity": Row(L.CosineSimilarity, real, real, lambda y, p: -(unit(y) * unit(p)).sum(-1)),
    "binary_crossentropy": Row(L.BinaryCrossentropy, bits, share, bce),
    "binary_crossentropy_logits": Row(
        lambda **o: L.BinaryCrossentropy(True, 0.2, **o), bits, real, lambda y, p: bce(smooth(y, 0.2, 2), sigmoid(p))
    ),
    "categorical_crossentropy": Row(
        L.CategoricalCrossentropy,
        distribution,
        positive,
        lambda y, p: -(y * np.log(p / p.sum(-1, keepdims=True))).sum(-1),
    ),
    "categorical_crossentropy_logits": Row(
        lambda **o: L.CategoricalCrossentropy(True, 0.1, **o),
        distribution,
        real,
        lambda y, p: -(smooth(y, 0.1, y.shape[-1]) * log_softmax(p)).sum(-1),
    ),
    "sparse_categorical_crossentropy": Row(
        L.SparseCategoricalCrossentropy, labels, distribution, lambda y, p: pick(np.log(p), y)
    ),
    "sparse_categorical_crossentropy_logits": Row(
        lambda **o: L.SparseCategoricalCrossentropy(True, **o), labels, real, lambda y, p: pick(log_softmax(p), y)
    ),
    "binary_crossentropy_pos_weight": Row(
        lambda **o: L.BinaryCrossentropy(True, pos_weight=[3.0, 1.0, 0.5], **o),
        bits,
        real,
        lambda y, p: (-(y * [3, 1, 0.5] * np.log(sigmoid(p)) + (1 - y) * np.log(1 - sigmoid(p)))).mean(-1),
    ),
    "categorical_crossentropy_class_weight": Row(
        lambda **o: L.CategoricalCrossentropy(class_weight=[3.0, 1.0, 0.5], **o),
        distribution,
        positive,
        lambda y, p: -(y * [3, 1, 0.5] * np.log(p / p.sum(-1, keepdims=True))).sum(-1),
    ),
    "sparse_categorical_crossentropy_class_weight": Row(
        lambda **o: L.SparseCategoricalCrossentropy(True, class_weight=[3.0, 1.0, 0.5], **o),
        labels,
        real,
        lambda y, p: np.array([3, 1, 0.5])[y.astype(int)] * pick(log_softmax(p), y),
    ),
    "categorical_generalized_cross_entropy": Row(
        L.CategoricalGeneralizedCrossEntropy,
        labels,
        distribution,
        lambda y, p: 2 - 2 * np.exp(-0.5 * pick(np.log(p), y)),
    ),
    "categorical_generalized_cross_entropy_logits": Row(
        lambda **o: L.CategoricalGeneralizedCrossEntropy(0.7, True, **o),
        labels,
        real,
        lambda y, p: (1 - np.exp(-0.7 * pick(log_softmax(p), y))) / 0.7,
    ),
    "binary_focal_crossentropy": Row(L.BinaryFocalCrossentropy, bits, share, focal),
    "binary_focal_crossentropy_logits": Row(
        lambda **o: L.BinaryFocalCrossentropy(True, 0.3, 1.5, from_logits=True, **o),
        bits,
        real,
        lambda y, p: focal(y, sigmoid(p), 0.3, 1.5),
    ),
    "categorical_focal_crossentropy": Row(
        lambda **o: L.CategoricalFocalCrossentropy([0.25, 1.0, 0.5], **o),
        distribution,
        positive,
        lambda y, p: categorical_focal(y, p / p.sum(-1, keepdims=True), [0.25, 1, 0.5], 2),
    ),
    "categorical_focal_crossentropy_logits": Row(
        lambda **o: L.CategoricalFocalCrossentropy(gamma=0.5, from_logits=True, label_smoothing=0.1, **o),
        distribution,
        real,
        lambda y, p: categorical_focal(smooth(y, 0.1, y.shape[-1]), np.exp(log_softmax(p)), 0.25, 0.5),
    ),
    "categorical_hinge": Row(
        L.CategoricalHinge,
        one_hot,
        real,
        lambda y, p: np.maximum(((1 - y) * p).max(-1) - (y * p).sum(-1) + 1, 0),
    ),
    "kl_divergence": Row(L.KLDivergence, distribution, distribution, lambda y, p: (y * np.log(y / p)).sum(-1)),
    "hinge": Row(L.Hinge, bits, real, lambda y, p: np.maximum(1 - (2 * y - 1) * p, 0).mean(-1)),
    "squared_hinge": Row(L.SquaredHinge, bits, real, lambda y, p: (np.maximum(1 - (2 * y - 1) * p, 0) ** 2).mean(-1)),
}

OF_SAMPLES = {L.Circle, L.Dice, L.Tversky, L.NTXent, L.TripletSemiHard, L.CTC, L.GaussianNLL}
"""Losses of other shapes; tests/losses looks at them."""


def data(row: Row, shape=(4, 3), dtype="float32"):
    """Targets and predictions, the floats such that float32 and float64 hold the same numbers."""
    rng = np.random.default_rng(1)
    y, p = row.targets(rng, shape), row.predictions(rng, shape)
    return (y.astype("float32") if y.dtype.kind == "f" else y.astype("int32")), p.astype(dtype)


def wide(*arrays):
    return tuple(a.astype("float64") for a in arrays)
