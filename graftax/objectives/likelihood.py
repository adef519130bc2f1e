"""Likelihoods of targets under predicted distributions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graftax import ops
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array, ArrayLike
from graftax.objectives.ranges import check_range
from graftax.variables.floating import to_floating


def gaussian_nll(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    from_log_variance: bool = True,
    full: bool = False,
    epsilon: float = 1e-6,
) -> Array:
    """Compute ``mean(s + (y_true - mean)² exp(-s)) / 2`` over the last axis, ``s`` being the log variance.

    Raises:
        ShapeError: the predictions have not two numbers for each target.
    """
    y_pred = to_floating(y_pred)
    y_true = ops.cast(to_floating(y_true, "y_true"), y_pred.dtype.name)
    if not y_true.ndim or tuple(y_pred.shape) != (*y_true.shape[:-1], 2 * y_true.shape[-1]):
        raise ShapeError(
            f"y_true {list(y_true.shape)}, y_pred {list(y_pred.shape)}",
            "the last axis of predictions has means and then (log) variances, two numbers for each target",
            f"y_pred of shape {[*y_true.shape[:-1], 2 * y_true.shape[-1]] if y_true.ndim else [1, 2]}",
        )
    mean, spread = ops.split(y_pred, 2, axis=-1)
    if from_log_variance:
        log_variance = ops.maximum(spread, math.log(epsilon))
        values = log_variance + ops.square(y_true - mean) * ops.exp(-log_variance)
    else:
        check_range(spread, 0, math.inf, "the variance", "variances are not negative", "from_log_variance=True")
        variance = ops.maximum(spread, epsilon)
        values = ops.log(variance) + ops.square(y_true - mean) / variance
    return 0.5 * ops.mean(values, axis=-1) + (0.5 * math.log(2 * math.pi) if full else 0.0)


def check_padding(labels: np.ndarray[Any, Any], blank: int) -> None:
    """Raise if a blank stands before a label.

    Raises:
        ArgumentError: names the row.
    """
    there = labels != blank
    if labels.ndim == 2 and (there[:, 1:] & ~there[:, :-1]).any():
        row = int(np.argwhere((there[:, 1:] & ~there[:, :-1]).any(1))[0, 0])
        raise ArgumentError(
            f"labels[{row}] = {labels[row].tolist()}",
            f"the blank, {blank}, pads labels at their end, and stands between none",
            "labels without blanks; those between equal labels follow by themselves",
        )
