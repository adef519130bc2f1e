"""What metrics of yes and no count: positives and negatives, predicted as such or not, at one threshold or at many."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax import ops
from graftax.core import hyperparameters as arguments
from graftax.core.checked_calls import checked_call
from graftax.core.errors import ArgumentError, AssignmentError, GraftaxError
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.core.undefined import undefined_error
from graftax.metrics import exact
from graftax.metrics.metric import Metric
from graftax.objectives import per_sample
from graftax.objectives.hiding import Form, Formula, as_mask
from graftax.objectives.pairs import pair
from graftax.objectives.sample_weights import broadcast_weight, check_weights
from graftax.objectives.tables import in_one_order
from graftax.variables import masks
from graftax.variables.state import storage


class ElementMetric(Metric):
    """The base of metrics that count elements, each 0 or 1, by what is predicted for it.

    A subclass defines ``count(positive, y_pred, amount)``, which adds to its sums. ``amount`` is how much each element
    counts: whole numbers unless there are weights, and 0 for what a mask hides.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.
    """

    formula = Formula(Form.ELEMENTS)

    def __init__(self, name: str | None = None, dtype: str = "float32") -> None:
        super().__init__(name, arguments.check_sum_dtype(dtype))

    def count(self, positive: Array, y_pred: Array, amount: Array) -> None:
        """Add to the sums; subclasses must define it."""
        raise undefined_error(self, "count(positive, y_pred, amount)")

    def matched(self, y_true: ArrayLike, y_pred: ArrayLike) -> tuple[Array, Array]:
        """Return targets and predictions of one shape."""
        return pair(y_true, y_pred)

    def places(self, y_pred: Array) -> Array:
        """Return an array of the shape of weights and masks."""
        return y_pred

    @checked_call
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
            y_pred, y_true, sample_weight, mask = in_one_order(
                y_pred=y_pred, y_true=y_true, sample_weight=sample_weight, mask=mask
            )
            mask = masks.mask_or_carried(mask, y_pred)
            mask = None if mask is None else as_mask(mask)
            for given in (mask, sample_weight):
                if given is not None:
                    y_true, y_pred = self.formula.hide(ops.asarray(y_true), ops.asarray(y_pred), given)
            y_true, y_pred = self.matched(y_true, y_pred)
            per_sample.check_binary_targets(y_true)
            places = self.places(y_pred)
            amount: Array = ops.ones(places.shape, "int32")
            if sample_weight is not None:
                check_weights(sample_weight)
                amount = ops.cast(broadcast_weight(sample_weight, places), y_pred.dtype.name)
            if mask is not None:
                amount = ops.where(broadcast_weight(mask, places, "mask"), amount, 0)
            self.count(ops.greater(y_true, 0.5), y_pred, amount)
        except GraftaxError as error:
            error.add_context(f"the metric {self!r}")
            raise

    def check_targets(self, y_true: Any, y_pred_shape: Shape) -> None:
        """Raise if a target on the host is outside [0, 1]."""
        per_sample.check_binary_targets(np.asarray(y_true))


def four_counts(positive: Array, y_pred: Array, amount: Array, thresholds: tuple[float, ...], labels: int = 1) -> Array:
    """Count true and false positives and negatives at every threshold; nan is on the wrong side of all.

    Args:
        positive: Which elements are 1.
        y_pred: What is predicted for each.
        amount: How much each counts.
        thresholds: Where to count.
        labels: How many elements of the last axis have counts of their own. Defaults to 1: all count together.

    Returns:
        Of shape ``(4, thresholds, labels)``.
    """
    flat = [ops.reshape(x, (1, -1, labels)) for x in (positive, y_pred, amount)]
    at = ops.reshape(ops.asarray(thresholds, y_pred.dtype.name), (-1, 1, 1))
    above, below = ops.greater(flat[1], at), ops.less_equal(flat[1], at)
    ones, zeros = flat[0], ops.logical_not(flat[0])
    cells = (
        ops.logical_and(ones, above),
        ops.logical_and(zeros, ops.logical_not(below)),
        ops.logical_and(zeros, below),
        ops.logical_and(ones, ops.logical_not(above)),
    )
    return ops.stack([ops.sum(ops.where(cell, flat[2], 0), axis=1) for cell in cells])


TP, FP, TN, FN = range(4)


class Count(ElementMetric):
    """One of the four counts."""

    cell: int

    def __init__(
        self,
        thresholds: float | list[float] | tuple[float, ...] | None = None,
        name: str | None = None,
        dtype: str = "float32",
    ) -> None:
        super().__init__(name, dtype)
        self.gives_several = isinstance(thresholds, list | tuple)
        self.thresholds = thresholds if thresholds is None else check_thresholds(thresholds)
        self.sums = self.add_variable((2, len(self.at)))

    @property
    def at(self) -> tuple[float, ...]:
        """Return where it counts."""
        return (0.5,) if self.thresholds is None else self.thresholds

    def _gx_given(self, name: str, value: Any) -> Any:
        if name == "thresholds" and name in vars(self) and value is not None:
            value = check_other_thresholds(self, name, value, len(self.at))
        return super()._gx_given(name, value)

    def count(self, positive: Array, y_pred: Array, amount: Array) -> None:
        """Add what is counted, at each threshold."""
        exact.add_array(self.sums, four_counts(positive, y_pred, amount, self.at)[self.cell, :, 0])

    def result(self) -> Array:
        """Return the count so far; of several thresholds one for each."""
        sums = exact.read(self.sums)
        return sums if self.gives_several else sums[0]


class TruePositives(Count):
    """How many of those that are 1 are predicted as 1, or the sum of their weights.

    Args:
        thresholds: A prediction counts as 1 if it is greater; a list gives a count for each. Defaults to None: 0.5.
            Predictions that are logits need ``thresholds=0.0``.
        name: Its name.
        dtype: The dtype of its Variable.

    Raises:
        ArgumentError: ``thresholds`` are not finite numbers, or there is none.

    Example:
        >>> float(TruePositives()([0, 1, 1, 1], [0.9, 0.9, 0.2, 0.7]))
        2.0
        >>> TruePositives([0.1, 0.8])([0, 1, 1, 1], [0.9, 0.9, 0.2, 0.7]).tolist()
        [3.0, 1.0]
    """

    cell = TP


class FalsePositives(Count):
    """How many of those that are 0 are predicted as 1, or the sum of their weights; nan is no prediction of 0.

    Args:
        thresholds: As for `TruePositives`.
        name: Its name.
        dtype: The dtype of its Variable.

    Raises:
        ArgumentError: ``thresholds`` are not finite numbers, or there is none.

    Example:
        >>> float(FalsePositives()([0, 1, 0, 1], [0.9, 0.9, 0.2, 0.7]))
        1.0
    """

    cell = FP


class TrueNegatives(Count):
    """How many of those that are 0 are predicted as 0, or the sum of their weights.

    Args:
        thresholds: As for `TruePositives`.
        name: Its name.
        dtype: The dtype of its Variable.

    Raises:
        ArgumentError: ``thresholds`` are not finite numbers, or there is none.

    Example:
        >>> float(TrueNegatives()([0, 1, 0, 1], [0.9, 0.9, 0.2, 0.7]))
        1.0
    """

    cell = TN


class FalseNegatives(Count):
    """How many of those that are 1 are predicted as 0, or the sum of their weights; nan is no prediction of 1.

    Args:
        thresholds: As for `TruePositives`.
        name: Its name.
        dtype: The dtype of its Variable.

    Raises:
        ArgumentError: ``thresholds`` are not finite numbers, or there is none.

    Example:
        >>> float(FalseNegatives()([0, 1, 0, 1], [0.9, 0.9, 0.2, 0.3]))
        1.0
    """

    cell = FN


def check_thresholds(
    thresholds: float | list[float] | tuple[float, ...], name: str = "thresholds"
) -> tuple[float, ...]:
    """Return thresholds, one or several, as a tuple of finite numbers.

    Raises:
        ArgumentError: one is none, or there are none at all.
    """
    found = tuple(thresholds) if isinstance(thresholds, list | tuple) else (thresholds,)
    if not found:
        raise ArgumentError(f"{name}={thresholds!r}", "there is none to count at", f"{name}=0.5")
    return tuple(map(arguments.check_threshold, found))


def check_other_thresholds(metric: Metric, name: str, value: Any, count: int) -> tuple[float, ...]:
    """Return thresholds that are assigned to a metric which has counts at as many others.

    Raises:
        ArgumentError: one is none.
        AssignmentError: there are more, or fewer.
    """
    found = check_thresholds(value, name)
    if len(found) != count:
        raise AssignmentError(
            f"{type(metric).__name__}.{name} = {value!r:.60}, {len(found)} where there are {count}",
            "it has counts for each of them, and those for others cannot be told from these",
            f"graftax.metrics.{type(metric).__name__}({name}={value!r:.60}), a new metric",
        )
    return found
