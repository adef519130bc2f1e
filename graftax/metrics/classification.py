"""Metrics for predictions of classes: crossentropies, and what follows from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax import ops
from graftax.core import hyperparameters as arguments
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.metrics.reduction import SampleMetric
from graftax.objectives import per_sample
from graftax.objectives.hiding import Form
from graftax.objectives.labels import check_labels, not_ignored, num_classes


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
        self.from_logits = arguments.check_flag("from_logits", from_logits)
        self.label_smoothing = arguments.check_smoothing(label_smoothing)

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
        self.from_logits = arguments.check_flag("from_logits", from_logits)
        self.label_smoothing = arguments.check_smoothing(label_smoothing)
        self.axis = arguments.check_axis(axis)

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
        self.from_logits = arguments.check_flag("from_logits", from_logits)
        self.axis = arguments.check_axis(axis)
        self.ignore_class = arguments.check_ignored_label(ignore_class)

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the crossentropy of each sample."""
        return per_sample.sparse_categorical_crossentropy(
            y_true, y_pred, self.from_logits, self.ignore_class, self.axis
        )

    def keeps(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array | None:
        """Return where the label is not the one to ignore."""
        return not_ignored(y_true, ops.shape(y_pred), self.axis, self.ignore_class)

    def check_targets(self, y_true: Any, y_pred_shape: Shape) -> None:
        """Raise if a label is not in ``[0, classes)``."""
        check_labels(np.asarray(y_true), num_classes(y_pred_shape, self.axis), self.ignore_class)


class Perplexity(SparseCategoricalCrossentropy):
    """``exp`` of the mean of ``-log p[y_true]``: how many classes a model is unsure between.

    Args:
        from_logits: True if predictions are logits, else they are probabilities. Defaults to False.
        axis: The axis of the classes. Defaults to the last one.
        name: Its name.
        dtype: The dtype of its Variable.
        ignore_class: A label that does not count, such as that of padding. Defaults to None: all count.

    Example:
        >>> float(Perplexity()([0, 1], [[0.5, 0.5], [0.5, 0.5]]))
        2.0

    Source: Jelinek et al. 1977, Perplexity, a measure of the difficulty of speech recognition tasks.
    """

    def result(self) -> Array:
        """Compute the perplexity so far; 0 of nothing."""
        return ops.where(self.count > 0, ops.exp(super().result()), 0.0)
