"""Targets and predictions made ready for each other, for losses and metrics alike: dtypes, shapes, labels, weights.

Nothing is broadcast silently, and values are looked at where they are at hand: in eager code, and after the run in
functions compiled with ``checked=True``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from graftax import ops
from graftax.backend import registry, traced_checks
from graftax.core.dtypes import is_complex, is_floating
from graftax.core.errors import ArgumentError, DTypeError, IndexRangeError, ShapeError
from graftax.core.tree import flatten, map_structure
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.ops.checks import axis_in_range, subscript

TOLERANCE = 1e-4  # rounding may carry a probability so far out of [0, 1]


def floating(x: ArrayLike, name: str = "y_pred") -> Array:
    """Widen integers and half precision to float32 at least, so that sums over a batch keep their digits.

    Raises:
        DTypeError: the values are complex.
    """
    array = ops.asarray(x)
    dtype = array.dtype.name
    if is_complex(dtype):
        raise DTypeError(f"{name} of dtype {dtype}", "losses, metrics and penalties are real", f"ops.abs({name})")
    return array if dtype in ("float32", "float64") else ops.cast(array, "float32")


def arrays(y: Any) -> Any:
    """Return arrays in place of what can be one, lists included; dicts, and tuples of arrays, keep their structure."""
    if isinstance(y, dict):
        return {name: arrays(part) for name, part in y.items()}
    if isinstance(y, tuple) and any(hasattr(part, "shape") for part in y):
        return tuple(map(arrays, y))
    return ops.asarray(y)


def prepared(y_true: object, y_pred: object) -> tuple[Any, Any]:
    """Return arrays, or structures of them, widened; floating targets in the dtype of the predictions."""
    y_pred = map_structure(lambda y: floating(y) if is_floating(y.dtype) else y, arrays(y_pred))
    wide = next((y.dtype.name for y in flatten(y_pred) if is_floating(y.dtype)), None)
    return map_structure(lambda y: ops.cast(y, wide) if wide and is_floating(y.dtype) else y, arrays(y_true)), y_pred


def with_rank_of(y_true: Any, y_pred: Any, formula: Any) -> Any:
    """Return targets with the last axis of size 1 that only the predictions have, or without one that only they have.

    For formulas written elsewhere, which would broadcast `(n,)` and `(n, 1)` to `(n, n)`; those of this package pair
    both by themselves. Labels `(n,)` beside scores `(n, classes)`, and structures, stay as they are.

    Args:
        y_true: From `prepared`.
        y_pred: Likewise.
        formula: The function or method that gets both.
    """
    ours = str(getattr(formula, "__module__", "")).partition(".")[0] == __name__.partition(".")[0]
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
    predictions = floating(y_pred)
    return same_shape(ops.cast(floating(y_true, "y_true"), predictions.dtype.name), predictions)


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
            f"y_true of shape {shapes[1]}{_such_as(*shapes)}",
        )
    return targets, predictions


def _such_as(targets: list[int], predictions: list[int]) -> str:
    """Return how targets get the shape of predictions, where that can be told from both."""
    if targets == predictions[:-1]:
        return f", such as ops.one_hot(y_true, {predictions[-1]}) where they are labels"
    pairs = zip(reversed(targets), reversed(predictions), strict=False)
    if len(targets) < len(predictions) and all(one in (1, size) for one, size in pairs):
        return f", such as ops.broadcast_to(y_true, {tuple(predictions)})"
    return ""


def class_pair(y_true: ArrayLike, y_pred: ArrayLike, axis: int = -1) -> tuple[Array, Array]:
    """Make a pair, as `pair` does, of distributions over classes along an axis.

    Raises:
        ShapeError: labels in place of distributions, one class only, or other shapes that differ.
    """
    predictions = floating(y_pred)
    classes = num_classes(predictions.shape, axis)
    targets = floating(y_true, "y_true")
    if targets.shape != predictions.shape:
        shapes = f"y_true {list(targets.shape)}, y_pred {list(predictions.shape)}"
        if targets.shape in _label_shapes(predictions.shape, axis):
            raise ShapeError(
                shapes,
                f"y_true looks like labels, where a distribution over {classes} classes is needed",
                f"the sparse variant of this loss or metric, or ops.one_hot(y_true, {classes})",
            )
        raise ShapeError(shapes, "they must be equal", f"y_true of shape {list(predictions.shape)}")
    return ops.cast(targets, predictions.dtype.name), predictions


def class_labels(y_true: ArrayLike, y_pred_shape: Shape, axis: int = -1, ignore_class: int | None = None) -> Array:
    """Return integer labels, one for each distribution over classes; a last axis of size 1 is dropped.

    Raises:
        ShapeError: not one label for each distribution.
        DTypeError: the labels are no integers.
        IndexRangeError: a label is neither a class nor the one to ignore.
    """
    classes = num_classes(y_pred_shape, axis)
    labels = ops.asarray(y_true)
    wanted, with_one = _label_shapes(y_pred_shape, axis)
    shapes = f"y_true {list(labels.shape)}, y_pred {list(y_pred_shape)}"
    if labels.shape not in (wanted, with_one):
        one_hot = labels.shape == tuple(y_pred_shape)
        raise ShapeError(
            shapes,
            "y_true looks like one-hot rows, where labels are needed" if one_hot else "one label each is needed",
            "the categorical variant of this loss or metric, or ops.argmax(y_true, -1)"
            if one_hot
            else f"y_true of shape {list(wanted)}",
        )
    if labels.dtype.kind not in "iub":
        raise DTypeError(
            f"{shapes}: y_true of dtype {labels.dtype.name}", "labels are integers", 'ops.cast(y_true, "int32")'
        )
    if registry.current().arrays.is_concrete(labels):
        check_labels(ops.to_numpy(labels), classes, ignore_class)
    given, labels = labels, _countable(labels)
    if not registry.current().arrays.is_concrete(labels) and traced_checks.wanted():
        bad = ops.any(_not_a_class(labels, classes, ignore_class))
        traced_checks.emit(partial(_label_error, classes, ignore_class), bad, given)
    return labels if labels.shape == wanted else ops.squeeze(labels, -1)


def not_ignored(y_true: ArrayLike, y_pred_shape: Shape, axis: int, ignore_class: int | None) -> Array | None:
    """Return where labels are not the one to ignore; None for everywhere."""
    if ignore_class is None:
        return None
    return ops.not_equal(class_labels(y_true, y_pred_shape, axis, ignore_class), ignore_class)


def _countable(labels: Array) -> Array:
    """Cast labels to a dtype that holds every class and every label to ignore, negative ones among them."""
    wide = labels.dtype.itemsize == 8
    return labels if labels.dtype.name in ("int32", "int64") else ops.cast(labels, "int64" if wide else "int32")


def _label_shapes(y_pred_shape: Shape, axis: int) -> tuple[Shape, Shape]:
    axis %= len(y_pred_shape)
    shape = (*y_pred_shape[:axis], *y_pred_shape[axis + 1 :])
    return shape, (*shape, 1)


def num_classes(y_pred_shape: Shape, axis: int = -1) -> int:
    """Return the size of the class axis.

    Raises:
        ShapeError: there is no such axis, or there is one class only.
    """
    size = y_pred_shape[axis_in_range("classes", axis, len(y_pred_shape))]
    if size == 1:
        raise ShapeError(
            f"y_pred {list(y_pred_shape)}",
            "with a single class every prediction is right",
            "the binary variant of this loss or metric, or a model with one output for each class",
        )
    return size


def check_labels(labels: np.ndarray[Any, Any], classes: int, ignore_class: int | None = None) -> None:
    """Raise if a label on the host is neither in ``[0, classes)`` nor the one to ignore.

    Raises:
        IndexRangeError: names the label and the range.
    """
    if _not_a_class(labels, classes, ignore_class).any():
        raise _label_error(classes, ignore_class, labels)


def _not_a_class(labels: Any, classes: int, ignore_class: int | None) -> Any:
    if isinstance(labels, np.ndarray):
        labels = labels.astype("int64")
    outside = (labels < 0) | (labels >= classes)
    return outside if ignore_class is None else outside & (labels != ignore_class)


def _label_error(classes: int, ignore_class: int | None, labels: np.ndarray[Any, Any]) -> IndexRangeError:
    place = tuple(np.argwhere(_not_a_class(labels, classes, ignore_class))[0])
    return IndexRangeError(
        f"{subscript('labels', place)} = {labels[place]} is not in [0, {classes})",
        f"the predictions are for {classes} classes, counted from 0",
        f"a model with at least {int(labels.max()) + 1} outputs"
        if labels[place] >= classes
        else f"ignore_class={labels[place]}, if these are to be left out",
    )


def check_range(values: Any, low: float, high: float, name: str, reason: str, instead: str) -> None:
    """Raise if values at hand lie outside ``[low, high]`` by more than rounding; nothing while compiling.

    Raises:
        ArgumentError: names the value.
    """
    arrays = registry.current().arrays
    if arrays.is_array(values):
        if not arrays.is_concrete(values):
            explain = partial(_range_error, low, high, name, reason, instead)
            wrong = partial(_outside, low, high)
            if name == "y_pred" and (heard := traced_checks.score_listeners.top) is not None:
                heard(explain, wrong, values)
            if traced_checks.wanted():
                traced_checks.emit(explain, ops.any(wrong(values)), values)
            return
        values = arrays.to_numpy(values)
    if not values.size or (values.min() >= low - TOLERANCE and values.max() <= high + TOLERANCE):
        return
    if (error := _range_error(low, high, name, reason, instead, values)) is not None:  # else there was a nan
        raise error


def _outside(low: float, high: float, values: Any) -> Any:
    return (values < low - TOLERANCE) | (values > high + TOLERANCE)


def _range_error(low: float, high: float, name: str, reason: str, instead: str, values: Any) -> ArgumentError | None:
    outside = _outside(low, high, values)
    if not outside.any():
        return None
    place = tuple(np.argwhere(outside)[0])
    return ArgumentError(f"{subscript(name, place)} = {values[place]:.6g}", reason, instead)


def check_weights(sample_weight: ArrayLike, name: str = "sample_weight") -> None:
    """Raise if a weight at hand is nan or infinite, hidden or not; nothing while compiling, unless checks are wanted.

    Raises:
        ArgumentError: names the weight.
    """
    arrays = registry.current().arrays
    weights: Any = sample_weight if isinstance(sample_weight, np.ndarray) else ops.asarray(sample_weight)
    if weights.dtype.kind in "biuc":  # complex ones are refused for what they are
        return
    if not isinstance(weights, np.ndarray) and not arrays.is_concrete(weights):
        if traced_checks.wanted():
            traced_checks.emit(partial(_weight_error, name), ops.any(ops.logical_not(ops.isfinite(weights))), weights)
        return
    host = weights if isinstance(weights, np.ndarray) else arrays.to_numpy(weights)
    if (error := _weight_error(name, host)) is not None:
        raise error


def _weight_error(name: str, weights: np.ndarray[Any, Any]) -> ArgumentError | None:
    wrong = ~np.isfinite(weights.astype("float32") if weights.dtype.kind == "V" else weights)
    if not wrong.any():
        return None
    place = tuple(np.argwhere(wrong)[0])
    return ArgumentError(
        f"{subscript(name, place)} = {weights[place]}",
        "a weight that is not finite makes the whole sum so",
        f"np.nan_to_num({name}, nan=0, posinf=0, neginf=0): a sample of weight 0 does not count",
    )


def spread(weight: ArrayLike, values: Array, name: str = "sample_weight") -> Array:
    """Repeat weights to the shape of per-sample values: one number, one for each sample, or one for each value.

    Raises:
        ShapeError: they do not fit.
        DTypeError: they are complex.

    Example:
        >>> spread([1.0, 2.0], ops.zeros((2, 3))).tolist()
        [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
    """
    given = weight = ops.asarray(weight)
    if is_complex(given.dtype):
        raise DTypeError(f"{name} of dtype {given.dtype.name}", "weights are real", f"ops.real({name})")
    shape = values.shape
    if weight.shape == (*shape, 1):
        weight = ops.squeeze(weight, -1)
    if 0 < weight.ndim < len(shape):
        weight = ops.reshape(weight, (*weight.shape, *[1] * (len(shape) - weight.ndim)))
    fits = weight.ndim == len(shape) and weight.shape[:1] == shape[:1]
    if weight.ndim and not (fits and all(a in (1, b) for a, b in zip(weight.shape, shape, strict=True))):
        raise ShapeError(
            f"{name} {list(given.shape)} for values {list(shape)}, one for each sample",
            f"{name} has one number for each value or for each sample, never more"
            if shape
            else "a value that is one number already cannot be weighted sample by sample",
            _fitting(name, tuple(given.shape), tuple(shape)),
        )
    return ops.broadcast_to(weight, shape)


def _fitting(name: str, given: Shape, shape: Shape) -> str:
    if not shape:
        return "a function that leaves one value for each sample: ops.mean(..., axis=-1)"
    if given == (1, *shape[1:]):  # the same for all samples
        return f"ops.broadcast_to({name}, {shape}), if it is the same for every sample"
    either = f" or {list(shape)}" if len(shape) > 1 else ""
    return f"{name} of shape {list(shape[:1])}{either}"
