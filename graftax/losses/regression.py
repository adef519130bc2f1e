"""Losses for predictions of numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graftax.core import hyperparameters as arguments
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.losses import settings_at_hand as settings
from graftax.losses.loss import Loss
from graftax.objectives import per_sample
from graftax.objectives.hiding import Form, Ranges


class MeanSquaredError(Loss):
    """``mean((y_pred - y_true)²)`` over the last axis.

    Args:
        reduction: As for `Loss`.
        name: Its name.

    Shape:
        ``(batch, ..., d), (batch, ..., d) -> (batch, ...)`` before the reduction; ``(batch,)`` fits ``(batch, 1)``.

    Example:
        >>> loss = MeanSquaredError()
        >>> float(loss([[0.0, 0.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 3.0]]))
        1.5
        >>> float(loss([[0.0], [0.0]], [[1.0], [3.0]], sample_weight=[1, 3]))
        14.0
    """

    form = Form.ROWS

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the squared error of each sample."""
        return per_sample.mean_squared_error(y_true, y_pred)


class MeanAbsoluteError(Loss):
    """``mean(|y_pred - y_true|)`` over the last axis.

    Args:
        reduction: As for `Loss`.
        name: Its name.

    Example:
        >>> float(MeanAbsoluteError()([[0.0, 0.0]], [[1.0, -3.0]]))
        2.0
    """

    form = Form.ROWS

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the absolute error of each sample."""
        return per_sample.mean_absolute_error(y_true, y_pred)


class MeanAbsolutePercentageError(Loss):
    """``100 mean(|y_pred - y_true| / max(|y_true|, 1e-7))`` over the last axis.

    Args:
        reduction: As for `Loss`.
        name: Its name.

    Example:
        >>> float(MeanAbsolutePercentageError()([[2.0, 4.0]], [[1.0, 4.0]]))
        25.0
    """

    form = Form.ROWS

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the error of each sample in percent."""
        return per_sample.mean_absolute_percentage_error(y_true, y_pred)


class MeanSquaredLogarithmicError(Loss):
    """``mean((log(1 + y_pred) - log(1 + y_true))²)`` over the last axis, negative values taken as 0.

    Args:
        reduction: As for `Loss`.
        name: Its name.

    Example:
        >>> round(float(MeanSquaredLogarithmicError()([[0.0]], [[1.0]])), 4)
        0.4805
    """

    form = Form.ROWS

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the squared error of the logarithms, for each sample."""
        return per_sample.mean_squared_logarithmic_error(y_true, y_pred)


class Huber(Loss):
    """The mean over the last axis of ``d²/2`` where ``|d| <= delta``, else ``delta |d| - delta²/2``, of errors ``d``.

    Args:
        delta: Where the parabola turns into a line.
        reduction: As for `Loss`.
        name: Its name.

    Example:
        >>> float(Huber(delta=2.0)([[0.0]], [[3.0]]))
        4.0

    Source: Huber 1964, Robust estimation of a location parameter.
    """

    form = Form.ROWS

    def __init__(self, delta: float = 1.0, *, reduction: str = "sum_over_batch_size", name: str | None = None) -> None:
        super().__init__(reduction=reduction, name=name)
        self.delta = settings.check_delta(delta)

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the error of each sample."""
        return per_sample.huber(y_true, y_pred, self.delta)


class LogCosh(Loss):
    """``mean(log(cosh(y_pred - y_true)))`` over the last axis: a parabola near 0, a line far away.

    Args:
        reduction: As for `Loss`.
        name: Its name.

    Example:
        >>> round(float(LogCosh()([[0.0]], [[1000.0]])), 2)
        999.31
    """

    form = Form.ROWS

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the error of each sample."""
        return per_sample.log_cosh(y_true, y_pred)


class Poisson(Loss):
    """``mean(y_pred - y_true log(y_pred + 1e-7))`` over the last axis: counts against rates.

    Args:
        reduction: As for `Loss`.
        name: Its name.

    Example:
        >>> float(Poisson()([[2.0]], [[1.0]]))
        0.9999997615814209
    """

    form = Form.ROWS

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the error of each sample."""
        return per_sample.poisson(y_true, y_pred)

    def ranges(self, y_pred_shape: Shape) -> Ranges:
        """Return the ranges: counts and rates are not negative."""
        return {"y_true": (0, math.inf), "y_pred": (0, math.inf)}

    def check_targets(self, y_true: Any, y_pred_shape: Shape) -> None:
        """Raise if a count is negative."""
        per_sample.check_counts(np.asarray(y_true))


class CosineSimilarity(Loss):
    """``-y_true · y_pred / (‖y_true‖ ‖y_pred‖)``: -1 for the same direction, 1 for the opposite, 0 if one is 0.

    Args:
        axis: The axis of the vectors.
        reduction: As for `Loss`.
        name: Its name.

    Example:
        >>> float(CosineSimilarity()([[0.0, 2.0]], [[0.0, 5.0]]))
        -1.0
    """

    form = Form.VECTORS

    def __init__(self, axis: int = -1, *, reduction: str = "sum_over_batch_size", name: str | None = None) -> None:
        super().__init__(reduction=reduction, name=name)
        self.axis = arguments.check_axis(axis)

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the negative similarity of each sample."""
        return -per_sample.cosine_similarity(y_true, y_pred, self.axis)
