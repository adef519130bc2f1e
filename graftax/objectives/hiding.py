"""What a mask, a weight of 0 or a class to ignore hides from a loss or metric is replaced before a formula sees it.

Taking it away afterwards is not enough: the gradient of a formula at nan is nan, and 0 times nan is nan. So the hidden
elements become fillers at which every formula is finite, and `ops.where` cuts the gradient to what stood there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.tree import map_structure
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.objectives.ranges import TOLERANCE

Ranges: TypeAlias = Mapping[str, tuple[float, float]]
"""By ``"y_true"`` and ``"y_pred"``: between which numbers a formula can use them."""

TARGET, PREDICTION = 1.0, 0.5  # logs, quotients and distances of these are finite, and so are their slopes
_LARGEST = float(np.finfo("float32").max)


class Form(Enum):
    """How the shape of the values of a formula follows from that of targets and predictions."""

    ROWS = "a value for each row: the last axis is averaged, unless it is the only one"
    VECTORS = "a value for each vector along an axis"
    CLASSES = "a value for each distribution over classes along an axis; targets may be labels"
    ELEMENTS = "a value for each element"
    SAMPLES = "a value for each sample: sums over all other axes, to which 0 adds nothing"


def value_shape(form: Form, axis: int, y_true: Shape, y_pred: Shape) -> Shape | None:
    """Return the shape of the values; None where the formula will raise.

    Example:
        >>> value_shape(Form.ROWS, -1, (8,), (8, 1)), value_shape(Form.CLASSES, 1, (8, 5), (8, 3, 5))
        ((8,), (8, 5))
    """
    shape = y_pred
    if form is Form.SAMPLES:
        return shape[:1]
    if form is not Form.CLASSES:
        shape = min(y_true, y_pred, key=len) if y_true[: len(y_pred)] == y_pred[: len(y_true)] else y_pred
    if form is Form.ELEMENTS or (form is Form.ROWS and len(shape) < 2):
        return shape
    if not -len(shape) <= axis < len(shape):
        return None
    axis %= len(shape)
    return (*shape[:axis], *shape[axis + 1 :])


class Formula:
    """Which elements of targets and predictions the values of a formula are made of.

    Args:
        form: How its shapes hang together; None if it is somebody else's, and only shapes can tell.
        axis: The axis of the vectors or classes.
        prediction: What hidden predictions become. Defaults to 0.5; a formula that takes labels needs a whole number.
    """

    def __init__(self, form: Form | None, axis: int = -1, prediction: float = PREDICTION) -> None:
        self.form, self.axis, self.prediction = form, axis, prediction

    def hide(self, y_true: object, y_pred: object, condition: ArrayLike) -> tuple[Any, Any]:
        """Return both with fillers where the condition is False; arrays, or structures of them.

        Args:
            y_true: Targets.
            y_pred: Predictions.
            condition: Of the shape of the values, or what spreads to it; one that fits nothing hides nothing here,
                and fails where the values are weighted.
        """
        shown = self._shower(y_true, y_pred, condition)
        target, prediction = (0, 0) if self.form is Form.SAMPLES else (TARGET, self.prediction)
        return (
            map_structure(lambda leaf: fill(leaf, shown(leaf), target), y_true),
            map_structure(lambda leaf: fill(leaf, shown(leaf), prediction), y_pred),
        )

    def of_values(self, condition: ArrayLike, values: Array) -> ArrayLike:
        """Return the condition for whole values: of a sample that is one value, something has to be visible."""
        keep = as_condition(condition)
        if self.form is not Form.SAMPLES or keep.ndim <= values.ndim or keep.shape[:1] != values.shape[:1]:
            return condition
        return ops.any(keep, axis=tuple(range(values.ndim, keep.ndim)))

    def hide_unusable(self, y_true: object, y_pred: object, weight: ArrayLike, ranges: Ranges) -> tuple[Any, Any]:
        """Return both with fillers where the weight is 0 and an element is nan, infinite or out of its range.

        Other elements stay what they are, since the gradient to a weight of 0 is the value that it weighs.
        """
        shown = self._shower(y_true, y_pred, weight)

        def mended(name: str, filler: float, leaf: Any) -> Any:
            keep, fine = shown(leaf), is_usable(leaf, ranges.get(name))
            return leaf if keep is None or fine is None else fill(leaf, ops.logical_or(keep, fine), filler)

        return (
            map_structure(lambda leaf: mended("y_true", TARGET, leaf), y_true),
            map_structure(lambda leaf: mended("y_pred", self.prediction, leaf), y_pred),
        )

    def visible_targets(self, y_true: object, y_pred_shape: Shape, condition: object) -> Any:
        """Return targets on the host, with fillers where a mask is False or a weight 0; for checks before a step."""
        y_true, keep = np.asarray(y_true), np.asarray(condition) != 0
        there = place(keep.shape, y_true.shape, self._values(y_true.shape, y_pred_shape), self.axis)
        return y_true if there is None else np.where(there.of(keep), y_true, np.zeros((), y_true.dtype))

    def _values(self, y_true: Shape, y_pred: Shape) -> Shape | None:
        return None if self.form is None else value_shape(self.form, self.axis, y_true, y_pred)

    def _check_samples(self, condition: Shape, y_pred: Shape) -> None:
        """Raise if samples are weighed or hidden where each value is one of all samples, as that of a column is."""
        if (
            self.form is Form.VECTORS
            and len(y_pred) > 1
            and self.axis % len(y_pred) == 0
            and condition[:1] == y_pred[:1]
        ):
            raise ShapeError(
                f"a weight or mask {list(condition)} of {y_pred[0]} samples, with vectors along axis {self.axis}",
                f"values are of columns, each over all samples, as y_pred is {list(y_pred)}",
                "axis=-1 for a value of each sample; else only the samples that count, without weights and masks",
            )

    def _shower(self, y_true: Any, y_pred: Any, condition: ArrayLike) -> Callable[[Any], Any]:
        keep = as_condition(condition)
        self._check_samples(tuple(keep.shape), getattr(y_pred, "shape", ()))
        single = hasattr(y_true, "shape") and hasattr(y_pred, "shape")
        values = self._values(tuple(y_true.shape), tuple(y_pred.shape)) if single else None

        def shown(leaf: Any) -> Any:
            if self.form is Form.SAMPLES and tuple(keep.shape) == tuple(leaf.shape[: keep.ndim]):
                return ops.reshape(keep, (*keep.shape, *[1] * (leaf.ndim - keep.ndim)))
            there = place(tuple(keep.shape), tuple(leaf.shape), values, self.axis)
            return None if there is None else there.of(keep)

        return shown


def as_condition(values: ArrayLike) -> Array:
    """Return booleans: what is not 0 is True."""
    array = ops.asarray(values)
    return array if array.dtype.kind == "b" else ops.not_equal(array, 0)


def as_mask(values: ArrayLike) -> Array:
    """Return booleans from what a user calls a mask.

    Raises:
        ArgumentError: it holds other numbers than 0 and 1.
    """
    array = ops.asarray(values)
    if array.dtype.kind == "b":
        return array
    keep = ops.not_equal(array, 0)
    if registry.current().arrays.is_concrete(array):
        host = ops.to_numpy(array)
        weights = host[(host != 0) & (host != 1)]
        if weights.size:
            raise ArgumentError(
                f"a mask {list(host.shape)} that holds {weights.flat[0]}",
                "a mask says which values count, not how much",
                "sample_weight= for numbers, mask= for True and False",
            )
    return keep


class Place(NamedTuple):
    """Where a condition stands in an array: the shape that broadcasts, and whether only whole samples can be told."""

    shape: Shape
    samples: bool

    def of(self, keep: Any) -> Any:
        """Return the condition so; on the host or not."""
        return (keep.any(axis=tuple(range(1, keep.ndim))) if self.samples else keep).reshape(self.shape)


def place(condition: Shape, leaf: Shape, values: Shape | None, axis: int) -> Place | None:
    """Return where a condition stands in targets or predictions; None if it fits nowhere.

    Args:
        condition: The shape of a mask or weights.
        leaf: The shape of the array.
        values: The shape of what the formula gives, if that is known.
        axis: The axis that the formula takes away.

    Example:
        >>> place((8, 5), (8, 3, 5), (8, 5), 1).shape, place((8, 5), (8, 5, 3), None, -1).shape
        ((8, 1, 5), (8, 5, 1))
        >>> place((8, 5), (8, 5, 5), None, -1)  # which of the two is meant?
        Place(shape=(8, 1, 1), samples=True)
    """
    if not condition:
        return Place((), False)
    if values is not None:
        mine = condition[:-1] if condition == (*values, 1) else condition
        mine += (1,) * (len(values) - len(mine))
        if len(mine) == len(values) and mine[:1] == values[:1] and all(map(_can_cover, mine, values)):
            at = axis % (len(values) + 1)
            size = leaf[at : at + 1]
            with_axis = (*values[:at], *size, *values[at:]), (*mine[:at], 1, *mine[at:])
            for whole, shape in ((values, mine), with_axis):
                for end in ((), (1,)):
                    if leaf == (*whole, *end):
                        return Place((*shape, *end), False)
    if leaf[:1] != condition[:1]:
        return None
    inner = condition[1:]
    while inner[-1:] == (1,):
        inner = inner[:-1]
    fitting = [at for at in combinations(range(1, len(leaf)), len(inner)) if tuple(leaf[i] for i in at) == inner]
    if len(fitting) != 1:
        return Place((leaf[0], *[1] * (len(leaf) - 1)), True)
    return Place(tuple(n if i in (0, *fitting[0]) else 1 for i, n in enumerate(leaf)), False)


def _can_cover(size: int, whole: int) -> bool:
    return size in (1, whole)


def is_usable(values: Array, limits: tuple[float, float] | None) -> Array | None:
    """Return which elements are finite and within limits; None for all."""
    low, high = limits or (-_LARGEST, _LARGEST)
    if values.dtype.kind in "iub" and limits is None:
        return None
    return ops.logical_and(values >= low - TOLERANCE, values <= min(high + TOLERANCE, _LARGEST))


def fill(values: Array, keep: Any, filler: float) -> Array:
    """Return values where they are to be kept, else the filler: 0 for integers, a class that there always is."""
    if keep is None:
        return values
    return ops.where(keep, values, 0 if values.dtype.kind in "iu" else False if values.dtype.kind == "b" else filler)
