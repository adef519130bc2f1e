"""What the first sentences of losses and metrics say is what they compute with their defaults, number for number."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graftax import losses, metrics
from graftax.losses import Loss
from graftax.metrics import Metric

Formula = Callable[[Any, Any], Any]
REAL = np.array([[0.5, -1.5, 2.0], [-0.25, 3.0, 1.0]]), np.array([[1.0, 0.75, -2.0], [0.5, 2.5, -0.5]])
POSITIVE = np.array([[0.5, 1.5, 2.0], [0.25, 3.0, 1.0]]), np.array([[1.0, 0.75, 2.5], [0.5, 2.5, 0.125]])
SHARES = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]), np.array([[0.5, 0.25, 0.125], [0.75, 0.375, 0.875]])
SIDES = np.array([[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]]), REAL[1]
ROWS = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), SHARES[1]  # of predictions that do not add up to 1
SPREAD = np.array([[0.2, 0.3, 0.5], [0.5, 0.25, 0.25]]), np.array([[0.5, 0.25, 0.25], [0.125, 0.375, 0.5]])
LABELS = np.array([0, 2]), SHARES[1]
DISTRIBUTED = np.array([0, 2]), SPREAD[1]
GAUSSIAN = REAL[0], np.concatenate([REAL[1], [[0.5, -1.0, 2.0], [-0.5, 0.25, 1.5]]], -1)


def mean(x: Any) -> Any:
    return x.mean(-1)


def total(x: Any) -> Any:
    return x.sum(-1)


def picked(p: Any, y: Any) -> Any:
    return np.take_along_axis(p, y[:, None], -1)[:, 0]


def portions(p: Any) -> Any:
    return p / p.sum(-1, keepdims=True)


def cosine(y: Any, p: Any) -> Any:
    return total(y * p) / (np.linalg.norm(y, axis=-1) * np.linalg.norm(p, axis=-1))


def bce(y: Any, p: Any) -> Any:
    return -(y * np.log(p) + (1 - y) * np.log(1 - p))


def right(y: Any, p: Any) -> Any:
    return np.where(y == 1, p, 1 - p)


def gaussian(y: Any, p: Any) -> Any:
    centre, s = np.split(p, 2, -1)
    return mean(s + (y - centre) ** 2 * np.exp(-s)) / 2


def huber(y: Any, p: Any) -> Any:
    d = p - y
    return mean(np.where(abs(d) <= 1, d**2 / 2, abs(d) - 1 / 2))


def concordance(y: Any, p: Any) -> Any:
    cov = mean((y - y.mean(-1, keepdims=True)) * (p - p.mean(-1, keepdims=True)))
    return 2 * cov / (y.var(-1) + p.var(-1) + (mean(y) - mean(p)) ** 2)


def r2(y: Any, p: Any) -> Any:
    return (1 - ((y - p) ** 2).sum(0) / ((y - y.mean(0)) ** 2).sum(0)).mean()


def overlap(y: Any, p: Any) -> Any:
    return 1 - 2 * total(y * p) / (total(y) + total(p))


def counted(y: Any, p: Any) -> Any:
    return 1 - total(y * p) / (total(y * p) + 0.5 * total((1 - y) * p) + 0.5 * total(y * (1 - p)))


HINGE = "max(1 + max((1 - y_true) y_pred) - sum(y_true y_pred), 0)"


def categorical_hinge(y: Any, p: Any) -> Any:
    return np.maximum(1 + ((1 - y) * p).max(-1) - total(y * p), 0)


def sparse(y: Any, p: Any) -> Any:
    return -np.log(picked(portions(p), y))


def relative(y: Any, p: Any) -> Any:
    return 100 * abs(p - y) / np.maximum(abs(y), 1e-7)


def of_logs(y: Any, p: Any) -> Any:
    return (np.log(1 + p) - np.log(1 + y)) ** 2


def counts(y: Any, p: Any) -> Any:
    return p - y * np.log(p + 1e-7)


L, M = losses, metrics
STATED: dict[type[Loss], tuple[str, Any, Formula]] = {
    L.BinaryCrossentropy: ("-(y_true log p + (1 - y_true) log(1 - p))", SHARES, lambda y, p: mean(bce(y, p))),
    L.CategoricalCrossentropy: ("-sum(y_true log p)", ROWS, lambda y, p: -total(y * np.log(portions(p)))),
    L.SparseCategoricalCrossentropy: ("-log p[y_true]", LABELS, sparse),
    L.CategoricalGeneralizedCrossEntropy: (
        "(1 - p[y_true]^q) / q", DISTRIBUTED, lambda y, p: (1 - picked(p, y) ** 0.5) / 0.5,
    ),
    L.KLDivergence: ("sum(y_true log(y_true / y_pred))", SPREAD, lambda y, p: total(y * np.log(y / p))),
    L.CategoricalHinge: (HINGE, ROWS, categorical_hinge),
    L.Hinge: ("mean(max(1 - y_true y_pred, 0))", SIDES, lambda y, p: mean(np.maximum(1 - y * p, 0))),
    L.SquaredHinge: ("mean(max(1 - y_true y_pred, 0)²)", SIDES, lambda y, p: mean(np.maximum(1 - y * p, 0) ** 2)),
    L.BinaryFocalCrossentropy: (
        "-mean(w (1 - p_t)^gamma log p_t)", SHARES, lambda y, p: -mean((1 - right(y, p)) ** 2 * np.log(right(y, p))),
    ),
    L.CategoricalFocalCrossentropy: (
        "-sum(alpha (1 - p)^gamma y_true log p)", ROWS,
        lambda y, p: -total(0.25 * (1 - portions(p)) ** 2 * y * np.log(portions(p))),
    ),
    L.MeanSquaredError: ("mean((y_pred - y_true)²)", REAL, lambda y, p: mean((p - y) ** 2)),
    L.MeanAbsoluteError: ("mean(|y_pred - y_true|)", REAL, lambda y, p: mean(abs(p - y))),
    L.MeanAbsolutePercentageError: (
        "100 mean(|y_pred - y_true| / max(|y_true|, 1e-7))", REAL, lambda y, p: mean(relative(y, p)),
    ),
    L.MeanSquaredLogarithmicError: (
        "mean((log(1 + y_pred) - log(1 + y_true))²)", POSITIVE, lambda y, p: mean(of_logs(y, p)),
    ),
    L.Huber: ("d²/2", REAL, huber),
    L.LogCosh: ("mean(log(cosh(y_pred - y_true)))", REAL, lambda y, p: mean(np.log(np.cosh(p - y)))),
    L.Poisson: ("mean(y_pred - y_true log(y_pred + 1e-7))", POSITIVE, lambda y, p: mean(counts(y, p))),
    L.CosineSimilarity: ("-y_true · y_pred / (‖y_true‖ ‖y_pred‖)", REAL, lambda y, p: -cosine(y, p)),
    L.GaussianNLL: ("mean(s + (y_true - mean)² exp(-s)) / 2", GAUSSIAN, gaussian),
    L.Dice: ("1 - (2 Σ y_true y_pred + e) / (Σ y_true + Σ y_pred + e)", SHARES, overlap),
    L.Tversky: ("1 - (TP + e) / (TP + alpha FP + beta FN + e)", SHARES, counted),
}  # fmt: skip
"""Of each class: what its docstring says, targets and predictions, and the same in NumPy."""
MEASURED: dict[type[Metric], tuple[str, Any, Formula]] = {
    M.BinaryCrossentropy: ("The mean of ``-(y_true log p + (1 - y_true) log(1 - p))``", SHARES, bce),
    M.CategoricalCrossentropy: (
        "The mean of ``-sum(y_true log p)``", ROWS, lambda y, p: -total(y * np.log(portions(p))),
    ),
    M.SparseCategoricalCrossentropy: ("The mean of ``-log p[y_true]``", LABELS, sparse),
    M.Perplexity: ("``exp`` of the mean of ``-log p[y_true]``", LABELS, lambda y, p: np.exp(sparse(y, p).mean())),
    M.CategoricalHinge: (f"The mean of ``{HINGE}``", ROWS, categorical_hinge),
    M.Hinge: ("The mean of ``max(1 - y_true y_pred, 0)``", SIDES, lambda y, p: np.maximum(1 - y * p, 0)),
    M.SquaredHinge: ("The mean of ``max(1 - y_true y_pred, 0)²``", SIDES, lambda y, p: np.maximum(1 - y * p, 0) ** 2),
    M.KLDivergence: (
        "The mean of ``sum(y_true log(y_true / y_pred))``", SPREAD, lambda y, p: total(y * np.log(y / p)),
    ),
    M.LogCoshError: ("The mean of ``log(cosh(y_pred - y_true))``", REAL, lambda y, p: np.log(np.cosh(p - y))),
    M.MeanSquaredError: ("The mean of ``(y_pred - y_true)²``", REAL, lambda y, p: (p - y) ** 2),
    M.MeanAbsoluteError: ("The mean of ``|y_pred - y_true|``", REAL, lambda y, p: abs(p - y)),
    M.MeanAbsolutePercentageError: ("The mean of ``100 |y_pred - y_true| / max(|y_true|, 1e-7)``", REAL, relative),
    M.MeanSquaredLogarithmicError: ("The mean of ``(log(1 + y_pred) - log(1 + y_true))²``", POSITIVE, of_logs),
    M.RootMeanSquaredError: (
        "The square root of the mean of ``(y_pred - y_true)²``", REAL, lambda y, p: ((p - y) ** 2).mean() ** 0.5,
    ),
    M.Poisson: ("The mean of ``y_pred - y_true log(y_pred + 1e-7)``", POSITIVE, counts),
    M.CosineSimilarity: ("The mean of ``y_true · y_pred / (‖y_true‖ ‖y_pred‖)``", REAL, cosine),
    M.ConcordanceCorrelation: (
        "The mean of ``2 cov / (var_true + var_pred + (mean_true - mean_pred)²)``", REAL, concordance,
    ),
    M.R2Score: ("``1 - Σ (y_true - y_pred)² / Σ (y_true - mean)²`` over everything seen", REAL, r2),
}  # fmt: skip
ELSEWHERE = {L.Circle, L.TripletSemiHard, M.IoU, M.MeanIoU}
"""Computed one by one in test_of_samples and in the tests of metrics."""


def first_paragraph(cls: type[Any]) -> str:
    return " ".join((inspect.getdoc(cls) or "").split("\n\n")[0].split())


def narrowed(*arrays: Any) -> list[Any]:
    return [x.astype("float32" if x.dtype.kind == "f" else "int32") for x in arrays]


def test_every_formula_in_a_first_sentence_is_in_a_table() -> None:
    for namespace, base in ((losses, Loss), (metrics, Metric)):
        for name in dir(namespace):
            cls = getattr(namespace, name)
            if isinstance(cls, type) and issubclass(cls, base) and "y_true" in first_paragraph(cls):
                assert {*STATED, *MEASURED, *ELSEWHERE} >= {cls}, name


@pytest.mark.parametrize("cls", STATED, ids=lambda cls: cls.__name__)
def test_a_loss_computes_what_its_first_sentence_says(cls: Any) -> None:
    stated, given, formula = STATED[cls]
    assert f"``{stated}" in first_paragraph(cls)
    found = np.asarray(cls(reduction="none")(*narrowed(*given)))
    np.testing.assert_allclose(found, formula(*given), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("cls", MEASURED, ids=lambda cls: cls.__name__)
def test_a_metric_measures_what_its_first_sentence_says(cls: Any) -> None:
    stated, given, formula = MEASURED[cls]
    assert first_paragraph(cls).startswith(stated)
    metric = cls()
    metric.update(*narrowed(*given))
    np.testing.assert_allclose(float(metric.result()), np.mean(formula(*given)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("cls", [cls for cls in STATED if cls is not L.Huber], ids=lambda cls: cls.__name__)
def test_a_function_says_the_same_as_its_class(cls: Any) -> None:
    names = [name for name in dir(losses) if name.replace("_", "") == cls.__name__.lower()]
    assert len(names) == 1
    function = getattr(losses, names[0])
    stated, given, formula = STATED[cls]
    said = " ".join(first_paragraph(function).replace("-mean(", "-").split())
    assert stated.replace("-mean(", "-").strip("()-") in said
    np.testing.assert_allclose(np.asarray(function(*narrowed(*given))), formula(*given), rtol=1e-5, atol=1e-6)
