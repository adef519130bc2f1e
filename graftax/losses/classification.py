"""Losses for predictions of classes, probabilities and distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graftax.core import hyperparameters as arguments
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.losses.loss import Loss
from graftax.objectives import per_sample, weights
from graftax.objectives.hiding import Form, Ranges
from graftax.objectives.labels import check_labels, not_ignored, num_classes


class BinaryCrossentropy(Loss):
    """``-(y_true log p + (1 - y_true) log(1 - p))``, the mean over the last axis.

    Probabilities are kept within [1e-7, 1 - 1e-7], so that one loss is at most 16.118; logits need no such limit.

    Args:
        from_logits: True if predictions are logits, so that ``p = sigmoid(y_pred)``; else they are ``p``.
        label_smoothing: ``s`` moves targets to ``y_true (1 - s) + s / 2``. Defaults to 0.0.
        pos_weight: How much more a target of 1 counts than one of 0: a number, or one for each place on the last axis.
            Defaults to None, as much.
        reduction: As for `Loss`.
        name: Its name.

    Raises:
        ArgumentError: a target is outside [0, 1], or so is a prediction that is no logit.

    Example:
        >>> round(float(BinaryCrossentropy(from_logits=True)([[1.0], [0.0]], [[0.0], [0.0]])), 4)
        0.6931
    """

    target_kind = "binary"
    form = Form.ROWS

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        *,
        pos_weight: float | Sequence[float] | None = None,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction=reduction, name=name)
        self.from_logits = arguments.check_flag("from_logits", from_logits)
        self.label_smoothing = arguments.check_smoothing(label_smoothing)
        self.pos_weight = weights.one_or_more("pos_weight", pos_weight)

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the crossentropy of each sample."""
        return per_sample.binary_crossentropy(y_true, y_pred, self.from_logits, self.label_smoothing, self.pos_weight)

    def ranges(self, y_pred_shape: Shape) -> Ranges:
        """Return the ranges: targets in [0, 1], and likewise predictions that are no logits."""
        return {"y_true": (0, 1)} if self.from_logits else {"y_true": (0, 1), "y_pred": (0, 1)}

    def check_targets(self, y_true: Any, y_pred_shape: Shape) -> None:
        """Raise if a target is outside [0, 1]."""
        per_sample.check_binary_targets(np.asarray(y_true))


class CategoricalCrossentropy(Loss):
    """``-sum(y_true log p)`` over the classes, with targets that are distributions, such as one-hot rows.

    Args:
        from_logits: True if predictions are logits, so that ``p = softmax(y_pred)``; else ``p = y_pred / sum(y_pred)``.
        label_smoothing: ``s`` moves targets to ``y_true (1 - s) + s / classes``.
        axis: The axis of the classes.
        class_weight: How much each class counts, a number for each. Defaults to None, all alike. The mean divides by
            the number of samples, not by the sum of their weights.
        reduction: As for `Loss`.
        name: Its name.

    Raises:
        ShapeError: the targets are labels; `SparseCategoricalCrossentropy` takes these.

    Example:
        >>> round(float(CategoricalCrossentropy()([[1.0, 0.0]], [[2.0, 2.0]])), 4)
        0.6931
    """

    target_kind = "categorical"
    form = Form.CLASSES

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        *,
        class_weight: Sequence[float] | None = None,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction=reduction, name=name)
        self.from_logits = arguments.check_flag("from_logits", from_logits)
        self.label_smoothing = arguments.check_smoothing(label_smoothing)
        self.axis = arguments.check_axis(axis)
        self.class_weight = weights.of_classes(class_weight)

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the crossentropy of each sample."""
        return per_sample.categorical_crossentropy(
            y_true, y_pred, self.from_logits, self.label_smoothing, self.axis, self.class_weight
        )

    def ranges(self, y_pred_shape: Shape) -> Ranges:
        """Return the ranges: probabilities are not negative; a logit of minus infinity rules a class out."""
        return {"y_pred": (-math.inf if self.from_logits else 0, math.inf)}


class SparseCategoricalCrossentropy(Loss):
    """``-log p[y_true]``, with targets that are integer labels.

    A label out of range raises in eager code and in `check_targets`; compiled code cannot raise, its loss is nan.

    Args:
        from_logits: True if predictions are logits, so that ``p = softmax(y_pred)``; else ``p = y_pred / sum(y_pred)``.
        ignore_class: A label that does not count, such as -1; means are over the others.
        axis: The axis of the classes.
        class_weight: How much each class counts, a number for each. Defaults to None, all alike. The mean divides by
            the number of samples, not by the sum of their weights.
        label_smoothing: ``s`` makes the target a distribution: ``1 - s`` for the label, and ``s / classes`` more for
            each class. Samples of the class to ignore stay without. Defaults to 0.0.
        reduction: As for `Loss`.
        name: Its name.

    Shape:
        ``(batch, ...), (batch, ..., classes) -> (batch, ...)`` before the reduction; targets may have a last axis of 1.

    Raises:
        IndexRangeError: a label is not in ``[0, classes)``.
        DTypeError: labels are no integers.
        ShapeError: the targets are one-hot rows; `CategoricalCrossentropy` takes these.

    Example:
        >>> loss = SparseCategoricalCrossentropy(from_logits=True)
        >>> round(float(loss([0, 2], [[0.0, 0.0, 0.0], [0.0, 0.0, 100.0]])), 4)
        0.5493

    Source of the smoothing: Szegedy et al., arXiv 1512.00567.
    """

    target_kind = "sparse"
    form = Form.CLASSES

    def __init__(
        self,
        from_logits: bool = False,
        ignore_class: int | None = None,
        axis: int = -1,
        *,
        class_weight: Sequence[float] | None = None,
        label_smoothing: float = 0.0,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction=reduction, name=name)
        self.from_logits = arguments.check_flag("from_logits", from_logits)
        self.ignore_class = arguments.check_ignored_label(ignore_class)
        self.axis = arguments.check_axis(axis)
        self.class_weight = weights.of_classes(class_weight)
        self.label_smoothing = arguments.check_smoothing(label_smoothing)

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the crossentropy of each sample."""
        return per_sample.sparse_categorical_crossentropy(
            y_true, y_pred, self.from_logits, self.ignore_class, self.axis, self.class_weight, self.label_smoothing
        )

    def keeps(self, y_true: Array, y_pred: Array) -> Array | None:
        """Return where the label is not the one to ignore."""
        return not_ignored(y_true, y_pred.shape, self.axis, self.ignore_class)

    def ranges(self, y_pred_shape: Shape) -> Ranges:
        """Return the ranges: labels that are classes; predictions as for `CategoricalCrossentropy`."""
        classes = num_classes(y_pred_shape, self.axis)
        return {"y_true": (0, classes - 1), "y_pred": (-math.inf if self.from_logits else 0, math.inf)}

    def check_targets(self, y_true: Any, y_pred_shape: Shape) -> None:
        """Raise if a label is not in ``[0, classes)``."""
        labels = np.asarray(y_true)
        check_labels(labels, num_classes(y_pred_shape, self.axis), self.ignore_class)


class CategoricalGeneralizedCrossEntropy(Loss):
    """``(1 - p[y_true]^q) / q``, with targets that are integer labels, some of which may be wrong.

    Near 0, ``q`` makes it the crossentropy, which learns fast; at 1 it is the mean absolute error, which wrong labels
    disturb least. Probabilities are kept above 1e-7.

    Args:
        q: The power, above 0 and at most 1. Defaults to 0.5.
        from_logits: True if predictions are logits, so that ``p = softmax(y_pred)``; else ``p = y_pred``. Defaults to
            False.
        reduction: As for `Loss`.
        name: Its name.

    Shape:
        ``(batch, ...), (batch, ..., classes) -> (batch, ...)`` before the reduction; targets may have a last axis of 1.

    Raises:
        IndexRangeError: a label is not in ``[0, classes)``.
        DTypeError: labels are no integers.
        ArgumentError: ``q`` is no such power; a prediction that is no logit is outside [0, 1].

    Example:
        >>> round(float(CategoricalGeneralizedCrossEntropy()([1], [[0.75, 0.25]])), 4)
        1.0

    Source: Zhang and Sabuncu, arXiv 1805.07836.
    """

    target_kind = "sparse"
    form = Form.CLASSES

    def __init__(
        self,
        q: float = 0.5,
        from_logits: bool = False,
        *,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction=reduction, name=name)
        reason = "it is a power, above 0 and at most 1"
        self.q = arguments.check_number("q", q, lambda power: 0 < power <= 1, reason, 0.5)
        self.from_logits = arguments.check_flag("from_logits", from_logits)

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the loss of each sample."""
        return per_sample.categorical_generalized_cross_entropy(y_true, y_pred, self.q, self.from_logits)

    def ranges(self, y_pred_shape: Shape) -> Ranges:
        """Return the ranges: labels that are classes, and probabilities unless there are logits."""
        limits: Ranges = {"y_true": (0, num_classes(y_pred_shape, -1) - 1)}
        return limits if self.from_logits else {**limits, "y_pred": (0, 1)}

    def check_targets(self, y_true: Any, y_pred_shape: Shape) -> None:
        """Raise if a label is not in ``[0, classes)``."""
        check_labels(np.asarray(y_true), num_classes(y_pred_shape, -1), None)


class KLDivergence(Loss):
    """``sum(y_true log(y_true / y_pred))`` over the last axis, both of them probabilities, kept within [1e-7, 1].

    Args:
        reduction: As for `Loss`.
        name: Its name.

    Raises:
        ArgumentError: a value is outside [0, 1]; logits need ``ops.softmax`` first.

    Example:
        >>> round(float(KLDivergence()([[0.5, 0.5]], [[0.25, 0.75]])), 4)
        0.1438
    """

    target_kind = "categorical"
    form = Form.VECTORS

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the divergence of each sample."""
        return per_sample.kl_divergence(y_true, y_pred)

    def ranges(self, y_pred_shape: Shape) -> Ranges:
        """Return the ranges: probabilities on both sides."""
        return {"y_true": (0, 1), "y_pred": (0, 1)}


class CategoricalHinge(Loss):
    """``max(1 + max((1 - y_true) y_pred) - sum(y_true y_pred), 0)`` over the classes of the last axis.

    Args:
        reduction: As for `Loss`.
        name: Its name.

    Shape:
        ``(batch, ..., classes), (batch, ..., classes) -> (batch, ...)`` before the reduction; targets are one-hot rows.

    Example:
        >>> float(CategoricalHinge()([[0.0, 1.0]], [[0.5, 0.75]]))
        0.75
    """

    target_kind = "categorical"
    form = Form.VECTORS

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the error of each sample."""
        return per_sample.categorical_hinge(y_true, y_pred)


class Hinge(Loss):
    """``mean(max(1 - y_true y_pred, 0))`` over the last axis, with targets -1 and 1; 0 is taken as -1.

    Args:
        reduction: As for `Loss`.
        name: Its name.

    Example:
        >>> float(Hinge()([[1.0, 0.0]], [[0.5, -0.5]]))
        0.5
    """

    form = Form.ROWS

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the error of each sample."""
        return per_sample.hinge(y_true, y_pred)

    def ranges(self, y_pred_shape: Shape) -> Ranges:
        """Return the ranges: targets in [-1, 1]."""
        return {"y_true": (-1, 1)}

    def check_targets(self, y_true: Any, y_pred_shape: Shape) -> None:
        """Raise if a target is outside [-1, 1]."""
        per_sample.check_signs(np.asarray(y_true))


class SquaredHinge(Loss):
    """``mean(max(1 - y_true y_pred, 0)²)`` over the last axis, with targets -1 and 1; 0 is taken as -1.

    Args:
        reduction: As for `Loss`.
        name: Its name.

    Example:
        >>> float(SquaredHinge()([[1.0, 0.0]], [[0.5, -0.5]]))
        0.25
    """

    form = Form.ROWS

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the error of each sample."""
        return per_sample.squared_hinge(y_true, y_pred)

    def ranges(self, y_pred_shape: Shape) -> Ranges:
        """Return the ranges: targets in [-1, 1]."""
        return {"y_true": (-1, 1)}

    def check_targets(self, y_true: Any, y_pred_shape: Shape) -> None:
        """Raise if a target is outside [-1, 1]."""
        per_sample.check_signs(np.asarray(y_true))
