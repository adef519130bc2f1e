"""Means and sums over batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from graftax import ops
from graftax.core import hyperparameters as arguments
from graftax.core.checked_calls import checked_call
from graftax.core.errors import ArgumentTypeError, GraftaxError
from graftax.core.promises import withdraw
from graftax.core.tree import flatten
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.core.undefined import undefined_error
from graftax.core.user_functions import check_signature
from graftax.metrics import exact
from graftax.metrics.metric import Metric
from graftax.objectives.batch_axis import check_batch_axis, check_returned, check_targets_axis, is_of_user
from graftax.objectives.hiding import Form, Formula, as_condition, as_mask
from graftax.objectives.own_masks import of_whole_values, takes_mask
from graftax.objectives.pairs import prepare, with_rank_of
from graftax.objectives.sample_weights import broadcast_weight, check_weights
from graftax.objectives.tables import in_one_order
from graftax.variables import masks
from graftax.variables.floating import to_floating
from graftax.variables.state import storage


class Sum(Metric):
    """The sum of all values, times their weights.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> total = Sum()
        >>> total.update([1.0, 2.0])
        >>> float(total([10.0], sample_weight=0.5))
        8.0
    """

    def __init__(self, name: str | None = None, dtype: str = "float32") -> None:
        super().__init__(name, arguments.check_sum_dtype(dtype))
        self.sums = self.add_variable((2, 1))

    @checked_call
    def update(self, values: ArrayLike, sample_weight: ArrayLike | None = None, mask: ArrayLike | None = None) -> None:
        """Add values.

        Args:
            values: Any shape.
            sample_weight: One number, one for each row, or one for each value.
            mask: True where a row or value counts. Defaults to the mask that the values carry.
        """
        values, sample_weight, mask = in_one_order(values=values, sample_weight=sample_weight, mask=mask)
        mask = masks.mask_or_carried(mask, values)
        exact.add(self.sums, _tally(ops.asarray(values), sample_weight, [] if mask is None else [as_mask(mask)])[0])

    def result(self) -> Array:
        """Return the sum so far."""
        return exact.read(self.sums)[0]


class _Mean(Metric):
    """Keeps the sum of weighted values and the sum of weights."""

    def __init__(self, name: str | None = None, dtype: str = "float32") -> None:
        super().__init__(name, arguments.check_sum_dtype(dtype))
        self.sums = self.add_variable((2, 2))

    @property
    def total(self) -> Array:
        """Return the sum of weighted values so far."""
        return exact.read(self.sums)[0]

    @property
    def count(self) -> Array:
        """Return the sum of weights so far; without weights, how many values there were."""
        return exact.read(self.sums)[1]

    def result(self) -> Array:
        """Return the mean so far; 0 if there was nothing."""
        sums = exact.read(self.sums)
        return ops.divide_no_nan(sums[0], sums[1])


class Mean(_Mean):
    """The weighted mean of all values; 0 before the first.

    Every value counts alike, whatever batch or row it came in: of rows of three and of five values the mean is that of
    eight, where Keras takes the mean of each row first.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> mean = Mean()
        >>> float(mean([1.0, 2.0])), float(mean(6.0, sample_weight=2))
        (1.5, 3.75)
        >>> float(mean.total), float(mean.count)
        (15.0, 4.0)
    """

    @checked_call
    def update(self, values: ArrayLike, sample_weight: ArrayLike | None = None, mask: ArrayLike | None = None) -> None:
        """Take values into account.

        Args:
            values: Any shape.
            sample_weight: One number (for the mean of a batch: its size), one for each row, or one for each value.
            mask: True where a row or value counts. Defaults to the mask that the values carry.
        """
        values, sample_weight, mask = in_one_order(values=values, sample_weight=sample_weight, mask=mask)
        mask = masks.mask_or_carried(mask, values)
        exact.add(self.sums, *_tally(ops.asarray(values), sample_weight, [] if mask is None else [as_mask(mask)]))


class SampleMetric(_Mean):
    """The mean over samples of something computed from targets and predictions.

    A subclass defines ``values(y_true, y_pred)``, one number or boolean for each sample, or several. It gets arrays, of
    half precision none: these are widened to float32. Targets ``(n,)`` beside predictions ``(n, 1)`` come as
    ``(n, 1)``, and the other way round. With a third parameter ``mask=None`` it gets the mask, and may give one number
    for a sequence, as the `call` of a `graftax.losses.Loss`.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> class Within(SampleMetric):
        ...     def values(self, y_true, y_pred):
        ...         return ops.abs(y_true - y_pred) < 1
        >>> float(Within()([1.0, 2.0], [1.5, 4.0]))
        0.5
    """

    form: ClassVar[Form | None] = None
    """How the shape of the values follows from that of the predictions; None where only shapes can tell."""
    _counts_batches: ClassVar[bool] = False  # whether one number for a batch counts as often as that has samples

    @classmethod
    def _gx_prepare_class(cls) -> None:
        super()._gx_prepare_class()
        withdraw(cls, SampleMetric, "form", "values")
        withdraw(cls, SampleMetric, "_counts_batches", "values")

    def values(self, y_true: Any, y_pred: Any) -> Array:
        """Return one number or boolean for each sample; subclasses must define it."""
        raise undefined_error(self, "values(y_true, y_pred)")

    @property
    def _written(self) -> Callable[..., Any]:
        """Return the function that somebody wrote, which tells whose rules of shapes hold."""
        return type(self).values

    def keeps(self, y_true: Any, y_pred: Any) -> ArrayLike | None:
        """Return which samples count, as booleans; None for all. It acts like a mask."""
        return None

    def check_targets(self, y_true: Any, y_pred_shape: Shape) -> None:
        """Raise if targets on the host do not fit; for training loops, whose compiled step cannot look at values.

        Args:
            y_true: A NumPy array.
            y_pred_shape: The shape of the predictions.
        """

    @property
    def formula(self) -> Formula:
        """Return which elements of targets and predictions a value is made of."""
        return Formula(self.form, getattr(self, "axis", -1))

    @checked_call
    def update(
        self, y_true: Any, y_pred: Any, sample_weight: ArrayLike | None = None, mask: ArrayLike | None = None
    ) -> None:
        """Take a batch into account. An empty one changes nothing.

        What a mask, `keeps` or a weight of 0 hides is replaced before `values` sees it, targets by 1 and predictions by
        0.5 (integers by 0): nan and invalid targets there do not matter.

        Args:
            y_true: Targets.
            y_pred: Predictions.
            sample_weight: One number, one for each sample, or one for each value.
            mask: True where a sample or value counts. Defaults to the mask that the predictions carry.

        Raises:
            ShapeError: targets, weights or mask do not fit the predictions; nothing is broadcast silently.
        """
        storage.touch(self)
        try:
            y_pred, y_true, sample_weight, mask = in_one_order(
                y_pred=y_pred, y_true=y_true, sample_weight=sample_weight, mask=mask
            )
            mask = masks.mask_or_carried(mask, y_pred)
            y_true, y_pred = prepare(y_true, y_pred)
            y_true = with_rank_of(y_true, y_pred, self._written)
            conditions: list[ArrayLike] = [] if mask is None else [as_mask(mask)]
            for given in (*conditions, sample_weight):
                if given is not None:
                    y_true, y_pred = self.formula.hide(y_true, y_pred, given)
            own = self.keeps(y_true, y_pred)  # after the others: what they hide may be no target at all
            if own is not None:
                conditions.append(own)
                y_true, y_pred = self.formula.hide(y_true, y_pred, own)
            if mask is not None and takes_mask(self._written):
                compute: Callable[..., Any] = self.values
                values = compute(y_true, y_pred, mask=conditions[0])
                whole = of_whole_values(conditions[0], ops.asarray(values))
                conditions = [*([] if whole is None else [whole]), *conditions[1:]]
            else:
                values = self.values(y_true, y_pred)
            if is_of_user(self._written):
                self._check_values(y_true, y_pred, values, conditions, sample_weight)
            if self._counts_batches and not any(
                ops.ndim(one) for one in (*conditions, sample_weight) if one is not None
            ):
                values = _for_each_sample(values, y_pred)
            terms = _tally(values, sample_weight, conditions)
            if all(leaf.size for leaf in flatten(y_pred)):  # of rows without elements the mean is nan
                exact.add(self.sums, *terms)
        except GraftaxError as error:
            error.add_context(f"the metric {self!r}")
            raise

    def _check_values(
        self,
        y_true: object,
        y_pred: object,
        values: Array,
        conditions: list[ArrayLike],
        sample_weight: ArrayLike | None,
    ) -> None:
        """Raise if a function that somebody wrote returned no array, or lost the axis of the samples to weigh."""
        check_returned("metric", self._written, values)
        if not (conditions and takes_mask(self._written)):
            check_targets_axis("metric", self._written, self.values, y_true, y_pred)
        given = [("mask", one) for one in conditions]
        given += [("sample_weight", sample_weight)] if sample_weight is not None else []
        if given:
            check_batch_axis("metric", self._written, self.values, y_true, y_pred, ops.asarray(values), given)


class MeanMetricWrapper(SampleMetric):
    """The mean over samples of a function.

    Args:
        fn: ``fn(y_true, y_pred)``; returns one number for each sample. One that returns a single number for the whole
            batch counts as often as the batch has samples, and cannot be weighted or masked sample by sample. With a
            third parameter ``mask=None`` it gets the mask.
        name: Its name. Defaults to that of the function.
        dtype: The dtype of its Variable.

    Example:
        >>> metric = MeanMetricWrapper(lambda y_true, y_pred: ops.abs(y_true - y_pred), name="distance")
        >>> metric.update(np.float32([1, 2]), np.float32([1, 4]))
        >>> float(metric.result())
        1.0
    """

    _counts_batches = True
    _gx_called_only = frozenset({"fn"})

    def __init__(self, fn: Callable[[Any, Any], Any], name: str | None = None, dtype: str = "float32") -> None:
        if isinstance(fn, type) or not callable(fn):
            raise ArgumentTypeError(
                f"MeanMetricWrapper got {fn!r}", "a function of (y_true, y_pred) is needed", "a function, not a class"
            )
        check_signature("metric", fn, ("y_true", "y_pred"))
        given = getattr(fn, "__name__", "")
        super().__init__(given if name is None and given.isidentifier() else name, dtype)
        self.fn: Callable[..., Any] = fn

    @property
    def _written(self) -> Callable[..., Any]:
        return self.fn

    def values(self, y_true: Any, y_pred: Any, mask: Array | None = None) -> Array:
        """Return what the function returns."""
        found = self.fn(y_true, y_pred) if mask is None else self.fn(y_true, y_pred, mask=mask)
        check_returned("metric", self.fn, found)
        return ops.asarray(found)


class FormulaMetric(MeanMetricWrapper):
    """The mean over samples of a formula whose shapes are known; what names such as ``"mape"`` stand for.

    Args:
        fn: The formula.
        form: How its shapes hang together.
        name: Its name.
    """

    def __init__(self, fn: Callable[[Any, Any], Any], form: Form, name: str) -> None:
        super().__init__(fn, name)
        self._form = form

    @property
    def formula(self) -> Formula:
        """Return which elements of targets and predictions a value is made of."""
        return Formula(self._form)


def _for_each_sample(values: Array, y_pred: Any) -> Array:
    """Return one number for a whole batch as often as that has samples."""
    shape = ops.shape(y_pred) if values.ndim == 0 and hasattr(y_pred, "shape") else ()
    return ops.broadcast_to(values, shape[:1]) if shape else values


def _fits_an_integer(values: Array) -> bool:
    """Tell whether the sum of integers is one of int32, so that it loses no digit."""
    if values.dtype.kind not in "iu":
        return False
    return values.dtype.name == "int32" if values.size == 1 else values.dtype.itemsize <= 2 and values.size <= 2**15


def _tally(
    values: Array, sample_weight: ArrayLike | None, conditions: list[ArrayLike]
) -> tuple[Array | int, Array | int]:
    """Return the sum of weighted values and the sum of weights; without weights, booleans are counted exactly."""
    keep = None
    for mask in conditions:
        here = as_condition(broadcast_weight(mask, values, "mask"))
        keep = here if keep is None else ops.logical_and(keep, here)
    if sample_weight is None and values.dtype.kind == "b":
        if keep is None:
            return ops.count_nonzero(values), values.size
        return ops.count_nonzero(ops.logical_and(values, keep)), ops.count_nonzero(keep)
    if sample_weight is None and keep is None and _fits_an_integer(values):
        return ops.sum(ops.cast(values, "int32")), values.size
    values = to_floating(values, "values")
    weights: Any = None
    if sample_weight is not None:
        check_weights(sample_weight)
        weights = ops.cast(broadcast_weight(sample_weight, values), values.dtype.name)
        counts = ops.not_equal(weights, 0)
        keep = counts if keep is None else ops.logical_and(keep, counts)
        weights = ops.where(keep, weights, 0.0)
    if keep is not None:
        values = ops.where(keep, values, 0.0)  # not times 0: outside the mask not even nan gets through
    if sample_weight is None:
        return ops.sum(values), values.size if keep is None else ops.count_nonzero(keep)
    return ops.sum(values * weights), ops.sum(weights)
