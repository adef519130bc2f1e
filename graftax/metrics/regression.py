"""Metrics for predictions of numbers."""

from __future__ import annotations

from graftax import ops
from graftax.core.typedefs import Array, ArrayLike
from graftax.metrics.reduction import SampleMetric
from graftax.objectives import per_sample
from graftax.objectives.hiding import Form
from graftax.objectives.pairs import pair


class MeanSquaredError(SampleMetric):
    """The mean of ``(y_pred - y_true)²``.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> float(MeanSquaredError()([[0.0], [0.0]], [[1.0], [3.0]], sample_weight=[1, 3]))
        7.0
    """

    form = Form.ROWS

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the squared error of each sample."""
        return per_sample.mean_squared_error(y_true, y_pred)


class MeanAbsoluteError(SampleMetric):
    """The mean of ``|y_pred - y_true|``.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> float(MeanAbsoluteError()([[0.0], [0.0]], [[1.0], [-3.0]]))
        2.0
    """

    form = Form.ROWS

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the absolute error of each sample."""
        return per_sample.mean_absolute_error(y_true, y_pred)


class RootMeanSquaredError(SampleMetric):
    """The square root of the mean of ``(y_pred - y_true)²`` over everything seen.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> float(RootMeanSquaredError()([0.0, 0.0], [3.0, 3.0]))
        3.0
    """

    form = Form.ELEMENTS

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute every squared error."""
        return ops.square(ops.subtract(*pair(y_true, y_pred)))

    def result(self) -> Array:
        """Return the root of the mean so far."""
        return ops.sqrt(super().result())
