"""Means of errors over samples; the losses of these names have the formulas."""

from __future__ import annotations

from graftax.core.typedefs import Array, ArrayLike
from graftax.metrics.reduction import SampleMetric
from graftax.objectives import per_sample
from graftax.objectives.hiding import Form


class MeanAbsolutePercentageError(SampleMetric):
    """The mean of ``100 |y_pred - y_true| / max(|y_true|, 1e-7)``.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> round(float(MeanAbsolutePercentageError()([[2.0]], [[3.0]])), 4)
        50.0
    """

    form = Form.ROWS

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the value of each sample."""
        return per_sample.mean_absolute_percentage_error(y_true, y_pred)


class MeanSquaredLogarithmicError(SampleMetric):
    """The mean of ``(log(1 + y_pred) - log(1 + y_true))²``.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> round(float(MeanSquaredLogarithmicError()([[0.0]], [[1.0]])), 4)
        0.4805
    """

    form = Form.ROWS

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the value of each sample."""
        return per_sample.mean_squared_logarithmic_error(y_true, y_pred)


class LogCoshError(SampleMetric):
    """The mean of ``log(cosh(y_pred - y_true))``.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> round(float(LogCoshError()([[0.0]], [[1.0]])), 4)
        0.4338
    """

    form = Form.ROWS

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the value of each sample."""
        return per_sample.log_cosh(y_true, y_pred)


class Poisson(SampleMetric):
    """The mean of ``y_pred - y_true log(y_pred + 1e-7)``; see the loss of that name.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> round(float(Poisson()([[2.0]], [[1.0]])), 4)
        1.0
    """

    form = Form.ROWS

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the value of each sample."""
        return per_sample.poisson(y_true, y_pred)


class KLDivergence(SampleMetric):
    """The mean of ``sum(y_true log(y_true / y_pred))``; see the loss of that name.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> round(float(KLDivergence()([[0.5, 0.5]], [[0.25, 0.75]])), 4)
        0.1438
    """

    form = Form.VECTORS

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the value of each sample."""
        return per_sample.kl_divergence(y_true, y_pred)


class Hinge(SampleMetric):
    """The mean of ``max(1 - y_true y_pred, 0)``; see the loss of that name.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> round(float(Hinge()([[1.0, 0.0]], [[0.5, -0.5]])), 4)
        0.5
    """

    form = Form.ROWS

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the value of each sample."""
        return per_sample.hinge(y_true, y_pred)


class SquaredHinge(SampleMetric):
    """The mean of ``max(1 - y_true y_pred, 0)²``; see the loss of that name.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> round(float(SquaredHinge()([[1.0, 0.0]], [[0.5, -0.5]])), 4)
        0.25
    """

    form = Form.ROWS

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the value of each sample."""
        return per_sample.squared_hinge(y_true, y_pred)


class CategoricalHinge(SampleMetric):
    """The mean of ``max(1 + max((1 - y_true) y_pred) - sum(y_true y_pred), 0)``; see the loss of that name.

    Args:
        name: Its name.
        dtype: The dtype of its Variable.

    Example:
        >>> round(float(CategoricalHinge()([[0.0, 1.0]], [[0.5, 0.75]])), 4)
        0.75
    """

    form = Form.VECTORS

    def values(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the value of each sample."""
        return per_sample.categorical_hinge(y_true, y_pred)
