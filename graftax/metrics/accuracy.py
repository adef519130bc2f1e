"""Accuracies: how often a prediction is right."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax import ops
from graftax.backend import registry
from graftax.core import hyperparameters as arguments
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.metrics import whole_labels
from graftax.metrics.reduction import SampleMetric
from graftax.objectives import per_sample
from graftax.objectives.hiding import Form, Formula
from graftax.objectives.labels import check_labels, class_labels, class_pair, not_ignored, num_classes
from graftax.objectives.pairs import pair, same_shape
from graftax.variables.floating import to_floating


class Accuracy(SampleMetric):
    """How often predictions equal the targets; integers are compared to the last digit.

    Predictions are labels here. For scores and probabilities there are `BinaryAccuracy`, `CategoricalAccuracy` and
    `SparseCategoricalAccuracy`, and in `compile` the name ``"accuracy"``, which chooses one of these.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.

    Raises:
        ArgumentError: predictions have fractions and targets are whole, in eager code; predictions of a floating dtype
            in `fit`, beside a crossentropy of them.

    Example:
        >>> float(Accuracy()([1, 2, 3], [1, 2, 0]))
        0.6666666865348816
    """

    form = Form.ELEMENTS

    @property
    def formula(self) -> Formula:
        """Return which elements of targets and predictions a value is made of."""
        return Formula(self.form, prediction=0)  # no score among labels

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Tell whether they are equal."""
        y_true, y_pred = ops.asarray(y_true), ops.asarray(y_pred)
        if y_pred.dtype.kind not in "iub":
            whole_labels.refuse_scores(y_true, y_pred)
        kind = _shared_integer(y_true.dtype, y_pred.dtype)
        if kind is None:
            return ops.equal(*pair(y_true, y_pred))
        return ops.equal(*same_shape(ops.cast(y_true, kind), ops.cast(y_pred, kind)))


class BinaryAccuracy(SampleMetric):
    """How often a prediction lies on the side of the threshold that its target, 0 or 1, says; nan lies on none.

    Args:
        threshold: A prediction counts as 1 if it is greater, so exactly at the threshold as 0. Logits need
            ``threshold=0.0``.
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> float(BinaryAccuracy()([[1], [0], [1], [0]], [[0.9], [0.5], [0.5], [0.1]]))
        0.75
    """

    form = Form.ELEMENTS

    def __init__(self, threshold: float = 0.5, name: str | None = None, dtype: str = "float32") -> None:
        super().__init__(name, dtype)
        self.threshold = arguments.check_threshold(threshold)

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Tell whether the side is right."""
        y_true, y_pred = pair(y_true, y_pred)
        per_sample.check_binary_targets(y_true)
        right = ops.equal(y_true, ops.cast(ops.greater(y_pred, self.threshold), y_true.dtype.name))
        return ops.logical_and(right, ops.logical_not(ops.isnan(y_pred)))

    def check_targets(self, y_true: Any, y_pred_shape: Shape) -> None:
        """Raise if a target is outside [0, 1]."""
        per_sample.check_binary_targets(np.asarray(y_true))


class CategoricalAccuracy(SampleMetric):
    """How often the largest prediction is that of the class with the largest target, such as the 1 of a one-hot row.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.
        axis: The axis of the classes. Defaults to the last one.

    Example:
        >>> float(CategoricalAccuracy()([[0, 1], [1, 0]], [[0.2, 0.8], [0.3, 0.7]]))
        0.5
    """

    form = Form.CLASSES

    def __init__(self, name: str | None = None, dtype: str = "float32", *, axis: int = -1) -> None:
        super().__init__(name, dtype)
        self.axis = arguments.check_axis(axis)

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Tell whether the class is right."""
        y_true, y_pred = class_pair(y_true, y_pred, self.axis)
        return _is_predicted(y_pred, ops.argmax(y_true, self.axis), self.axis)


class _LabelMetric(SampleMetric):
    """What targets that are labels need: the axis of the classes, a label to ignore."""

    form = Form.CLASSES

    def __init__(self, name: str | None, dtype: str, axis: int, ignore_class: int | None) -> None:
        super().__init__(name, dtype)
        self.axis = arguments.check_axis(axis)
        self.ignore_class = arguments.check_ignored_label(ignore_class)

    def labels(self, y_true: ArrayLike, y_pred: Array) -> Array:
        """Return one integer for each distribution."""
        return class_labels(y_true, y_pred.shape, self.axis, self.ignore_class)

    def keeps(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array | None:
        """Return where the label is not the one to ignore."""
        return not_ignored(y_true, ops.shape(y_pred), self.axis, self.ignore_class)

    def check_targets(self, y_true: object, y_pred_shape: Shape) -> None:
        """Raise if a label is neither in ``[0, classes)`` nor the one to ignore."""
        check_labels(np.asarray(y_true), num_classes(y_pred_shape, self.axis), self.ignore_class)


class SparseCategoricalAccuracy(_LabelMetric):
    """How often the largest prediction is that of the label.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.
        ignore_class: A label that does not count, such as -1. Defaults to None: all count.
        axis: The axis of the classes. Defaults to the last one.

    Shape:
        ``(batch, ...), (batch, ..., classes)``; targets may have a last axis of 1.

    Raises:
        IndexRangeError: a label is not in ``[0, classes)``; in eager code only.

    Example:
        >>> float(SparseCategoricalAccuracy()([1, 0], [[0.2, 0.8], [0.3, 0.7]]))
        0.5
        >>> float(SparseCategoricalAccuracy(ignore_class=-1)([1, -1], [[0.2, 0.8], [0.3, 0.7]]))
        1.0
    """

    def __init__(
        self,
        name: str | None = None,
        dtype: str = "float32",
        *,
        ignore_class: int | None = None,
        axis: int = -1,
    ) -> None:
        super().__init__(name, dtype, axis, ignore_class)

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Tell whether the class is right."""
        y_pred = to_floating(y_pred)
        labels = self.labels(y_true, y_pred)
        return _is_predicted(y_pred, labels, self.axis)


class SparseTopKCategoricalAccuracy(_LabelMetric):
    """How often fewer than ``k`` classes are predicted above the label; classes tied with it count in its favour.

    Args:
        k: How many classes to look at.
        name: Its name.
        dtype: The dtype of its Variable.
        ignore_class: A label that does not count, such as -1. Defaults to None: all count.
        axis: The axis of the classes. Defaults to the last one.

    Raises:
        ArgumentError: ``k`` is not an integer from 1 up; at the first batch: it is more than the classes.

    Example:
        >>> float(SparseTopKCategoricalAccuracy(k=2)([2, 0], [[0.5, 0.1, 0.4], [0.1, 0.6, 0.3]]))
        0.5
    """

    def __init__(
        self,
        k: int = 5,
        name: str | None = None,
        dtype: str = "float32",
        *,
        ignore_class: int | None = None,
        axis: int = -1,
    ) -> None:
        super().__init__(name, dtype, axis, ignore_class)
        self.k = _check_k(k)

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Tell whether the label is among the first."""
        y_pred = to_floating(y_pred)
        return _is_in_top_k(self.labels(y_true, y_pred), y_pred, self.k, self.axis)


class TopKCategoricalAccuracy(SampleMetric):
    """How often fewer than ``k`` classes are predicted above that with the largest target; ties count as right.

    Args:
        k: How many classes to look at.
        name: Its name.
        dtype: The dtype of its Variable.
        axis: The axis of the classes. Defaults to the last one.

    Raises:
        ArgumentError: ``k`` is not an integer from 1 up; at the first batch: it is more than the classes.

    Example:
        >>> float(TopKCategoricalAccuracy(k=2)([[0, 0, 1], [1, 0, 0]], [[0.5, 0.1, 0.4], [0.1, 0.6, 0.3]]))
        0.5
    """

    form = Form.CLASSES

    def __init__(self, k: int = 5, name: str | None = None, dtype: str = "float32", *, axis: int = -1) -> None:
        super().__init__(name, dtype)
        self.k = _check_k(k)
        self.axis = arguments.check_axis(axis)

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Tell whether the class is among the first."""
        y_true, y_pred = class_pair(y_true, y_pred, self.axis)
        return _is_in_top_k(ops.argmax(y_true, self.axis), y_pred, self.k, self.axis)


def _is_predicted(y_pred: Array, labels: Array, axis: int) -> Array:
    """Tell whether the label has the largest prediction; among predictions with nan there is none."""
    largest = ops.cast(ops.argmax(y_pred, axis), labels.dtype.name)
    return ops.logical_and(ops.equal(labels, largest), ops.logical_not(ops.any(ops.isnan(y_pred), axis=axis)))


def _shared_integer(first: Any, second: Any) -> str | None:
    """Return the dtype in which integers of two can be compared exactly; None where there is none."""
    if first.kind not in "iub" or second.kind not in "iub":
        return None
    both = np.promote_types(first, second)
    exact = both.kind in "iub" and registry.current().arrays.canonical_dtype(both.name) == both.name
    return both.name if exact else None


def _is_in_top_k(labels: Array, y_pred: Array, k: int, axis: int) -> Array:
    classes = y_pred.shape[axis]
    if k > classes:
        raise ArgumentError(f"k={k} of {classes} classes", "among all of them every label is", f"k={classes - 1}")
    known = ops.logical_and(labels >= 0, labels < classes)
    picked = ops.expand_dims(ops.clip(labels, 0, classes - 1), axis)
    score = ops.take_along_axis(y_pred, picked, axis)
    above = ops.count_nonzero(ops.greater(y_pred, score), axis=axis)
    counts = ops.logical_and(known, ops.logical_not(ops.isnan(ops.squeeze(score, axis))))  # nan has nothing above it
    return ops.logical_and(above < k, counts)


def _check_k(k: int) -> int:
    return arguments.check_positive("k", k, "it counts classes to look at, from 1 up", 5)
