"""Accuracies: how often a prediction is right."""

from __future__ import annotations

from graftax import ops
from graftax.errors import ArgumentError
from graftax.metrics.reduction import SampleMetric
from graftax.targets import class_labels, class_pair, floating, pair
from graftax.typedefs import Array, ArrayLike


class Accuracy(SampleMetric):
    """How often predictions equal the targets.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> float(Accuracy()([1, 2, 3], [1, 2, 0]))
        0.6666666865348816
    """

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """True where they are equal."""
        return ops.equal(*pair(y_true, y_pred))


class BinaryAccuracy(SampleMetric):
    """How often a prediction lies on the side of the threshold that its target, 0 or 1, says.

    Args:
        threshold: A prediction counts as 1 if it is greater, so exactly at the threshold as 0. Logits need
            ``threshold=0.0``.
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> float(BinaryAccuracy()([[1], [0], [1], [0]], [[0.9], [0.5], [0.5], [0.1]]))
        0.75
    """

    def __init__(self, threshold: float = 0.5, name: str | None = None, dtype: str = "float32") -> None:
        super().__init__(name, dtype)
        self.threshold = threshold

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """True where the side is right."""
        y_true, y_pred = pair(y_true, y_pred)
        return ops.equal(y_true, ops.cast(ops.greater(y_pred, self.threshold), y_true.dtype.name))


class CategoricalAccuracy(SampleMetric):
    """How often the largest prediction is that of the class with the largest target, such as the 1 of a one-hot row.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> float(CategoricalAccuracy()([[0, 1], [1, 0]], [[0.2, 0.8], [0.3, 0.7]]))
        0.5
    """

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """True where the class is right."""
        y_true, y_pred = class_pair(y_true, y_pred)
        return ops.equal(ops.argmax(y_true, -1), ops.argmax(y_pred, -1))


class SparseCategoricalAccuracy(SampleMetric):
    """How often the largest prediction is that of the label.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.

    Shape:
        ``(batch, ...), (batch, ..., classes)``; targets may have a last axis of 1.

    Raises:
        IndexRangeError: a label is not in ``[0, classes)``; in eager code only.

    Example:
        >>> float(SparseCategoricalAccuracy()([1, 0], [[0.2, 0.8], [0.3, 0.7]]))
        0.5
    """

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """True where the class is right."""
        y_pred = floating(y_pred)
        labels = class_labels(y_true, y_pred.shape)
        return ops.equal(labels, ops.cast(ops.argmax(y_pred, -1), labels.dtype.name))


class SparseTopKCategoricalAccuracy(SampleMetric):
    """How often fewer than ``k`` classes are predicted above the label; classes tied with it count in its favour.

    Args:
        k: How many classes to look at.
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> float(SparseTopKCategoricalAccuracy(k=2)([2, 0], [[0.5, 0.1, 0.4], [0.1, 0.6, 0.3]]))
        0.5
    """

    def __init__(self, k: int = 5, name: str | None = None, dtype: str = "float32") -> None:
        super().__init__(name, dtype)
        self.k = _positive(k)

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """True where the label is among the first."""
        y_pred = floating(y_pred)
        return _among_first(class_labels(y_true, y_pred.shape), y_pred, self.k)


class TopKCategoricalAccuracy(SampleMetric):
    """How often fewer than ``k`` classes are predicted above that with the largest target; ties count as right.

    Args:
        k: How many classes to look at.
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> float(TopKCategoricalAccuracy(k=2)([[0, 0, 1], [1, 0, 0]], [[0.5, 0.1, 0.4], [0.1, 0.6, 0.3]]))
        0.5
    """

    def __init__(self, k: int = 5, name: str | None = None, dtype: str = "float32") -> None:
        super().__init__(name, dtype)
        self.k = _positive(k)

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """True where the class is among the first."""
        y_true, y_pred = class_pair(y_true, y_pred)
        return _among_first(ops.argmax(y_true, -1), y_pred, self.k)


def _among_first(labels: Array, y_pred: Array, k: int) -> Array:
    classes = y_pred.shape[-1]
    known = ops.logical_and(labels >= 0, labels < classes)
    picked = ops.expand_dims(ops.clip(labels, 0, classes - 1), -1)
    score = ops.take_along_axis(y_pred, picked, -1)
    above = ops.count_nonzero(ops.greater(y_pred, score), axis=-1)
    counts = ops.logical_and(known, ops.logical_not(ops.isnan(ops.squeeze(score, -1))))  # nan has nothing above it
    return ops.logical_and(above < k, counts)


def _positive(k: int) -> int:
    if not isinstance(k, int) or k < 1:
        raise ArgumentError(f"k={k!r}", "at least one class must be looked at", "k=5")
    return k
