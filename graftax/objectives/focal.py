"""Crossentropies in which what is predicted well already counts less.

Source: Lin et al., arXiv 1708.02002.
"""

from __future__ import annotations

from collections.abc import Sequence

from graftax import ops
from graftax.core.typedefs import Array, ArrayLike
from graftax.objectives import weights
from graftax.objectives.labels import class_pair
from graftax.objectives.pairs import pair
from graftax.objectives.per_sample import EPSILON, check_binary_targets
from graftax.objectives.ranges import check_range


def binary_focal_crossentropy(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    alpha: float | None = None,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
) -> Array:
    """Compute ``-mean(w (1 - p_t)^gamma log p_t)``, p_t being ``p`` where the target is 1, ``1 - p`` where it is 0."""
    y_true, y_pred = pair(y_true, y_pred)
    check_binary_targets(y_true)
    if label_smoothing:
        y_true = y_true * (1 - label_smoothing) + 0.5 * label_smoothing
    if from_logits:
        entropy = y_true * ops.softplus(-y_pred) + (1 - y_true) * ops.softplus(y_pred)
        missed = y_true * ops.sigmoid(-y_pred) + (1 - y_true) * ops.sigmoid(y_pred)
    else:
        check_range(y_pred, 0, 1, "y_pred", "probabilities are in [0, 1]; these look like logits", "from_logits=True")
        p = ops.clip(y_pred, EPSILON, 1 - EPSILON)
        entropy = -(y_true * ops.log(p) + (1 - y_true) * ops.log(1 - p))
        missed = y_true * (1 - p) + (1 - y_true) * p
    values = _power(missed, gamma) * entropy
    if alpha is not None:
        values = values * (y_true * alpha + (1 - y_true) * (1 - alpha))
    return ops.mean(values, axis=-1) if values.ndim > 1 else values


def categorical_focal_crossentropy(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    alpha: float | Sequence[float] | None = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Array:
    """Compute ``-sum(alpha (1 - p)^gamma y_true log p)`` over classes, p being as for the crossentropy."""
    y_true, y_pred = class_pair(y_true, y_pred, axis)
    if label_smoothing:
        y_true = y_true * (1 - label_smoothing) + label_smoothing / y_pred.shape[axis]
    if from_logits:
        p = ops.softmax(y_pred, axis=axis)
    else:
        check_range(
            y_pred, 0, float("inf"), "y_pred", "probabilities are not negative; these look like logits",
            "from_logits=True",
        )  # fmt: skip
        total = ops.sum(y_pred, axis=axis, keepdims=True)
        p = ops.divide(y_pred, ops.where(total > 0, total, 1.0))
    p = ops.clip(p, EPSILON, 1 - EPSILON)
    values = _power(1 - p, gamma) * -ops.log(p) * y_true
    return ops.sum(weights.multiply_along("alpha", alpha, values, axis), axis=axis)


def _power(missed: Array, gamma: float) -> Array:
    """Compute the power, with a slope at 0 where the exponent is below 1, too."""
    if gamma == 0:
        return ops.ones_like(missed)
    return ops.power(ops.maximum(missed, EPSILON) if gamma < 1 else missed, gamma)
