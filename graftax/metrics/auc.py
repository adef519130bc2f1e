"""AUC: the area below the curve that a threshold draws on its way from the highest prediction to the lowest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeVar, get_args

import numpy as np

from graftax import ops
from graftax.core import hyperparameters as arguments
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array, ArrayLike
from graftax.metrics import exact
from graftax.metrics.confusion import FN, FP, TN, TP, ElementMetric, four_counts
from graftax.objectives.ranges import check_range
from graftax.variables.variable import Variable

Curve = Literal["ROC", "PR"]
Summation = Literal["interpolation", "minoring", "majoring"]
T = TypeVar("T")


class AUC(ElementMetric):
    """The area below the curve of right against wrong positives, or of precision against recall.

    The curve has one point for each of the thresholds, which lie evenly in [0, 1], so the area is near that of the
    exact curve, and nearer with more of them. Elements of all axes count alike, unless ``multi_label`` is True.

    Args:
        num_thresholds: How many points the curve has. Defaults to 200.
        curve: ``"ROC"``, the share of ones above the threshold against that of zeros, or ``"PR"``, precision against
            recall. Defaults to ``"ROC"``.
        summation_method: How the curve goes from point to point: ``"interpolation"`` (straight; for ``"PR"`` so that
            the counts are straight), ``"minoring"`` or ``"majoring"``, the lower or upper step. Defaults to
            ``"interpolation"``.
        name: Its name.
        dtype: The dtype of its Variable.
        thresholds: The points between 0 and 1, in place of even ones. Defaults to None: ``num_thresholds`` decides.
        multi_label: Whether each element of the last axis is a label with a curve of its own; the result is the mean of
            their areas. Defaults to False.
        num_labels: How many labels there are. Defaults to None: as many as in the first batch.
        label_weights: How much the area of each label counts in the mean; else of each element among all. Defaults to
            None, all alike.
        from_logits: True if predictions are logits, else they are probabilities.

    Raises:
        ArgumentError: an argument is none of these; at an update, in eager code: a prediction is no probability.

    Example:
        >>> metric = AUC()
        >>> float(metric([0, 0, 1, 1], [0.0, 0.5, 0.3, 0.9]))
        0.75

    Source: for the area of precision and recall, Davis and Goadrich, ICML 2006.
    """

    _gx_of_constructor = frozenset({"multi_label", "num_labels", "num_thresholds", "thresholds"})

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: Curve = "ROC",
        summation_method: Summation = "interpolation",
        name: str | None = None,
        dtype: str = "float32",
        thresholds: list[float] | tuple[float, ...] | None = None,
        multi_label: bool = False,
        num_labels: int | None = None,
        label_weights: list[float] | tuple[float, ...] | None = None,
        *,
        from_logits: bool = False,
    ) -> None:
        super().__init__(name, dtype)
        count = arguments.check_integer("num_thresholds", num_thresholds, "a curve has 2 points or more", 200)
        if count < 2:
            raise ArgumentError(
                f"num_thresholds={num_thresholds}", "a curve has 2 points or more", "num_thresholds=200"
            )
        self.curve: Curve = _check_choice("curve", curve, get_args(Curve))
        self.summation_method: Summation = _check_choice("summation_method", summation_method, get_args(Summation))
        inner = np.arange(1, count - 1) / (count - 1)
        if thresholds is not None:
            given = thresholds if isinstance(thresholds, list | tuple) else (thresholds,)
            inner = np.sort([arguments.check_threshold(one) for one in given])
            if given is not thresholds or not all(0 <= one <= 1 for one in inner):
                raise ArgumentError(
                    f"thresholds={thresholds!r:.60}",
                    "a list that parts probabilities, in [0, 1]",
                    "thresholds=[0.25, 0.5]",
                )
            if count not in (200, len(inner) + 2):
                raise ArgumentError(
                    f"num_thresholds={num_thresholds}, thresholds of {len(inner)} points",
                    "the curve has the points that are listed, and the two ends",
                    "thresholds=[...] alone, or num_thresholds=... alone",
                )
        self.num_thresholds = len(inner) + 2
        self.thresholds = (-1e-7, *map(float, inner), 1 + 1e-7)  # 0 and 1 lie between the outer ones
        self.from_logits = arguments.check_flag("from_logits", from_logits)
        self.multi_label = arguments.check_flag("multi_label", multi_label)
        self.num_labels, self.label_weights = _check_labels(self.multi_label, num_labels, label_weights)
        self.sums: Variable | None = None
        if self.num_labels is not None:
            self.sums = self.add_variable((2, 4, self.num_thresholds, self.num_labels), name="sums")

    def _gx_shapes_by_data(self) -> Mapping[str, tuple[int | None, ...]]:
        return {"sums": (2, 4, self.num_thresholds, None)}

    def matched(self, y_true: ArrayLike, y_pred: ArrayLike) -> tuple[Array, Array]:
        """Return targets and predictions of one shape, those of a single label as a column."""
        y_true, y_pred = super().matched(y_true, y_pred)
        if y_pred.ndim == 1 and (self.multi_label or self.label_weights is not None):  # else samples would be labels
            y_true, y_pred = ops.expand_dims(y_true, -1), ops.expand_dims(y_pred, -1)
        return y_true, y_pred

    def count(self, positive: Array, y_pred: Array, amount: Array) -> None:
        """Add the four counts at each threshold."""
        if self.from_logits:
            y_pred = ops.sigmoid(y_pred)
        else:
            check_range(
                y_pred, 0, 1, "y_pred", "probabilities are in [0, 1]; these look like logits", "from_logits=True"
            )
        labels = y_pred.shape[-1] if self.multi_label and y_pred.ndim else 1
        if self.sums is None:
            self.sums = self.add_variable((2, 4, self.num_thresholds, labels), name="sums")
        if labels != self.sums.shape[-1]:
            raise ShapeError(
                f"predictions of shape {tuple(y_pred.shape)}, with {labels} labels on the last axis",
                f"the metric has curves of {self.sums.shape[-1]}",
                "a metric for each number of labels",
            )
        if self.label_weights is not None and not self.multi_label:
            weights = ops.asarray(self.label_weights, y_pred.dtype.name)
            if y_pred.shape[-1:] != weights.shape:
                raise ShapeError(
                    f"predictions of shape {tuple(y_pred.shape)} and {weights.shape[0]} label_weights",
                    "each element of the last axis has a weight",
                    f"label_weights of {y_pred.shape[-1] if y_pred.ndim else 1} numbers",
                )
            amount = ops.cast(amount, y_pred.dtype.name) * weights
        exact.add_array(self.sums, four_counts(positive, y_pred, amount, self.thresholds, labels))

    def result(self) -> Array:
        """Return the area so far; 0 of nothing."""
        self._gx_ensure_state()
        if self.sums is None:
            return ops.asarray(0.0)
        areas = self._areas(exact.read(self.sums))
        if self.label_weights is None or not self.multi_label:
            return ops.mean(areas)
        weights = ops.asarray(self.label_weights, areas.dtype.name)
        return ops.divide_no_nan(ops.sum(areas * weights), ops.sum(weights))

    def _areas(self, counts: Array) -> Array:
        """Return the area of each label."""
        ones = counts[TP] + counts[FN]
        recall = ops.divide_no_nan(counts[TP], ones)
        if self.curve == "PR":
            if self.summation_method == "interpolation":
                return _integrate(counts[TP], counts[TP] + counts[FP], ones)
            x, y = recall, ops.divide_no_nan(counts[TP], counts[TP] + counts[FP])
        else:
            x, y = ops.divide_no_nan(counts[FP], counts[FP] + counts[TN]), recall
        heights = {
            "interpolation": lambda: (y[:-1] + y[1:]) / 2,
            "minoring": lambda: ops.minimum(y[:-1], y[1:]),
            "majoring": lambda: ops.maximum(y[:-1], y[1:]),
        }[self.summation_method]()
        return ops.clip(ops.sum((x[:-1] - x[1:]) * heights, axis=0), 0.0, 1.0)  # which rounding may pass


def _integrate(right: Array, positives: Array, ones: Array) -> Array:
    """Return the integral of precision over recall, where both counts go straight from one threshold to the next.

    With ``right = slope * positives + rest`` between two of them, it is that of ``slope * (1 + rest / right)``.
    """
    more, wider = right[:-1] - right[1:], positives[:-1] - positives[1:]
    slope = ops.divide_no_nan(more, ops.maximum(wider, 0))
    rest = right[1:] - slope * positives[1:]
    both = ops.logical_and(positives[:-1] > 0, positives[1:] > 0)
    ratio = ops.where(both, ops.divide_no_nan(positives[:-1], positives[1:]), 1)
    return ops.sum(ops.divide_no_nan(slope * (more + rest * ops.log(ratio)), ones[1:]), axis=0)


def _check_labels(multi_label: bool, num_labels: object, weights: object) -> tuple[int | None, list[float] | None]:
    """Return how many labels have curves, None for as many as come, and their weights."""
    if weights is not None:
        listed = list(weights) if isinstance(weights, list | tuple | np.ndarray) else None
        if not listed or not all(arguments.is_number(one) and 0 <= one < np.inf for one in listed) or not sum(listed):
            raise ArgumentError(
                f"label_weights={weights!r:.60}", "a weight from 0 up for each label", "label_weights=[1.0, 0.5]"
            )
        weights = [float(one) for one in listed]
    if not multi_label:
        if num_labels is not None:
            raise ArgumentError(
                f"num_labels={num_labels!r} without multi_label",
                "all have one curve",
                f"multi_label=True, {num_labels=}",
            )
        return 1, weights
    count = None if weights is None else len(weights)
    if num_labels is not None:
        found = arguments.check_positive("num_labels", num_labels, "it counts labels, from 1 up", 3)
        if count not in (None, found):
            raise ArgumentError(
                f"num_labels={found}, and {count} label_weights", "each label has one", f"num_labels={count}"
            )
        count = found
    return count, weights


def _check_choice(name: str, value: T, allowed: tuple[str, ...]) -> T:
    if value not in allowed:
        raise ArgumentError(f"{name}={value!r}", f"there are {', '.join(map(repr, allowed))}", f'{name}="{allowed[0]}"')
    return value
