"""Metrics for predictions of classes: crossentropies, precision, recall."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax import ops
from graftax.core import hyperparameters as arguments
from graftax.core.errors import GraftaxError
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.metrics import exact
from graftax.metrics.metric import Metric
from graftax.metrics.reduction import SampleMetric
from graftax.objectives import per_sample, targets
from graftax.objectives.hiding import Form, Formula, as_mask
from graftax.objectives.targets import check_weights, pair, spread
from graftax.variables import masks
from graftax.variables.state import storage


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
        """The crossentropy of each sample."""
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
        """The crossentropy of each sample."""
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
        """The crossentropy of each sample."""
        return per_sample.sparse_categorical_crossentropy(
            y_true, y_pred, self.from_logits, self.ignore_class, self.axis
        )

    def keeps(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array | None:
        """Where the label is not the one to ignore."""
        return targets.not_ignored(y_true, ops.shape(y_pred), self.axis, self.ignore_class)

    def check_targets(self, y_true: Any, y_pred_shape: Shape) -> None:
        """Raise if a label is not in ``[0, classes)``."""
        targets.check_labels(np.asarray(y_true), targets.num_classes(y_pred_shape, self.axis), self.ignore_class)


class _Confusion(Metric):
    """Counts true positives, and what they are compared with."""

    formula = Formula(Form.ELEMENTS)

    def __init__(self, threshold: float = 0.5, name: str | None = None, dtype: str = "float32") -> None:
        super().__init__(name, arguments.sum_dtype(dtype))
        self.threshold = arguments.threshold(threshold)
        self.sums = self.add_variable((2, 2))

    def compared(self, positive: Array, predicted: Array) -> Array:
        """Which ones the true positives are a share of."""
        raise AttributeError(f"{type(self).__name__} must define compared(positive, predicted)")

    def update(
        self,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        sample_weight: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> None:
        """Take a batch into account; arguments as for `SampleMetric`, targets being 0 or 1."""
        storage.touch(self)
        try:
            mask = masks.given_or_carried(mask, y_pred)
            mask = None if mask is None else as_mask(mask)
            for given in (mask, sample_weight):
                if given is not None:
                    y_true, y_pred = self.formula.hide(ops.asarray(y_true), ops.asarray(y_pred), given)
            y_true, y_pred = pair(y_true, y_pred)
            per_sample.check_binary_targets(y_true)
            positive, predicted = ops.greater(y_true, 0.5), ops.greater(y_pred, self.threshold)
            found = [ops.logical_and(positive, predicted), self.compared(positive, predicted)]
            if mask is not None:
                keep = spread(mask, y_pred, "mask")
                found = [ops.logical_and(one, keep) for one in found]
            if sample_weight is None:
                exact.add(self.sums, *map(ops.count_nonzero, found))
            else:
                check_weights(sample_weight)
                weights = ops.cast(spread(sample_weight, y_pred), y_pred.dtype.name)
                exact.add(self.sums, *(ops.sum(ops.where(one, weights, 0.0)) for one in found))
        except GraftaxError as error:
            error.add_context(f"the metric {self!r}")
            raise

    def check_targets(self, y_true: Any, y_pred_shape: Shape) -> None:
        """Raise if a target on the host is outside [0, 1]."""
        per_sample.check_binary_targets(np.asarray(y_true))

    def result(self) -> Array:
        """The share so far; 0 of nothing."""
        sums = exact.read(self.sums)
        return ops.divide_no_nan(sums[0], sums[1])


class Precision(_Confusion):
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
        """Those predicted as 1."""
        return predicted


class Recall(_Confusion):
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
        """Those that are 1."""
        return positive
