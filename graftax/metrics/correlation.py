"""How alike vectors are, and how much of a variance is explained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from graftax import ops
from graftax.core import hyperparameters as arguments
from graftax.core.checked_calls import checked_call
from graftax.core.errors import ArgumentError, GraftaxError, ShapeError
from graftax.core.typedefs import Array, ArrayLike
from graftax.metrics import exact
from graftax.metrics.metric import Metric
from graftax.metrics.reduction import SampleMetric
from graftax.objectives import per_sample
from graftax.objectives.hiding import Form, Formula, as_mask
from graftax.objectives.pairs import pair_of_rows
from graftax.objectives.sample_weights import broadcast_weight, check_weights
from graftax.objectives.tables import in_one_order
from graftax.variables import masks
from graftax.variables.state import storage
from graftax.variables.variable import Variable


class CosineSimilarity(SampleMetric):
    """The mean of ``y_true · y_pred / (‖y_true‖ ‖y_pred‖)``, 1 for the same direction.

    Args:
        axis: The axis of the vectors. Defaults to the last one.
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> round(float(CosineSimilarity()([[0.0, 2.0]], [[0.0, 5.0]])), 4)
        1.0
    """

    form = Form.VECTORS

    def __init__(self, axis: int = -1, name: str | None = None, dtype: str = "float32") -> None:
        super().__init__(name, dtype)
        self.axis = arguments.check_axis(axis)

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the value of each sample."""
        return per_sample.cosine_similarity(y_true, y_pred, self.axis)


class PearsonCorrelation(SampleMetric):
    """The mean of the correlations of vectors along an axis, 0 where one of them is constant.

    Args:
        axis: The axis of the vectors. Defaults to the last one.
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> round(float(PearsonCorrelation()([[0.0, 1.0, 2.0]], [[1.0, 3.0, 5.0]])), 4)
        1.0
    """

    form = Form.VECTORS

    def __init__(self, axis: int = -1, name: str | None = None, dtype: str = "float32") -> None:
        super().__init__(name, dtype)
        self.axis = arguments.check_axis(axis)

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the value of each sample."""
        return per_sample.pearson_correlation(y_true, y_pred, self.axis)


class ConcordanceCorrelation(SampleMetric):
    """The mean of ``2 cov / (var_true + var_pred + (mean_true - mean_pred)²)`` of vectors along an axis.

    Args:
        axis: The axis of the vectors. Defaults to the last one.
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> round(float(ConcordanceCorrelation()([[0.0, 1.0]], [[0.0, 2.0]])), 4)
        0.6667
    """

    form = Form.VECTORS

    def __init__(self, axis: int = -1, name: str | None = None, dtype: str = "float32") -> None:
        super().__init__(name, dtype)
        self.axis = arguments.check_axis(axis)

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the value of each sample."""
        return per_sample.concordance_correlation(y_true, y_pred, self.axis)


Aggregation = Literal["uniform_average", "variance_weighted_average"]


class R2Score(Metric):
    """``1 - Σ (y_true - y_pred)² / Σ (y_true - mean)²`` over everything seen, of each place on the last axis.

    Args:
        class_aggregation: What is shown of several places: ``"uniform_average"``, the mean of their scores;
            ``"variance_weighted_average"``, weighted by their variance; or None for a score each. Defaults to
            ``"uniform_average"``.
        name: Its name.
        dtype: The dtype of its Variable.

    Raises:
        ArgumentError: an argument is none of these.
        ShapeError: another number of places than before.

    Example:
        >>> round(float(R2Score()([[1.0], [4.0], [3.0]], [[2.0], [4.0], [4.0]])), 4)
        0.5714
    """

    formula = Formula(Form.VECTORS)

    def __init__(
        self,
        class_aggregation: Aggregation | None = "uniform_average",
        name: str | None = None,
        dtype: str = "float32",
    ) -> None:
        super().__init__(name, arguments.check_sum_dtype(dtype))
        if class_aggregation is not None and class_aggregation not in get_args(Aggregation):
            raise ArgumentError(
                f"class_aggregation={class_aggregation!r}",
                f"there are None, {', '.join(map(repr, get_args(Aggregation)))}",
                'class_aggregation="uniform_average"',
            )
        self.class_aggregation = class_aggregation
        self.sums: Variable | None = None

    def _gx_shapes_by_data(self) -> Mapping[str, tuple[int | None, ...]]:
        return {"sums": (2, 4, None)}

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
            for given in (mask, sample_weight):
                if given is not None:
                    y_true, y_pred = self.formula.hide(ops.asarray(y_true), ops.asarray(y_pred), given)
            y_true, y_pred = pair_of_rows(y_true, y_pred)
            if y_pred.ndim < 2:
                y_true, y_pred = ops.expand_dims(y_true, -1), ops.expand_dims(y_pred, -1)
            if not y_pred.size:
                return
            places = y_pred[..., 0]
            weight = ops.ones_like(places)
            if sample_weight is not None:
                check_weights(sample_weight)
                weight = ops.cast(broadcast_weight(sample_weight, places), places.dtype.name)
            if mask is not None:
                weight = ops.where(broadcast_weight(mask, places, "mask"), weight, 0.0)
            rows = (-1, y_pred.shape[-1])
            self._merge(ops.reshape(y_true, rows), ops.reshape(y_pred, rows), ops.ravel(weight))
        except GraftaxError as error:
            error.add_context(f"the metric {self!r}")
            raise

    def _merge(self, y_true: Array, y_pred: Array, weight: Array) -> None:
        """Join the mean and the squares of a batch with those before, without cancelling digits (Chan et al. 1979).

        ``sums`` has the count, the mean, the squares around it and the squared errors of each column.
        """
        columns = y_true.shape[-1]
        if self.sums is None:
            self.sums = self.add_variable((2, 4, columns), name="sums")
        if self.sums.shape[-1] != columns:
            raise ShapeError(
                f"y_pred with {columns} places",
                f"batches before had {self.sums.shape[-1]}, each of which has a score",
                f"a new {type(self).__name__}(...) for other places, in fit by a new compile",
            )
        y_true, y_pred = (ops.stop_gradient(ops.cast(one, self.dtype)) for one in (y_true, y_pred))
        each = ops.expand_dims(ops.cast(weight, self.dtype), -1)
        count, mean, _, _ = ops.unstack(exact.read(self.sums))
        more = ops.sum(each) * ops.ones_like(count)
        here = ops.divide_no_nan(ops.sum(each * y_true, axis=0), more)
        spread_here = ops.sum(each * ops.square(y_true - here), axis=0)
        total, apart = count + more, here - mean
        exact.add_array(
            self.sums,
            ops.stack(
                [
                    more,
                    apart * ops.divide_no_nan(more, total),
                    spread_here + ops.square(apart) * ops.divide_no_nan(count * more, total),
                    ops.sum(each * ops.square(y_true - y_pred), axis=0),
                ]
            ),
        )

    def result(self) -> Array:
        """Compute the score so far; 0 of nothing, and where all targets are the same."""
        self._gx_ensure_state()
        if self.sums is None:
            return ops.asarray(0.0, self.dtype)
        _, _, squares, errors = ops.unstack(exact.read(self.sums))
        scores = ops.where(squares > 0, 1 - ops.divide_no_nan(errors, squares), 0.0)
        if self.class_aggregation is None:
            return scores
        if self.class_aggregation == "uniform_average":
            return ops.mean(scores)
        return ops.divide_no_nan(ops.sum(scores * squares), ops.sum(squares))
