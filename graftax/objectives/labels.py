"""Labels of classes beside scores: their shapes, and which classes there are.

Labels are looked at where they are at hand: in eager code, and after the run in functions compiled with `checked=True`.
"""

from functools import partial
from typing import Any

import numpy as np

from graftax import ops
from graftax.backend import registry, traced_checks
from graftax.core.errors import DTypeError, IndexRangeError, ShapeError
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.ops.checks import axis_in_range, subscript
from graftax.variables.floating import to_floating


def class_pair(y_true: ArrayLike, y_pred: ArrayLike, axis: int = -1) -> tuple[Array, Array]:
    """Make a pair, as `pair` does, of distributions over classes along an axis.

    Raises:
        ShapeError: labels in place of distributions, one class only, or other shapes that differ.
    """
    predictions = to_floating(y_pred)
    classes = num_classes(predictions.shape, axis)
    targets = to_floating(y_true, "y_true")
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
    given, labels = labels, to_int(labels)
    if not registry.current().arrays.is_concrete(labels) and traced_checks.is_checking():
        bad = ops.any(_not_a_class(labels, classes, ignore_class))
        traced_checks.emit(partial(_label_error, classes, ignore_class), bad, given)
    return labels if labels.shape == wanted else ops.squeeze(labels, -1)


def not_ignored(y_true: ArrayLike, y_pred_shape: Shape, axis: int, ignore_class: int | None) -> Array | None:
    """Return where labels are not the one to ignore; None for everywhere."""
    if ignore_class is None:
        return None
    return ops.not_equal(class_labels(y_true, y_pred_shape, axis, ignore_class), ignore_class)


def to_int(labels: Array) -> Array:
    """Cast labels to a dtype that holds every class and every label to ignore, negative ones among them.

    An unsigned label that is too large for it becomes the largest number: it must be no class and not -1.
    """
    if labels.dtype.name in ("int32", "int64"):
        return labels
    wide = "int64" if labels.dtype.itemsize == 8 else "int32"
    if labels.dtype.name in ("uint32", "uint64"):
        labels = ops.minimum(labels, np.iinfo(wide).max)
    return ops.cast(labels, wide)


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
    kind = labels.dtype
    # at each batch: negative numbers are large as unsigned ones, so one look is enough, if no class is as large
    is_quick = kind.isnative and (kind.kind in "ub" or (kind.kind == "i" and classes <= 1 << (8 * kind.itemsize - 1)))
    if is_quick and labels.size and labels.view(f"u{kind.itemsize}").max() < classes:
        return
    if _not_a_class(labels, classes, ignore_class).any():
        raise _label_error(classes, ignore_class, labels)


def _not_a_class(labels: Any, classes: int, ignore_class: int | None) -> Any:
    if isinstance(labels, np.ndarray):
        labels = labels.astype("int64")
    outside = (labels < 0) | (labels >= classes)
    return outside if ignore_class is None else outside & (labels != ignore_class)


def _label_error(classes: int, ignore_class: int | None, labels: np.ndarray[Any, Any]) -> IndexRangeError:
    place = tuple(np.argwhere(_not_a_class(labels, classes, ignore_class))[0])
    more = f"a model with at least {int(labels.max()) + 1} outputs" if labels[place] >= classes else ""
    if ignore_class is not None and ignore_class < 0 and labels.dtype.kind == "u":
        wrapped = ignore_class % (1 << 8 * labels.dtype.itemsize)
        if labels[place] == wrapped:
            return IndexRangeError(
                f"{subscript('labels', place)} = {wrapped} of dtype {labels.dtype}, with ignore_class={ignore_class}",
                f"{ignore_class} became {wrapped} there: {labels.dtype} has no negative numbers",
                f"ignore_class={wrapped}, or labels with a sign: labels.astype('int32'), before {ignore_class} is set",
            )
    if int(labels.max()) == classes and int(labels.min()) > 0:
        more = f"y - 1, if your labels are counted from 1; {more}"
    left_out = "" if ignore_class is not None else f"ignore_class={labels[place]}, if these are to be left out"
    return IndexRangeError(
        f"{subscript('labels', place)} = {labels[place]} is not in [0, {classes})",
        f"the predictions are for {classes} classes, counted from 0"
        + (f", and {ignore_class} is ignored" if ignore_class is not None else ""),
        "; or ".join(filter(None, (more, left_out))) or f"labels from 0 to {classes - 1}, and {ignore_class}",
    )
