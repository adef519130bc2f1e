"""Targets and predictions made ready for each other, for losses and metrics alike: structures, dtypes, shapes.

Nothing is broadcast silently.
"""

from typing import Any

from graftax import ops
from graftax.core.dtypes import is_floating
from graftax.core.errors import ShapeError
from graftax.core.ours import is_ours
from graftax.core.tree import flatten, map_structure
from graftax.core.typedefs import Array, ArrayLike
from graftax.variables.floating import to_floating


def arrays(y: Any) -> Any:
    """Return arrays in place of what can be one, lists included; dicts, and tuples of arrays, keep their structure."""
    if isinstance(y, dict):
        return {name: arrays(part) for name, part in y.items()}
    if isinstance(y, tuple) and any(hasattr(part, "shape") for part in y):
        return tuple(map(arrays, y))
    return ops.asarray(y)


def prepare(y_true: object, y_pred: object) -> tuple[Any, Any]:
    """Return arrays, or structures of them, widened; floating targets in the dtype of the predictions."""
    y_pred = map_structure(lambda y: to_floating(y) if is_floating(y.dtype) else y, arrays(y_pred))
    wide = next((y.dtype.name for y in flatten(y_pred) if is_floating(y.dtype)), None)
    return map_structure(lambda y: ops.cast(y, wide) if wide and is_floating(y.dtype) else y, arrays(y_true)), y_pred


def with_rank_of(y_true: Any, y_pred: Any, formula: Any) -> Any:
    """Return targets with the last axis of size 1 that only the predictions have, or without one that only they have.

    For formulas written elsewhere, which would broadcast `(n,)` and `(n, 1)` to `(n, n)`; those of this package pair
    both by themselves. Labels `(n,)` beside scores `(n, classes)`, and structures, stay as they are.

    Args:
        y_true: From `prepare`.
        y_pred: Likewise.
        formula: The function or method that gets both.
    """
    ours = is_ours(formula)
    if ours or not (hasattr(y_true, "shape") and hasattr(y_pred, "shape")):
        return y_true
    if y_pred.shape == (*y_true.shape, 1):
        return ops.expand_dims(y_true, -1)
    return ops.squeeze(y_true, -1) if y_true.shape == (*y_pred.shape, 1) else y_true


def pair(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[Array, Array]:
    """Return both floating, of one dtype and one shape; an axis of size 1 that only one has at its end is dropped.

    Raises:
        ShapeError: the shapes differ otherwise.

    Example:
        >>> a, b = pair([1, 2], [[1.0], [2.0]])
        >>> a.shape, b.shape
        ((2,), (2,))
    """
    predictions = to_floating(y_pred)
    return same_shape(ops.cast(to_floating(y_true, "y_true"), predictions.dtype.name), predictions)


def pair_of_rows(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[Array, Array]:
    """Return both as `pair` does, where axes have a meaning; an axis of size 1 that only one has at its end is kept.

    Raises:
        ShapeError: the shapes differ otherwise.

    Example:
        >>> a, b = pair_of_rows([1, 2], [[1.0], [2.0]])
        >>> a.shape, b.shape
        ((2, 1), (2, 1))
    """
    predictions = to_floating(y_pred)
    targets = ops.cast(to_floating(y_true, "y_true"), predictions.dtype.name)
    if predictions.shape == (*targets.shape, 1):
        targets = ops.expand_dims(targets, -1)
    elif targets.shape == (*predictions.shape, 1):
        predictions = ops.expand_dims(predictions, -1)
    return same_shape(targets, predictions)


def pair_of_vectors(y_true: ArrayLike, y_pred: ArrayLike, axis: int, why: str) -> tuple[Array, Array]:
    """Return both as `pair_of_rows` does, where formulas compare vectors along an axis.

    Along the first axis, that of the samples, a batch of one is a vector of one element, and is let be.

    Args:
        y_true: Targets.
        y_pred: Predictions.
        axis: The axis of the vectors.
        why: What the formula gives for vectors of one element.

    Raises:
        ShapeError: the vectors have one element.
    """
    y_true, y_pred = pair_of_rows(y_true, y_pred)
    if y_pred.ndim > 1 and -y_pred.ndim <= axis < y_pred.ndim and axis % y_pred.ndim and y_pred.shape[axis] == 1:
        raise ShapeError(
            f"y_true {list(y_true.shape)}, y_pred {list(y_pred.shape)}, with vectors along axis {axis}",
            f"each vector has one element: {why}",
            f"axis={y_pred.ndim - 2}, {'over the rows of each batch' if y_pred.ndim == 2 else 'the one before'}",
        )
    return y_true, y_pred


def same_shape(targets: Array, predictions: Array) -> tuple[Array, Array]:
    """Return both in one shape; an axis of size 1 that only one has at its end is dropped.

    Raises:
        ShapeError: the shapes differ otherwise.
    """
    shapes = list(targets.shape), list(predictions.shape)
    if targets.shape == (*predictions.shape, 1):
        targets = ops.squeeze(targets, -1)
    elif predictions.shape == (*targets.shape, 1):
        predictions = ops.squeeze(predictions, -1)
    if targets.shape != predictions.shape:
        raise ShapeError(
            f"y_true {shapes[0]}, y_pred {shapes[1]}",
            "targets are never broadcast: every prediction has a target of its own",
            f"y_true of shape {shapes[1]}{_suggest_shape(*shapes)}",
        )
    return targets, predictions


def _suggest_shape(targets: list[int], predictions: list[int]) -> str:
    """Return how targets get the shape of predictions, where that can be told from both."""
    if targets == predictions[:-1]:
        return f", such as ops.one_hot(y_true, {predictions[-1]}) where they are labels"
    pairs = zip(reversed(targets), reversed(predictions), strict=False)
    if len(targets) < len(predictions) and all(one in (1, size) for one, size in pairs):
        return f", such as ops.broadcast_to(y_true, {tuple(predictions)})"
    return ""
