"""Metrics by name, and which one is meant by ``"accuracy"``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graftax.errors import ArgumentError, ArgumentTypeError, ShapeError
from graftax.known_names import unknown
from graftax.metrics import accuracy, classification, reduction, regression
from graftax.metrics.metric import Metric
from graftax.module import Module, snake_case
from graftax.typedefs import Shape

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
    classification.Precision,
    classification.Recall,
)
_NAMES: dict[str, type[Metric]] = {
    **{snake_case(cls.__name__): cls for cls in _CLASSES},
    "mse": regression.MeanSquaredError,
    "mae": regression.MeanAbsoluteError,
    "rmse": regression.RootMeanSquaredError,
    "bce": classification.BinaryCrossentropy,
}
_BY_SHAPE = {"accuracy": "accuracy", "acc": "accuracy", "crossentropy": "crossentropy", "ce": "crossentropy"}
_ACCURACIES: dict[str, type[Metric]] = {
    "categorical": accuracy.CategoricalAccuracy,
    "sparse": accuracy.SparseCategoricalAccuracy,
}
_CROSSENTROPIES: dict[str, Callable[..., Metric]] = {
    "binary": classification.BinaryCrossentropy,
    "categorical": classification.CategoricalCrossentropy,
    "sparse": classification.SparseCategoricalCrossentropy,
}


def get(
    metric: str | Metric | Callable[[Any, Any], Any],
    y_true_shape: Shape | None = None,
    y_pred_shape: Shape | None = None,
    loss: Any = None,
) -> Metric:
    """A metric from its name, from a function of ``(y_true, y_pred)``, or as it is; a name becomes the metric's name.

    Args:
        metric: The metric. ``"accuracy"`` and ``"crossentropy"`` are chosen by the loss and the shapes.
        y_true_shape: The shape of the targets, for those two.
        y_pred_shape: The shape of the predictions, for those two.
        loss: The loss, whose kind of targets and ``from_logits`` decide for those two.

    Raises:
        ArgumentError: no metric has that name, or it needs shapes.
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
        if metric not in _NAMES:
            raise unknown("metric", metric, [*_NAMES, *_BY_SHAPE])
        return _NAMES[metric](name=metric)
    if isinstance(metric, type | Module) or not callable(metric):
        shown = f"{metric.__name__}()" if isinstance(metric, type) else '"mae"'
        raise ArgumentTypeError(
            f"metric={metric!r}",
            "a metric is a name, a Metric, or a function of (y_true, y_pred)",
            f"metric={'MeanMetricWrapper(loss.call)' if isinstance(metric, Module) else shown}",
        )
    return reduction.MeanMetricWrapper(metric)


def needs_shapes(metric: Any) -> bool:
    """True for the names that only the first batch can explain.

    Example:
        >>> needs_shapes("accuracy"), needs_shapes("mae")
        (True, False)
    """
    return isinstance(metric, str) and metric in _BY_SHAPE


def target_kind(y_true_shape: Shape, y_pred_shape: Shape, loss: Any = None) -> str:
    """``"binary"``, ``"sparse"`` (labels) or ``"categorical"`` (one-hot rows): as the loss says, else by the shapes.

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


def _by_shape(name: str, y_true_shape: Shape, y_pred_shape: Shape, loss: Any) -> Metric:
    kind = target_kind(y_true_shape, y_pred_shape, loss)
    from_logits = bool(getattr(loss, "from_logits", False))
    if _BY_SHAPE[name] == "crossentropy":
        return _CROSSENTROPIES[kind](from_logits=from_logits, name=name)
    if kind == "binary":
        return accuracy.BinaryAccuracy(threshold=0.0 if from_logits else 0.5, name=name)
    return _ACCURACIES[kind](name=name)
