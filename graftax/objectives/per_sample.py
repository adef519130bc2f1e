"""The formulas behind losses and metrics: targets and predictions in, one number for each sample out.

The first axis counts samples. Regression formulas take the mean over the last axis if there is another one before it;
crossentropies sum over the classes. All compute in at least float32.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from graftax import ops
from graftax.core.errors import ShapeError
from graftax.core.typedefs import Array, ArrayLike
from graftax.objectives import weights
from graftax.objectives.labels import class_labels, class_pair
from graftax.objectives.pairs import pair, pair_of_vectors
from graftax.objectives.ranges import check_range
from graftax.variables.floating import to_floating

EPSILON = 1e-7
"""What probabilities are kept away from 0 and 1."""

_CONSTANT = "it is constant, and the correlation is 0 whatever the predictions are"


def _mean(values: Array) -> Array:
    return ops.mean(values, axis=-1) if values.ndim > 1 else values


# --- regression -----------------------------------------------------------------------------------------------------


def mean_squared_error(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    """Compute ``mean((y_pred - y_true)²)``."""
    y_true, y_pred = pair(y_true, y_pred)
    return _mean(ops.square(y_pred - y_true))


def mean_absolute_error(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    """Compute ``mean(|y_pred - y_true|)``."""
    y_true, y_pred = pair(y_true, y_pred)
    return _mean(ops.abs(y_pred - y_true))


def mean_absolute_percentage_error(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    """Compute ``100 mean(|y_pred - y_true| / max(|y_true|, 1e-7))``."""
    y_true, y_pred = pair(y_true, y_pred)
    return 100 * _mean(ops.abs(y_pred - y_true) / ops.maximum(ops.abs(y_true), EPSILON))


def mean_squared_logarithmic_error(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    """Compute ``mean((log(1 + y_pred) - log(1 + y_true))²)``, negative values taken as 0."""
    y_true, y_pred = pair(y_true, y_pred)
    logs = [ops.log1p(ops.maximum(y, EPSILON)) for y in (y_true, y_pred)]
    return _mean(ops.square(logs[1] - logs[0]))


def huber(y_true: ArrayLike, y_pred: ArrayLike, delta: float = 1.0) -> Array:
    """Compute ``mean(d²/2 if |d| <= delta else delta |d| - delta²/2)`` with ``d = y_pred - y_true``."""
    y_true, y_pred = pair(y_true, y_pred)
    distance = ops.abs(y_pred - y_true)
    near = ops.minimum(distance, delta)  # written so that both gradients are exact at the seam
    return _mean(near * (distance - 0.5 * near))


def log_cosh(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    """Compute ``mean(log(cosh(y_pred - y_true)))``, without overflow and exact near 0."""
    y_true, y_pred = pair(y_true, y_pred)
    distance = ops.abs(y_pred - y_true)
    return _mean(distance + ops.log1p(0.5 * ops.expm1(-2 * distance)))


def poisson(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    """Compute ``mean(y_pred - y_true log(y_pred + 1e-7))``."""
    y_true, y_pred = pair(y_true, y_pred)
    check_counts(y_true)
    check_range(y_pred, 0.0, math.inf, "y_pred", "a Poisson rate is not negative", "ops.exp or softplus as activation")
    return _mean(y_pred - y_true * ops.log(y_pred + EPSILON))


def check_counts(y_true: ArrayLike) -> None:
    """Raise if a count at hand is negative."""
    check_range(y_true, 0.0, math.inf, "y_true", "counts are not negative", "ops.maximum(y_true, 0), or another loss")


def cosine_similarity(y_true: ArrayLike, y_pred: ArrayLike, axis: int = -1) -> Array:
    """Compute ``y_true · y_pred / (‖y_true‖ ‖y_pred‖)`` along an axis, and 0 where one of them is 0."""
    y_true, y_pred = pair_of_vectors(y_true, y_pred, axis, "their cosine is 1 or -1, the signs alone, without a slope")
    units = [y / ops.maximum(ops.norm(y, axis=axis, keepdims=True), EPSILON) for y in (y_true, y_pred)]
    return ops.sum(units[0] * units[1], axis=axis)


def pearson_correlation(y_true: ArrayLike, y_pred: ArrayLike, axis: int = -1) -> Array:
    """Compute ``cov(y_true, y_pred) / (std_true std_pred)`` along an axis, and 0 where one of them is constant."""
    y_true, y_pred = pair_of_vectors(y_true, y_pred, axis, _CONSTANT)
    left, right = (y - ops.mean(y, axis=axis, keepdims=True) for y in (y_true, y_pred))
    units = [ops.divide_no_nan(one, ops.norm(one, axis=axis, keepdims=True)) for one in (left, right)]
    return ops.sum(units[0] * units[1], axis=axis)


def concordance_correlation(y_true: ArrayLike, y_pred: ArrayLike, axis: int = -1) -> Array:
    """Compute ``2 cov / (var_true + var_pred + (mean_true - mean_pred)²)`` along an axis, and 0 where that is 0 / 0."""
    y_true, y_pred = pair_of_vectors(y_true, y_pred, axis, _CONSTANT)
    means = [ops.mean(y, axis=axis, keepdims=True) for y in (y_true, y_pred)]
    left, right = y_true - means[0], y_pred - means[1]
    apart = ops.squeeze(ops.square(means[0] - means[1]), axis)
    below = ops.mean(ops.square(left) + ops.square(right), axis=axis) + apart
    return ops.divide_no_nan(2 * ops.mean(left * right, axis=axis), below)


# --- classification -------------------------------------------------------------------------------------------------


def binary_crossentropy(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    pos_weight: float | Sequence[float] | None = None,
) -> Array:
    """Compute ``-mean(w y_true log p + (1 - y_true) log(1 - p))``; ``p`` is ``y_pred``, or its sigmoid from logits."""
    y_true, y_pred = pair(y_true, y_pred)
    check_binary_targets(y_true)
    if isinstance(pos_weight, Sequence) and y_pred.ndim < 2:
        raise ShapeError(
            f"pos_weight with {len(pos_weight)} numbers, y_pred {list(y_pred.shape)}",
            "there is one for each label, the last axis, and here that is the one of samples",
            f"pos_weight={pos_weight[0]}",
        )
    if label_smoothing:
        y_true = y_true * (1 - label_smoothing) + 0.5 * label_smoothing
    if from_logits:
        # the usual max(x, 0) - x y + log(1 + exp(-|x|)) is cheaper, but its gradient is wrong at 0 and cancels far out
        positive = weights.multiply_along("pos_weight", pos_weight, y_true, -1)
        return _mean(positive * ops.softplus(-y_pred) + (1 - y_true) * ops.softplus(y_pred))
    check_range(y_pred, 0, 1, "y_pred", "probabilities are in [0, 1]; these look like logits", "from_logits=True")
    p = ops.clip(y_pred, EPSILON, 1 - EPSILON)
    positive = weights.multiply_along("pos_weight", pos_weight, y_true, -1)
    return _mean(-(positive * ops.log(p) + (1 - y_true) * ops.log(1 - p)))


def check_binary_targets(y_true: ArrayLike) -> None:
    """Raise if a target at hand is outside [0, 1]."""
    check_range(y_true, 0, 1, "y_true", "binary targets are in [0, 1]", "0 and 1 for the two classes")


def categorical_crossentropy(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
    class_weight: Sequence[float] | None = None,
) -> Array:
    """Compute ``-sum(w y_true log p)`` over classes, p being ``y_pred / sum(y_pred)`` or ``softmax(y_pred)``."""
    y_true, y_pred = class_pair(y_true, y_pred, axis)
    if label_smoothing:
        y_true = y_true * (1 - label_smoothing) + label_smoothing / y_pred.shape[axis]
    logs = ops.log_softmax(y_pred, axis=axis) if from_logits else _logs(y_pred, axis)
    # a class that is ruled out (logit -inf) costs nothing where it is not the target
    nothing = ops.logical_and(ops.equal(logs, -math.inf), ops.equal(y_true, 0))
    y_true = weights.multiply_along("class_weight", class_weight, y_true, axis)
    return -ops.sum(y_true * ops.where(nothing, 0.0, logs), axis=axis)


def sparse_categorical_crossentropy(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    from_logits: bool = False,
    ignore_class: int | None = None,
    axis: int = -1,
    class_weight: Sequence[float] | None = None,
    label_smoothing: float = 0.0,
) -> Array:
    """Compute ``-w log p[y_true]``, and 0 for the class to ignore; in compiled code a label out of range gives nan.

    With smoothing ``s`` it is ``1 - s`` times that, and ``s`` times the mean of ``-w log p`` over all classes.
    """
    y_pred = to_floating(y_pred)
    labels = class_labels(y_true, y_pred.shape, axis, ignore_class)
    classes = y_pred.shape[axis]
    picked = ops.expand_dims(ops.clip(labels, 0, classes - 1), axis)
    if from_logits:
        chosen = ops.squeeze(ops.take_along_axis(y_pred, picked, axis), axis)
        total: Array | None = ops.logsumexp(y_pred, axis=axis)
        values = total - chosen
    else:
        total = None
        values = -ops.squeeze(ops.take_along_axis(_logs(y_pred, axis), picked, axis), axis)
    if class_weight is not None:
        weights.check_count("class_weight", class_weight, classes)
        each = ops.asarray(class_weight, values.dtype.name)
        values = values * ops.squeeze(ops.take(each, picked, axis=0), axis)
    if label_smoothing:
        costs = -_logs(y_pred, axis) if total is None else ops.expand_dims(total, axis) - y_pred
        all_alike = ops.mean(weights.multiply_along("class_weight", class_weight, costs, axis), axis=axis)
        values = (1 - label_smoothing) * values + label_smoothing * all_alike
    values = ops.where(ops.logical_or(labels < 0, labels >= classes), math.nan, values)
    return values if ignore_class is None else ops.where(ops.equal(labels, ignore_class), 0.0, values)


def categorical_generalized_cross_entropy(
    y_true: ArrayLike, y_pred: ArrayLike, q: float = 0.5, from_logits: bool = False
) -> Array:
    """Compute ``(1 - p[y_true]^q) / q``; in compiled code a label out of range gives nan."""
    y_pred = to_floating(y_pred)
    labels = class_labels(y_true, y_pred.shape)
    classes = y_pred.shape[-1]
    if not from_logits:
        check_range(y_pred, 0, 1, "y_pred", "probabilities are in [0, 1]; these look like logits", "from_logits=True")
    shares = ops.softmax(y_pred) if from_logits else y_pred
    picked = ops.expand_dims(ops.clip(labels, 0, classes - 1), -1)
    share = ops.squeeze(ops.take_along_axis(shares, picked, -1), -1)
    values = (1 - ops.power(ops.maximum(share, EPSILON), q)) / q  # at 0 the slope of a power is infinite
    return ops.where(ops.logical_or(labels < 0, labels >= classes), math.nan, values)


def _logs(y_pred: Array, axis: int) -> Array:
    """Compute logarithms of shares of the sum; nan where that is 0, but with a finite slope, for weights of 0."""
    check_range(
        y_pred, 0, math.inf, "y_pred", "probabilities are not negative; these look like logits", "from_logits=True"
    )
    largest = ops.stop_gradient(ops.max(y_pred, axis=axis, keepdims=True))
    near_one = y_pred / ops.where(largest > 0, largest, 1.0)  # the slope divides by the square of the sum
    total = ops.sum(near_one, axis=axis, keepdims=True)
    shares = near_one / ops.where(total > 0, total, 1.0)
    return ops.where(total > 0, ops.log(ops.clip(shares, EPSILON, 1 - EPSILON)), math.nan)


def kl_divergence(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    """Compute ``sum(y_true log(y_true / y_pred))`` over the last axis, both kept within [1e-7, 1]."""
    y_true, y_pred = class_pair(y_true, y_pred)
    for name, y in (("y_true", y_true), ("y_pred", y_pred)):
        check_range(y, 0, 1, name, "probabilities are in [0, 1]; the divergence takes no logits", "ops.softmax first")
    p, q = ops.clip(y_true, EPSILON, 1), ops.clip(y_pred, EPSILON, 1)
    return ops.sum(p * ops.log(p / q), axis=-1)


def categorical_hinge(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    """Compute ``max(1 + max((1 - y_true) y_pred) - sum(y_true y_pred), 0)`` over the classes of the last axis."""
    y_true, y_pred = class_pair(y_true, y_pred)
    mine, best = ops.sum(y_true * y_pred, axis=-1), ops.max((1 - y_true) * y_pred, axis=-1)
    return ops.maximum(best - mine + 1, 0)


def hinge(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    """Compute ``mean(max(1 - y_true y_pred, 0))``; targets are -1 or 1, and 0 is taken as -1."""
    return _mean(_margin(y_true, y_pred))


def squared_hinge(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    """Compute ``mean(max(1 - y_true y_pred, 0)²)``; targets are -1 or 1, and 0 is taken as -1."""
    return _mean(ops.square(_margin(y_true, y_pred)))


def check_signs(y_true: ArrayLike) -> None:
    """Raise if a target at hand is outside [-1, 1]."""
    check_range(y_true, -1, 1, "y_true", "targets of a hinge are -1 and 1, or 0 and 1", "2 * y_true - 1 of 0 and 1")


def _margin(y_true: ArrayLike, y_pred: ArrayLike) -> Array:
    y_true, y_pred = pair(y_true, y_pred)
    check_signs(y_true)
    return ops.maximum(1 - ops.where(ops.equal(y_true, 0), -1.0, y_true) * y_pred, 0)
