"""Intersection over union of classes, from a matrix that counts labels by predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graftax import ops
from graftax.core import hyperparameters as arguments
from graftax.core.checked_calls import checked_call
from graftax.core.errors import ArgumentError, GraftaxError, ShapeError
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.metrics import exact, whole_labels
from graftax.metrics.metric import Metric
from graftax.objectives.hiding import Form, Formula, as_mask
from graftax.objectives.labels import check_labels, to_int
from graftax.objectives.pairs import same_shape
from graftax.objectives.sample_weights import broadcast_weight, check_weights
from graftax.objectives.tables import in_one_order
from graftax.variables import masks
from graftax.variables.state import storage


class IoU(Metric):
    """The mean over some classes of ``TP / (TP + FP + FN)``, counted over everything seen.

    Args:
        num_classes: How many classes there are, from 2 up.
        target_class_ids: The classes whose mean is shown. Defaults to None: all. One that was neither a label nor
            predicted is left out of the mean.
        ignore_class: A label that does not count. Defaults to None: all count.
        sparse_y_true: False if targets are rows such as one-hot ones, along ``axis``. Defaults to True, labels.
        sparse_y_pred: True if predictions are labels: integers, or in eager code also whole numbers of a floating
            dtype. Defaults to False, scores along ``axis``, the largest of which counts.
        axis: The axis of the classes. Defaults to the last one.
        name: Its name.
        dtype: The dtype of its Variable.

    Shape:
        ``(batch, ...), (batch, ..., classes) -> ()``

    Raises:
        ArgumentError: an argument is none of these; at an update: labels with fractions, or in compiled code predicted
            labels of a floating dtype.
        IndexRangeError: a label is not in ``[0, num_classes)``.
        ShapeError: the predictions have another number of classes, or other shapes do not fit.

    Example:
        >>> metric = IoU(2, sparse_y_pred=True)
        >>> round(float(metric([0, 0, 1, 1], [0, 1, 0, 1])), 4)
        0.3333
    """

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Sequence[int] | None = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = False,
        axis: int = -1,
        name: str | None = None,
        dtype: str = "float32",
    ) -> None:
        super().__init__(name, arguments.check_sum_dtype(dtype))
        reason = "classes are counted, from 2 up"
        self.num_classes = arguments.check_positive("num_classes", num_classes, reason, 2)
        if self.num_classes < 2:
            raise ArgumentError(f"num_classes={num_classes}", reason, "num_classes=2")
        self.target_class_ids = _classes(target_class_ids, self.num_classes)
        self.ignore_class = arguments.check_ignored_label(ignore_class)
        self.sparse_y_true = arguments.check_flag("sparse_y_true", sparse_y_true)
        self.sparse_y_pred = arguments.check_flag("sparse_y_pred", sparse_y_pred)
        if not self.sparse_y_true and self.ignore_class not in (None, *range(self.num_classes)):
            raise ArgumentError(
                f"ignore_class={ignore_class}, sparse_y_true=False, num_classes={num_classes}",
                "scores of each class have no place for it, and nothing would be ignored",
                f"ignore_class={self.num_classes - 1}, or sparse_y_true=True for labels",
            )
        self.axis = arguments.check_axis(axis)
        if self.sparse_y_true and self.sparse_y_pred and self.axis != -1:
            raise ArgumentError(
                f"axis={axis}, sparse_y_true=True, sparse_y_pred=True",
                "labels have no axis of classes",
                "axis=-1; sparse_y_pred=False for scores along an axis",
            )
        self.sums = self.add_variable((2, self.num_classes, self.num_classes))

    @property
    def formula(self) -> Formula:
        """Tell which elements of targets and predictions a value is made of."""
        if self.sparse_y_pred:
            return Formula(Form.ELEMENTS, self.axis, prediction=0)  # what is hidden has a class, too
        return Formula(Form.CLASSES, self.axis)

    @checked_call
    def update(
        self,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        sample_weight: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> None:
        """Take a batch into account; arguments as for `SampleMetric`."""
        storage.touch(self)
        try:
            y_pred, y_true, sample_weight, mask = in_one_order(
                y_pred=y_pred, y_true=y_true, sample_weight=sample_weight, mask=mask
            )
            mask = masks.mask_or_carried(mask, y_pred)
            mask = None if mask is None else as_mask(mask)
            sides = ops.asarray(y_true), ops.asarray(y_pred)
            for given in (mask, sample_weight):
                if given is not None:
                    sides = self.formula.hide(*sides, given)
            labels = self._labels("y_true", sides[0], self.sparse_y_true)
            predicted = self._labels("y_pred", sides[1], self.sparse_y_pred)
            labels, predicted = same_shape(labels, predicted)
            amount: Array = ops.ones(predicted.shape, "int32")
            if sample_weight is not None:
                check_weights(sample_weight)
                amount = ops.cast(broadcast_weight(sample_weight, predicted), "float32")
            if mask is not None:
                amount = ops.where(broadcast_weight(mask, predicted, "mask"), amount, 0)
            if self.ignore_class is not None:
                there = ops.not_equal(labels, self.ignore_class)
                amount, labels = ops.where(there, amount, 0), ops.where(there, labels, 0)
            hidden = ops.equal(amount, 0)
            cells = [ops.ravel(ops.where(hidden, 0, one)) for one in (labels, predicted)]
            count = self.num_classes
            flat = ops.segment_sum(ops.ravel(amount), cells[0] * count + cells[1], count * count)
            exact.add_array(self.sums, ops.reshape(flat, (count, count)))
        except GraftaxError as error:
            error.add_context(f"the metric {self!r}")
            raise

    def _labels(self, name: str, y: Array, sparse: bool) -> Array:
        """Return classes as int32, looked at where they are at hand."""
        if not sparse:
            if not y.ndim or y.shape[self.axis] != self.num_classes:
                raise ShapeError(
                    f"{name} {list(y.shape)}",
                    f"axis {self.axis} has one number for each of {self.num_classes} classes",
                    f"sparse_{name}=True for labels",
                )
            return ops.cast(ops.argmax(y, axis=self.axis), "int32")
        if y.dtype.kind not in "iub":
            whole_labels.require(name, y)
            y = ops.cast(y, "int32")
        labels = to_int(y)
        ignored = self.ignore_class if name == "y_true" else None
        kept = labels if ignored is None else ops.where(ops.equal(labels, ignored), 0, labels)
        ops.one_hot(ops.ravel(kept), self.num_classes)  # which looks for classes that there are not
        return labels

    def check_targets(self, y_true: Any, y_pred_shape: Shape) -> None:
        """Raise if a label on the host is not in ``[0, num_classes)``."""
        if self.sparse_y_true:
            whole_labels.check("y_true", np.asarray(y_true))
            check_labels(np.asarray(y_true), self.num_classes, self.ignore_class)

    def result(self) -> Array:
        """Compute the mean so far; 0 of nothing."""
        cells = exact.read(self.sums)
        both = ops.diagonal(cells)
        union = ops.sum(cells, axis=0) + ops.sum(cells, axis=1) - both
        chosen = list(self.target_class_ids or range(self.num_classes))
        both, union = (ops.take(one, chosen, axis=0) for one in (both, union))
        there = ops.cast(union > 0, both.dtype.name)
        return ops.divide_no_nan(ops.sum(ops.divide_no_nan(both, union)), ops.sum(there))


def _classes(classes: Sequence[int] | None, count: int) -> tuple[int, ...] | None:
    if classes is None:
        return None
    if not isinstance(classes, (list, tuple)) or not classes:
        raise ArgumentError(f"target_class_ids={classes!r}", "it is a list of classes", "target_class_ids=[0, 1]")
    found = tuple(arguments.check_integer("target_class_ids", one, "classes are integers", 0) for one in classes)
    if any(not 0 <= one < count for one in found) or len(set(found)) < len(found):
        raise ArgumentError(
            f"target_class_ids={classes!r}",
            f"each of them is in [0, {count}), and there once",
            "target_class_ids=[0, 1]",
        )
    return found


class MeanIoU(IoU):
    """The mean over all classes of ``TP / (TP + FP + FN)``, counted over everything seen.

    Args:
        num_classes: How many classes there are, from 2 up.
        ignore_class: As for `IoU`.
        sparse_y_true: As for `IoU`.
        sparse_y_pred: As for `IoU`.
        axis: As for `IoU`.
        name: Its name.
        dtype: The dtype of its Variable.

    Raises:
        ArgumentError: an argument is none of these.
        IndexRangeError: a label is not in ``[0, num_classes)``.
        ShapeError: shapes do not fit.

    Example:
        >>> round(float(MeanIoU(2)([0, 1], [[0.9, 0.1], [0.8, 0.2]])), 4)
        0.25
    """

    def __init__(
        self,
        num_classes: int,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = False,
        axis: int = -1,
        name: str | None = None,
        dtype: str = "float32",
    ) -> None:
        super().__init__(num_classes, None, ignore_class, sparse_y_true, sparse_y_pred, axis, name, dtype)
