"""Losses as plain functions: one number for each sample, neither weighted nor reduced."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from graftax.core import hyperparameters as arguments
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike
from graftax.losses import settings_at_hand as settings
from graftax.losses.overlap import summed_axes
from graftax.losses.settings_at_hand import check_at_hand
from graftax.objectives import focal, overlap, per_sample, weights


@door
def mean_squared_error(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    """Compute ``mean((y_pred - y_true)²)`` over the last axis.

    Args:
        y_true: Targets.
        y_pred: Predictions, of the same shape.

    Example:
        >>> round(float(mean_squared_error([[0.0, 0.0]], [[1.0, 3.0]])[0]), 4)
        5.0
    """
    return per_sample.mean_squared_error(y_true, y_pred)


@door
def mean_absolute_error(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    """Compute ``mean(|y_pred - y_true|)`` over the last axis.

    Args:
        y_true: Targets.
        y_pred: Predictions, of the same shape.

    Example:
        >>> round(float(mean_absolute_error([[0.0, 0.0]], [[1.0, 3.0]])[0]), 4)
        2.0
    """
    return per_sample.mean_absolute_error(y_true, y_pred)


@door
def mean_absolute_percentage_error(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    """Compute ``100 mean(|y_pred - y_true| / max(|y_true|, 1e-7))`` over the last axis.

    Args:
        y_true: Targets.
        y_pred: Predictions, of the same shape.

    Example:
        >>> round(float(mean_absolute_percentage_error([[2.0]], [[3.0]])[0]), 4)
        50.0
    """
    return per_sample.mean_absolute_percentage_error(y_true, y_pred)


@door
def mean_squared_logarithmic_error(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    """Compute ``mean((log(1 + y_pred) - log(1 + y_true))²)`` over the last axis.

    Args:
        y_true: Targets.
        y_pred: Predictions, of the same shape.

    Example:
        >>> round(float(mean_squared_logarithmic_error([[0.0]], [[1.0]])[0]), 4)
        0.4805
    """
    return per_sample.mean_squared_logarithmic_error(y_true, y_pred)


@door
def huber(y_true: ArrayLike, y_pred: ArrayLike, delta: float = 1.0) -> Array:
    """Compute ``mean(d²/2 if |d| <= delta else delta |d| - delta²/2)`` of errors ``d`` over the last axis.

    Args:
        y_true: Targets.
        y_pred: Predictions, of the same shape.
        delta: Where the parabola turns into a line. Defaults to 1.0.

    Example:
        >>> float(huber([[0.0]], [[3.0]], delta=2.0)[0])
        4.0
    """
    check_at_hand(settings.check_delta, delta)
    return per_sample.huber(y_true, y_pred, delta)


@door
def log_cosh(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    """Compute ``mean(log(cosh(y_pred - y_true)))`` over the last axis.

    Args:
        y_true: Targets.
        y_pred: Predictions, of the same shape.

    Example:
        >>> round(float(log_cosh([[0.0]], [[1.0]])[0]), 4)
        0.4338
    """
    return per_sample.log_cosh(y_true, y_pred)


@door
def poisson(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    """Compute ``mean(y_pred - y_true log(y_pred + 1e-7))`` over the last axis: counts against rates.

    Args:
        y_true: Targets.
        y_pred: Predictions, of the same shape.

    Example:
        >>> round(float(poisson([[2.0]], [[1.0]])[0]), 4)
        1.0
    """
    return per_sample.poisson(y_true, y_pred)


@door
def cosine_similarity(y_true: ArrayLike, y_pred: ArrayLike, axis: int = -1) -> Array:
    """Compute ``-y_true · y_pred / (‖y_true‖ ‖y_pred‖)`` along an axis: -1 for the same direction.

    Args:
        y_true: Targets.
        y_pred: Predictions, of the same shape.
        axis: The axis of the vectors. Defaults to the last one.

    Example:
        >>> float(cosine_similarity([[0.0, 2.0]], [[0.0, 5.0]])[0])
        -1.0
    """
    check_at_hand(arguments.check_axis, axis)
    return -per_sample.cosine_similarity(y_true, y_pred, axis)


@door
def binary_crossentropy(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    pos_weight: float | Sequence[float] | None = None,
) -> Array:
    """Compute ``-mean(y_true log p + (1 - y_true) log(1 - p))`` over the last axis.

    Args:
        y_true: Targets.
        y_pred: Predictions, of the same shape.
        from_logits: True if predictions are logits. Defaults to False.
        label_smoothing: The share of each label that is spread over all. Defaults to 0.0.
        pos_weight: How much more a target of 1 counts than one of 0. Defaults to None, as much.

    Example:
        >>> round(float(binary_crossentropy([[1.0]], [[0.5]])[0]), 4)
        0.6931
    """
    check_at_hand(arguments.check_smoothing, label_smoothing)
    check_at_hand(settings.check_pos_weight, pos_weight)
    return per_sample.binary_crossentropy(y_true, y_pred, from_logits, label_smoothing, pos_weight)


@door
def categorical_crossentropy(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
    class_weight: Sequence[float] | None = None,
) -> Array:
    """Compute ``-sum(y_true log p)`` over the classes.

    Args:
        y_true: Targets.
        y_pred: Predictions, of the same shape.
        from_logits: True if predictions are logits. Defaults to False.
        label_smoothing: The share of each label that is spread over all. Defaults to 0.0.
        axis: The axis of the classes. Defaults to the last one.
        class_weight: How much each class counts. Defaults to None, all alike.

    Example:
        >>> round(float(categorical_crossentropy([[1.0, 0.0]], [[0.5, 0.5]])[0]), 4)
        0.6931
    """
    check_at_hand(arguments.check_smoothing, label_smoothing)
    check_at_hand(arguments.check_axis, axis)
    check_at_hand(weights.of_classes, class_weight)
    return per_sample.categorical_crossentropy(y_true, y_pred, from_logits, label_smoothing, axis, class_weight)


@door
def sparse_categorical_crossentropy(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    from_logits: bool = False,
    ignore_class: int | None = None,
    axis: int = -1,
    class_weight: Sequence[float] | None = None,
    label_smoothing: float = 0.0,
) -> Array:
    """Compute ``-log p[y_true]``, for targets that are labels.

    Args:
        y_true: Integer labels, one for each distribution.
        y_pred: Probabilities, or logits, ``(..., classes)``.
        from_logits: True if predictions are logits. Defaults to False.
        ignore_class: A label that costs 0. Defaults to None, none.
        axis: The axis of the classes. Defaults to the last one.
        class_weight: How much each class counts. Defaults to None, all alike.
        label_smoothing: The share of each label that is spread over all. Defaults to 0.0.

    Example:
        >>> round(float(sparse_categorical_crossentropy([0], [[0.5, 0.5]])[0]), 4)
        0.6931
    """
    check_at_hand(arguments.check_ignored_label, ignore_class)
    check_at_hand(arguments.check_axis, axis)
    check_at_hand(weights.of_classes, class_weight)
    check_at_hand(arguments.check_smoothing, label_smoothing)
    return per_sample.sparse_categorical_crossentropy(
        y_true, y_pred, from_logits, ignore_class, axis, class_weight, label_smoothing
    )


@door
def kl_divergence(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    """Compute ``sum(y_true log(y_true / y_pred))`` over the last axis, both of them probabilities.

    Args:
        y_true: Targets.
        y_pred: Predictions, of the same shape.

    Example:
        >>> round(float(kl_divergence([[0.5, 0.5]], [[0.25, 0.75]])[0]), 4)
        0.1438
    """
    return per_sample.kl_divergence(y_true, y_pred)


@door
def hinge(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    """Compute ``mean(max(1 - y_true y_pred, 0))`` over the last axis, with targets -1 and 1, or 0 and 1.

    Args:
        y_true: Targets.
        y_pred: Predictions, of the same shape.

    Example:
        >>> round(float(hinge([[1.0, 0.0]], [[0.5, -0.5]])[0]), 4)
        0.5
    """
    return per_sample.hinge(y_true, y_pred)


@door
def squared_hinge(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    """Compute ``mean(max(1 - y_true y_pred, 0)²)`` over the last axis, with targets -1 and 1, or 0 and 1.

    Args:
        y_true: Targets.
        y_pred: Predictions, of the same shape.

    Example:
        >>> round(float(squared_hinge([[1.0, 0.0]], [[0.5, -0.5]])[0]), 4)
        0.25
    """
    return per_sample.squared_hinge(y_true, y_pred)


@door
def categorical_hinge(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    """Compute ``max(1 + max((1 - y_true) y_pred) - sum(y_true y_pred), 0)`` over the last axis.

    Args:
        y_true: Targets.
        y_pred: Predictions, of the same shape.

    Example:
        >>> round(float(categorical_hinge([[0.0, 1.0]], [[0.5, 0.75]])[0]), 4)
        0.75
    """
    return per_sample.categorical_hinge(y_true, y_pred)


@door
def binary_focal_crossentropy(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    alpha: float | None = None,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
) -> Array:
    """Compute ``-mean(w (1 - p_t)^gamma log p_t)`` over the last axis; see `BinaryFocalCrossentropy`.

    Args:
        y_true: Targets.
        y_pred: Predictions, of the same shape.
        alpha: The weight of targets of 1, that of 0 being ``1 - alpha``. Defaults to None, no weights.
        gamma: How much less a good prediction counts. Defaults to 2.0.
        from_logits: True if predictions are logits. Defaults to False.
        label_smoothing: The share of each label that is spread over all. Defaults to 0.0.

    Example:
        >>> round(float(binary_focal_crossentropy([[1.0]], [[0.5]])[0]), 4)
        0.1733
    """
    if alpha is not None:
        check_at_hand(settings.check_share, alpha)
    check_at_hand(settings.check_focus, gamma)
    check_at_hand(arguments.check_smoothing, label_smoothing)
    return focal.binary_focal_crossentropy(y_true, y_pred, alpha, gamma, from_logits, label_smoothing)


@door
def categorical_focal_crossentropy(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    alpha: float | Sequence[float] = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Array:
    """Compute ``-sum(alpha (1 - p)^gamma y_true log p)`` over the classes.

    Args:
        y_true: Targets.
        y_pred: Predictions, of the same shape.
        alpha: A factor for all classes, or one for each. Defaults to 0.25.
        gamma: How much less a good prediction counts. Defaults to 2.0.
        from_logits: True if predictions are logits. Defaults to False.
        label_smoothing: The share of each label that is spread over all. Defaults to 0.0.
        axis: The axis of the classes. Defaults to the last one.

    Example:
        >>> round(float(categorical_focal_crossentropy([[1.0, 0.0]], [[0.5, 0.5]], alpha=1.0)[0]), 4)
        0.1733
    """
    check_at_hand(settings.check_factors, alpha)
    check_at_hand(settings.check_focus, gamma)
    check_at_hand(arguments.check_smoothing, label_smoothing)
    check_at_hand(arguments.check_axis, axis)
    return focal.categorical_focal_crossentropy(y_true, y_pred, alpha, gamma, from_logits, label_smoothing, axis)


@door
def dice(y_true: ArrayLike, y_pred: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Compute ``1 - (2 Σ y_true y_pred + e) / (Σ y_true + Σ y_pred + e)`` of each sample.

    Args:
        y_true: Targets.
        y_pred: Predictions, of the same shape.
        axis: The axes that the sums are over. Defaults to None, all but the first.

    Example:
        >>> round(float(dice([[1.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]])[0]), 4)
        0.3333
    """
    return overlap.tversky(y_true, y_pred, axis=summed_axes(axis))


@door
def tversky(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    alpha: float = 0.5,
    beta: float = 0.5,
    axis: int | Sequence[int] | None = None,
) -> Array:
    """Compute ``1 - (TP + e) / (TP + alpha FP + beta FN + e)`` of each sample.

    Args:
        y_true: Targets.
        y_pred: Predictions, of the same shape.
        alpha: How much a false positive counts. Defaults to 0.5.
        beta: How much a false negative counts. Defaults to 0.5.
        axis: The axes that the sums are over. Defaults to None, all but the first.

    Example:
        >>> round(float(tversky([[1.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]], beta=2.0)[0]), 4)
        0.6667
    """
    check_at_hand(partial(settings.check_mistake, "alpha"), alpha)
    check_at_hand(partial(settings.check_mistake, "beta"), beta)
    return overlap.tversky(y_true, y_pred, alpha, beta, summed_axes(axis))
