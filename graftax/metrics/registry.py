"""Metrics by name, and which one is meant by ``"accuracy"``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graftax.core.errors import ArgumentError, ArgumentTypeError, ShapeError
from graftax.core.known_names import unknown
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, Shape
from graftax.metrics import (
    accuracy,
    auc,
    classification,
    confusion,
    correlation,
    errors,
    f_score,
    precision_recall,
    reduction,
    regression,
)
from graftax.metrics.foreign_names import NAMES
from graftax.metrics.metric import Metric
from graftax.objectives import per_sample
from graftax.objectives.hiding import Form
from graftax.variables.graph.module import Module, snake_case

_CLASSES: tuple[type[Metric], ...] = (
    reduction.Mean,
    reduction.Sum,
    accuracy.BinaryAccuracy,
    accuracy.CategoricalAccuracy,
    accuracy.SparseCategoricalAccuracy,
    accuracy.TopKCategoricalAccuracy,
    accuracy.SparseTopKCategoricalAccuracy,
    regression.MeanSquaredError,
    regression.MeanAbsoluteError,
    regression.RootMeanSquaredError,
    classification.BinaryCrossentropy,
    classification.CategoricalCrossentropy,
    classification.SparseCategoricalCrossentropy,
    classification.Perplexity,
    correlation.R2Score,
    correlation.PearsonCorrelation,
    correlation.ConcordanceCorrelation,
    errors.CategoricalHinge,
    precision_recall.Precision,
    precision_recall.Recall,
    auc.AUC,
    f_score.F1Score,
    f_score.FBetaScore,
    confusion.TruePositives,
    confusion.TrueNegatives,
    confusion.FalsePositives,
    confusion.FalseNegatives,
)
_COUNTS: tuple[type[Metric], ...] = (
    confusion.TruePositives,
    confusion.TrueNegatives,
    confusion.FalsePositives,
    confusion.FalseNegatives,
)
_SHORT: dict[str, type[Metric]] = {
    "mse": regression.MeanSquaredError,
    "mae": regression.MeanAbsoluteError,
    "rmse": regression.RootMeanSquaredError,
    "bce": classification.BinaryCrossentropy,
}
_NAMES: dict[str, type[Metric]] = {snake_case(cls.__name__): cls for cls in _CLASSES} | _SHORT
_FORMULAS: dict[str, tuple[Form, Callable[..., Array]]] = {
    "mean_absolute_percentage_error": (Form.ROWS, per_sample.mean_absolute_percentage_error),
    "mape": (Form.ROWS, per_sample.mean_absolute_percentage_error),
    "mean_squared_logarithmic_error": (Form.ROWS, per_sample.mean_squared_logarithmic_error),
    "msle": (Form.ROWS, per_sample.mean_squared_logarithmic_error),
    "huber": (Form.ROWS, per_sample.huber),
    "log_cosh": (Form.ROWS, per_sample.log_cosh),
    "logcosh": (Form.ROWS, per_sample.log_cosh),
    "poisson": (Form.ROWS, per_sample.poisson),
    "cosine_similarity": (Form.VECTORS, per_sample.cosine_similarity),
    "kl_divergence": (Form.VECTORS, per_sample.kl_divergence),
    "kld": (Form.VECTORS, per_sample.kl_divergence),
    "hinge": (Form.ROWS, per_sample.hinge),
    "squared_hinge": (Form.ROWS, per_sample.squared_hinge),
}
"""Means of formulas that no class is named after; the similarity is not negated, as the loss is."""
_BY_SHAPE = {"accuracy": "accuracy", "acc": "accuracy", "crossentropy": "crossentropy", "ce": "crossentropy"}
_SPELLINGS: dict[str, str] = (
    {name: name for name in (*_NAMES, *_FORMULAS)}
    | {cls.__name__: snake_case(cls.__name__) for cls in _CLASSES}
    | {name.upper(): name for name in (*_SHORT, "mape", "msle", "kld")}
)
"""What Keras takes, too: names of classes, capitals."""
_SPELLINGS |= {
    "fbeta_score": "f_beta_score",
    "MeanAbsolutePercentageError": "mape",
    "MeanSquaredLogarithmicError": "msle",
    "CosineSimilarity": "cosine_similarity",
    "KLDivergence": "kl_divergence",
    "LogCoshError": "log_cosh",
    "Poisson": "poisson",
    "Hinge": "hinge",
    "SquaredHinge": "squared_hinge",
}
_ACCURACIES: dict[str, type[Metric]] = {
    "binary": accuracy.BinaryAccuracy,
    "categorical": accuracy.CategoricalAccuracy,
    "sparse": accuracy.SparseCategoricalAccuracy,
}
_CROSSENTROPIES: dict[str, type[Metric]] = {
    "binary": classification.BinaryCrossentropy,
    "categorical": classification.CategoricalCrossentropy,
    "sparse": classification.SparseCategoricalCrossentropy,
}
_ONE_NUMBER: dict[type[Metric], dict[str, Any]] = {
    f_score.F1Score: {"average": "macro"},
    f_score.FBetaScore: {"average": "macro"},
}
"""What has a number for each class by default is their mean by name: a name stands for one number."""
_THRESHOLDS = (accuracy.BinaryAccuracy, precision_recall.Precision, precision_recall.Recall, auc.AUC, *_COUNTS)
_KINDS: dict[str, tuple[type[Metric], ...]] = {
    "binary": (
        accuracy.BinaryAccuracy,
        classification.BinaryCrossentropy,
        precision_recall.Precision,
        precision_recall.Recall,
        auc.AUC,
        f_score.F1Score,
        f_score.FBetaScore,
        *_COUNTS,
    ),
    "categorical": (
        accuracy.CategoricalAccuracy,
        accuracy.TopKCategoricalAccuracy,
        classification.CategoricalCrossentropy,
    ),
    "sparse": (
        accuracy.SparseCategoricalAccuracy,
        accuracy.SparseTopKCategoricalAccuracy,
        classification.SparseCategoricalCrossentropy,
        classification.Perplexity,
    ),
}


@door
def get(
    metric: str | Metric | Callable[[Any, Any], Any],
    y_true_shape: Shape | None = None,
    y_pred_shape: Shape | None = None,
    loss: object = None,
) -> Metric:
    """Return a metric from its name, from a function of ``(y_true, y_pred)``, or as it is; it keeps the name.

    A name carries no arguments, and stands for one number: ``"f1_score"`` is the mean over classes. A metric by name,
    for targets of the kind that the loss takes, reads logits where the loss does, leaves out the class that it ignores,
    and finds the classes on the same axis.

    Args:
        metric: The metric. ``"accuracy"`` and ``"crossentropy"`` are chosen by the loss and the shapes.
        y_true_shape: The shape of the targets, for those two.
        y_pred_shape: The shape of the predictions, for those two.
        loss: The loss, whose kind of targets decides for those two, and whose ``from_logits``, ``ignore_class`` and
            ``axis`` hold for what has a name.

    Raises:
        ArgumentError: no metric has that name, it needs shapes, or it has a threshold and gets logits of classes.
        ArgumentTypeError: it is a class, a loss, or nothing that can be called.

    Example:
        >>> get("accuracy", (8,), (8, 10))
        SparseCategoricalAccuracy(name='accuracy')
        >>> get("mae")
        MeanAbsoluteError(name='mae')
    """
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str):
        if needs_shapes(metric):
            if y_true_shape is None or y_pred_shape is None:
                raise ArgumentError(
                    f"metric={metric!r} without shapes", "which one is meant depends on them", f'"binary_{metric}"'
                )
            return _by_shape(metric, tuple(y_true_shape), tuple(y_pred_shape), loss)
        if metric not in _SPELLINGS:
            raise unknown("metric", metric, [*_NAMES, *_FORMULAS, *_BY_SHAPE], foreign=NAMES)
        if _SPELLINGS[metric] in _FORMULAS:
            form, formula = _FORMULAS[_SPELLINGS[metric]]
            return reduction.FormulaMetric(formula, form, metric)
        cls = _NAMES[_SPELLINGS[metric]]
        kind: str = getattr(loss, "target_kind", None) or ""
        if kind in ("categorical", "sparse") and cls in _THRESHOLDS and getattr(loss, "from_logits", False):
            raise ArgumentError(
                f"metric={metric!r} beside {loss!r}",
                "its thresholds lie between probabilities, and the model gives logits of classes",
                'activation="softmax" in the last layer and from_logits=False'
                + (f"; {cls.__name__}(threshold) for logits" if cls is not auc.AUC else ""),
            )
        said = _arguments_from_loss(loss, kind, cls) if cls in _KINDS.get(kind, ()) else {}
        return cls(name=metric, **_ONE_NUMBER.get(cls, {}), **said)
    if isinstance(metric, type | Module) or not callable(metric):
        shown = f"{metric.__name__}()" if isinstance(metric, type) else '"mae"'
        raise ArgumentTypeError(
            f"metric={metric!r}",
            "a metric is a name, a Metric, or a function of (y_true, y_pred)",
            f"metric={'MeanMetricWrapper(loss.call)' if isinstance(metric, Module) else shown}",
        )
    return reduction.MeanMetricWrapper(metric)


def needs_shapes(metric: object) -> bool:
    """Tell whether a name is one that only the first batch can explain.

    Example:
        >>> needs_shapes("accuracy"), needs_shapes("mae")
        (True, False)
    """
    return isinstance(metric, str) and metric in _BY_SHAPE


def target_kind(y_true_shape: Shape, y_pred_shape: Shape, loss: object = None) -> str:
    """Return ``"binary"``, ``"sparse"`` (labels) or ``"categorical"`` (one-hot rows): by the loss, else by shapes.

    Raises:
        ShapeError: the shapes fit none of these.

    Example:
        >>> target_kind((8, 1), (8, 1)), target_kind((8,), (8, 10)), target_kind((8, 10), (8, 10))
        ('binary', 'sparse', 'categorical')
    """
    known: str | None = getattr(loss, "target_kind", None)
    if known is not None:
        return known
    flat = [shape[:-1] if len(shape) > 1 and shape[-1] == 1 else shape for shape in (y_true_shape, y_pred_shape)]
    if flat[0] == flat[1]:
        one_number = len(y_pred_shape) < 2 or y_pred_shape[-1] == 1 or len(y_true_shape) != len(y_pred_shape)
        return "binary" if one_number else "categorical"
    if y_pred_shape[:-1] in (flat[0], y_true_shape):
        return "sparse"
    raise ShapeError(
        f"targets {list(y_true_shape)}, predictions {list(y_pred_shape)}",
        "they are neither binary, nor labels, nor one-hot rows",
        "name the metric in full, such as SparseCategoricalAccuracy()",
    )


def _by_shape(name: str, y_true_shape: Shape, y_pred_shape: Shape, loss: object) -> Metric:
    kind = target_kind(y_true_shape, y_pred_shape, loss)
    if _BY_SHAPE[name] == "crossentropy":
        crossentropy = _CROSSENTROPIES[kind]
        return crossentropy(name=name, **_arguments_from_loss(loss, kind, crossentropy))
    cls = _ACCURACIES[kind]
    return cls(name=name, **_arguments_from_loss(loss, kind, cls))


def _arguments_from_loss(loss: object, kind: str, cls: type[Metric]) -> dict[str, Any]:
    """Return what a loss says about predictions and targets, as arguments of a metric for that kind of targets."""
    from_logits = bool(getattr(loss, "from_logits", False))
    if issubclass(cls, tuple(_CROSSENTROPIES.values())) or cls is auc.AUC:
        said: dict[str, Any] = {"from_logits": from_logits}
    elif cls in _COUNTS:
        said = {"thresholds": 0.0 if from_logits else 0.5}
    else:
        said = {"threshold": 0.0 if from_logits else 0.5} if kind == "binary" else {}
    if kind != "binary" and getattr(loss, "target_kind", None) == kind:
        said["axis"] = getattr(loss, "axis", -1)
    if kind == "sparse":
        said["ignore_class"] = getattr(loss, "ignore_class", None)
    return said
