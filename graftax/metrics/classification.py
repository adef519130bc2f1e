"""Metrics for predictions of classes: crossentropies, precision, recall."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax import ops
from graftax.core import hyperparameters as arguments
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.metrics import exact
from graftax.metrics.confusion import ElementMetric
from graftax.metrics.reduction import SampleMetric
from graftax.objectives import per_sample, targets
from graftax.objectives.hiding import Form


class BinaryCrossentropy(SampleMetric):
    """The mean of ``-(y_true log p + (1 - y_true) log(1 - p))``; see the loss of that name.

    Args:
        from_logits: True if predictions are logits, else they are probabilities.
        label_smoothing: ``s`` moves targets to ``y_true (1 - s) + s / 2``.
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> round(float(BinaryCrossentropy()([[1.0], [0.0]], [[0.5], [0.5]])), 4)
        0.6931
    """

    form = Form.ROWS

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        name: str | None = None,
        dtype: str = "float32",
    ) -> None:
        super().__init__(name, dtype)
        self.from_logits = arguments.flag("from_logits", from_logits)
        self.label_smoothing = arguments.smoothing(label_smoothing)

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the crossentropy of each sample."""
        return per_sample.binary_crossentropy(y_true, y_pred, self.from_logits, self.label_smoothing)

    def check_targets(self, y_true: Any, y_pred_shape: Shape) -> None:
        """Raise if a target is outside [0, 1]."""
        per_sample.check_binary_targets(np.asarray(y_true))


class CategoricalCrossentropy(SampleMetric):
    """The mean of ``-sum(y_true log p)``; see the loss of that name.

    Args:
        from_logits: True if predictions are logits, else they are probabilities.
        label_smoothing: ``s`` moves targets to ``y_true (1 - s) + s / classes``.
        axis: The axis of the classes.
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> round(float(CategoricalCrossentropy()([[1, 0]], [[0.5, 0.5]])), 4)
        0.6931
    """

    form = Form.CLASSES

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        name: str | None = None,
        dtype: str = "float32",
    ) -> None:
        super().__init__(name, dtype)
        self.from_logits = arguments.flag("from_logits", from_logits)
        self.label_smoothing = arguments.smoothing(label_smoothing)
        self.axis = arguments.axis(axis)

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the crossentropy of each sample."""
        return per_sample.categorical_crossentropy(y_true, y_pred, self.from_logits, self.label_smoothing, self.axis)


class SparseCategoricalCrossentropy(SampleMetric):
    """The mean of ``-log p[y_true]``; see the loss of that name.

    Args:
        from_logits: True if predictions are logits, else they are probabilities.
        axis: The axis of the classes.
        name: Its name.
        dtype: The dtype of its Variable.
        ignore_class: A label that does not count, such as -1. Defaults to None: all count.

    Example:
        >>> round(float(SparseCategoricalCrossentropy()([0], [[0.5, 0.5]])), 4)
        0.6931
    """

    form = Form.CLASSES

    def __init__(
        self,
        from_logits: bool = False,
        axis: int = -1,
        name: str | None = None,
        dtype: str = "float32",
        *,
        ignore_class: int | None = None,
    ) -> None:
        super().__init__(name, dtype)
        self.from_logits = arguments.flag("from_logits", from_logits)
        self.axis = arguments.axis(axis)
        self.ignore_class = arguments.ignored(ignore_class)

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the crossentropy of each sample."""
        return per_sample.sparse_categorical_crossentropy(
            y_true, y_pred, self.from_logits, self.ignore_class, self.axis
        )

    def keeps(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array | None:
        """Return where the label is not the one to ignore."""
        return targets.not_ignored(y_true, ops.shape(y_pred), self.axis, self.ignore_class)

    def check_targets(self, y_true: Any, y_pred_shape: Shape) -> None:
        """Raise if a label is not in ``[0, classes)``."""
        targets.check_labels(np.asarray(y_true), targets.num_classes(y_pred_shape, self.axis), self.ignore_class)


class _Share(ElementMetric):
    """Counts true positives, and what they are a share of."""

    def __init__(self, threshold: float = 0.5, name: str | None = None, dtype: str = "float32") -> None:
        super().__init__(name, dtype)
        self.threshold = arguments.threshold(threshold)
        self.sums = self.add_variable((2, 2))

    def compared(self, positive: Array, predicted: Array) -> Array:
        """Return which ones the true positives are a share of."""
        raise AttributeError(f"{type(self).__name__} must define compared(positive, predicted)")

    def count(self, positive: Array, y_pred: Array, amount: Array) -> None:
        """Add the true positives, and what they are a share of."""
        predicted = ops.greater(y_pred, self.threshold)
        found = ops.logical_and(positive, predicted), self.compared(positive, predicted)
        exact.add(self.sums, *(ops.sum(ops.where(one, amount, 0)) for one in found))

    def result(self) -> Array:
        """Return the share so far; 0 of nothing."""
        sums = exact.read(self.sums)
        return ops.divide_no_nan(sums[0], sums[1])


class Precision(_Share):
    """How many of those predicted as 1 are 1; 0 if none is predicted.

    Args:
        threshold: A prediction counts as 1 if it is greater. Predictions that are logits need ``threshold=0.0``.
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> float(Precision()([0, 1, 1, 1], [0.9, 0.9, 0.2, 0.3]))
        0.5
    """

    def compared(self, positive: Array, predicted: Array) -> Array:
        """Return the samples that are predicted as 1."""
        return predicted


class Recall(_Share):
    """How many of those that are 1 are predicted as 1; 0 if none is.

    Args:
        threshold: A prediction counts as 1 if it is greater. Predictions that are logits need ``threshold=0.0``.
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> float(Recall()([0, 1, 1, 1, 1], [0.9, 0.9, 0.2, 0.3, 0.1]))
        0.25
    """

    def compared(self, positive: Array, predicted: Array) -> Array:
        """Return the samples that are 1."""
        return positive
