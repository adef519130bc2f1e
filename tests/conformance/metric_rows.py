"""One row per metric, with its formula in float64 over all samples at once; what the tests of all metrics run over."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from graftax import metrics

M = metrics


class Row(NamedTuple):
    make: Callable[[], metrics.Metric]
    targets: str
    predictions: str
    formula: Callable[[np.ndarray, np.ndarray, np.ndarray], float]
    """Of float64 targets, predictions and weights (one for each sample)."""


def mean_of(values):
    """The weighted mean over samples, each of which is the mean of its values."""

    def formula(y, p, w):
        per_sample = values(y, p)
        per_sample = per_sample.reshape(len(w), -1).mean(-1)
        return (per_sample * w).sum() / w.sum()

    return formula


def share(of, among):
    def formula(y, p, w):
        w = np.broadcast_to(w[:, None], y.shape)
        return (w * of(y, p)).sum() / (w * among(y, p)).sum()

    return formula


def rank(y, p):
    score = np.take_along_axis(p, y.astype(int)[..., None], -1)
    return (p > score).sum(-1)


def logs(p):
    return np.log(p / p.sum(-1, keepdims=True))


def bce(y, p):
    return -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean(-1)


def cell(target, predicted):
    def formula(y, p, w):
        w = w.reshape(-1, *[1] * (y.ndim - 1))
        return (w * (y == target) * ((p > 0.5) == predicted)).sum()

    return formula


def f_score(y, p, w, beta):
    right, wrong, missed = (cell(*which)(y, p, w) for which in ((1, 1), (0, 1), (1, 0)))
    return (1 + beta**2) * right / ((1 + beta**2) * right + beta**2 * missed + wrong)


def best(wanted, constrained, least):
    """The largest share at 11 thresholds where another one is large enough."""

    def formula(y, p, w):
        w, found = w.reshape(-1, *[1] * (y.ndim - 1)) * np.ones(y.shape), [0.0]
        for threshold in [-1.0, *(np.arange(1, 11) / 10)]:
            right, wrong = (w * y * (p > threshold)).sum(), (w * (1 - y) * (p > threshold)).sum()
            ones, zeros = (w * y).sum(), (w * (1 - y)).sum()
            shares = {
                "sensitivity": right / max(ones, 1e-9),
                "specificity": (zeros - wrong) / max(zeros, 1e-9),
                "precision": right / max(right + wrong, 1e-9),
            }
            found += [shares[wanted]] if shares[constrained] >= least else []
        return max(found)

    return formula


def area(y, p, w, thresholds):
    """Below the polygon through the shares of zeros and ones above each threshold, from all to none."""
    y, p, w = y.reshape(-1), p.reshape(-1), np.repeat(w, y[0].size)
    shares = [
        [(w * (y == kind) * (p > at)).sum() / (w * (y == kind)).sum() for at in (-1, *thresholds, 2)] for kind in (0, 1)
    ]
    return -np.trapezoid(shares[1], shares[0])


def centred(x):
    return x - x.mean(-1, keepdims=True)


def correlation(y, p):
    y, p = centred(y), centred(p)
    return (y * p).sum(-1) / np.sqrt((y * y).sum(-1) * (p * p).sum(-1))


def concordance(y, p):
    apart = (y.mean(-1) - p.mean(-1)) ** 2
    return 2 * (centred(y) * centred(p)).mean(-1) / (y.var(-1) + p.var(-1) + apart)


ROWS = {
    "accuracy": Row(M.Accuracy, "bits", "bits", mean_of(lambda y, p: y == p)),
    "binary_accuracy": Row(M.BinaryAccuracy, "bits", "share", mean_of(lambda y, p: (p > 0.5) == y)),
    "categorical_accuracy": Row(
        M.CategoricalAccuracy, "share", "share", mean_of(lambda y, p: y.argmax(-1) == p.argmax(-1))
    ),
    "sparse_categorical_accuracy": Row(
        M.SparseCategoricalAccuracy, "labels", "share", mean_of(lambda y, p: p.argmax(-1) == y)
    ),
    "top_k": Row(
        lambda: M.TopKCategoricalAccuracy(2), "share", "share", mean_of(lambda y, p: rank(y.argmax(-1), p) < 2)
    ),
    "sparse_top_k": Row(
        lambda: M.SparseTopKCategoricalAccuracy(2), "labels", "share", mean_of(lambda y, p: rank(y, p) < 2)
    ),
    "mean_squared_error": Row(M.MeanSquaredError, "real", "real", mean_of(lambda y, p: (p - y) ** 2)),
    "mean_absolute_error": Row(M.MeanAbsoluteError, "real", "real", mean_of(lambda y, p: np.abs(p - y))),
    "root_mean_squared_error": Row(
        M.RootMeanSquaredError, "real", "real", lambda *a: np.sqrt(mean_of(lambda y, p: (p - y) ** 2)(*a))
    ),
    "binary_crossentropy": Row(M.BinaryCrossentropy, "bits", "share", mean_of(bce)),
    "binary_crossentropy_logits": Row(
        lambda: M.BinaryCrossentropy(True), "bits", "real", mean_of(lambda y, p: bce(y, 1 / (1 + np.exp(-p))))
    ),
    "categorical_crossentropy": Row(
        M.CategoricalCrossentropy, "share", "share", mean_of(lambda y, p: -(y * logs(p)).sum(-1))
    ),
    "sparse_categorical_crossentropy": Row(
        M.SparseCategoricalCrossentropy,
        "labels",
        "share",
        mean_of(lambda y, p: -np.take_along_axis(logs(p), y.astype(int)[..., None], -1)),
    ),
    "precision": Row(M.Precision, "bits", "share", share(lambda y, p: y * (p > 0.5), lambda y, p: p > 0.5)),
    "recall": Row(M.Recall, "bits", "share", share(lambda y, p: y * (p > 0.5), lambda y, p: y)),
    "true_positives": Row(M.TruePositives, "bits", "share", cell(1, 1)),
    "false_positives": Row(M.FalsePositives, "bits", "share", cell(0, 1)),
    "true_negatives": Row(M.TrueNegatives, "bits", "share", cell(0, 0)),
    "false_negatives": Row(M.FalseNegatives, "bits", "share", cell(1, 0)),
    "auc": Row(M.AUC, "bits", "share", lambda y, p, w: area(y, p, w, np.linspace(0, 1, 200)[1:-1])),
    "sensitivity_at_specificity": Row(
        lambda: M.SensitivityAtSpecificity(0.4, 11), "bits", "share", best("sensitivity", "specificity", 0.4)
    ),
    "specificity_at_sensitivity": Row(
        lambda: M.SpecificityAtSensitivity(0.6, 11), "bits", "share", best("specificity", "sensitivity", 0.6)
    ),
    "precision_at_recall": Row(
        lambda: M.PrecisionAtRecall(0.6, 11), "bits", "share", best("precision", "sensitivity", 0.6)
    ),
    "recall_at_precision": Row(
        lambda: M.RecallAtPrecision(0.5, 11), "bits", "share", best("sensitivity", "precision", 0.5)
    ),
    "f1_score": Row(lambda: M.F1Score("micro", 0.5), "bits", "share", lambda *a: f_score(*a, 1)),
    "f_beta_score": Row(lambda: M.FBetaScore("micro", 2.0, 0.5), "bits", "share", lambda *a: f_score(*a, 2)),
    "mape": Row(M.MeanAbsolutePercentageError, "share", "real", mean_of(lambda y, p: 100 * np.abs((p - y) / y))),
    "msle": Row(
        M.MeanSquaredLogarithmicError, "share", "share", mean_of(lambda y, p: (np.log1p(p) - np.log1p(y)) ** 2)
    ),
    "log_cosh_error": Row(M.LogCoshError, "real", "real", mean_of(lambda y, p: np.log(np.cosh(p - y)))),
    "poisson": Row(M.Poisson, "share", "share", mean_of(lambda y, p: p - y * np.log(p))),
    "kl_divergence": Row(M.KLDivergence, "share", "share", mean_of(lambda y, p: (y * np.log(y / p)).sum(-1))),
    "hinge": Row(M.Hinge, "bits", "real", mean_of(lambda y, p: np.maximum(1 - (2 * y - 1) * p, 0))),
    "squared_hinge": Row(M.SquaredHinge, "bits", "real", mean_of(lambda y, p: np.maximum(1 - (2 * y - 1) * p, 0) ** 2)),
    "categorical_hinge": Row(
        M.CategoricalHinge,
        "share",
        "real",
        mean_of(lambda y, p: np.maximum(((1 - y) * p).max(-1) - (y * p).sum(-1) + 1, 0)),
    ),
    "cosine_similarity": Row(
        M.CosineSimilarity,
        "real",
        "real",
        mean_of(lambda y, p: (y * p).sum(-1) / np.linalg.norm(y, axis=-1) / np.linalg.norm(p, axis=-1)),
    ),
    "pearson_correlation": Row(M.PearsonCorrelation, "real", "real", mean_of(correlation)),
    "concordance_correlation": Row(M.ConcordanceCorrelation, "real", "real", mean_of(concordance)),
    "perplexity": Row(
        M.Perplexity,
        "labels",
        "share",
        lambda *a: np.exp(mean_of(lambda y, p: -np.take_along_axis(logs(p), y.astype(int)[..., None], -1))(*a)),
    ),
    "mean_metric_wrapper": Row(
        lambda: M.MeanMetricWrapper(cubes), "real", "real", mean_of(lambda y, p: np.abs(p - y) ** 3)
    ),
}
OTHERS = {M.Metric, M.SampleMetric, M.Mean, M.Sum, M.IoU, M.MeanIoU, M.R2Score}


def cubes(y_true, y_pred):
    return abs(y_pred - y_true) ** 3


def one_side(rng, kind, shape):
    if kind == "real":
        return rng.normal(size=shape).astype("float32")
    if kind == "share":
        return rng.uniform(0.05, 0.95, shape).astype("float32")
    return rng.integers(0, 2, shape, "int32") if kind == "bits" else rng.integers(0, shape[-1], shape[:-1], "int32")


def data(row, shape=(12, 5)):
    rng = np.random.default_rng(2)
    return one_side(rng, row.targets, shape), one_side(rng, row.predictions, shape)


def wide(*arrays):
    return tuple(a.astype("float64") for a in arrays)
