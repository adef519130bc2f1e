"""How much two sets of pixels overlap: one number for each sample, over all of its axes."""

from __future__ import annotations

from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array, ArrayLike
from graftax.objectives.pairs import pair_of_rows
from graftax.objectives.per_sample import EPSILON
from graftax.objectives.ranges import check_range
from graftax.ops.checks import axis_in_range


def tversky(
    y_true: ArrayLike, y_pred: ArrayLike, alpha: float = 0.5, beta: float = 0.5, axis: tuple[int, ...] | None = None
) -> Array:
    """Compute ``1 - (TP + e) / (TP + alpha FP + beta FN + e)``, which is one less the Dice index where both are 1/2.

    ``axis`` are the axes to sum over, by default all but the first; the mean is over the others.
    """
    y_true, y_pred = pair_of_rows(y_true, y_pred)
    for name, y in (("y_true", y_true), ("y_pred", y_pred)):
        check_range(y, 0, 1, name, "shares are in [0, 1]; these look like logits", "a sigmoid or softmax before it")
    summed = range(1, y_true.ndim) if axis is None else axis
    axes = tuple(axis_in_range("overlap", one, y_true.ndim) for one in summed)
    if 0 in axes:
        raise ArgumentError(
            f"axis={axis} of y_pred {list(y_pred.shape)}",
            "samples are not added up: the first axis counts them",
            f"axis={tuple(range(1, y_true.ndim))}",
        )
    both = ops.sum(y_true * y_pred, axis=axes)
    wrong, missed = ops.sum((1 - y_true) * y_pred, axis=axes), ops.sum(y_true * (1 - y_pred), axis=axes)
    index = (both + EPSILON) / (both + alpha * wrong + beta * missed + EPSILON)
    values = 1 - index
    return ops.mean(values, axis=tuple(range(1, values.ndim))) if values.ndim > 1 else values
