"""Normalisations over axes, and the loss of aligned sequences, written once over the arrays of any backend."""

from __future__ import annotations

from typing import Any

from graftax.backend.protocol import Arrays
from graftax.core.errors import ArgumentError, DTypeError, ShapeError
from graftax.core.typedefs import Array, Shape
from graftax.ops.checks import axis_in_range, check_range, checking
from graftax.ops.reductions import inexact, norm, standardize
from graftax.ops.structure import in_float32, positions, real, row

Axes = int | tuple[int, ...] | None


@row
@in_float32
def normalize(a: Arrays, x: Array, axis: Axes, ord: float, epsilon: float) -> Any:
    x = inexact(a, x)
    return x / a.numpy.maximum(norm(a, x, ord, axis, True), epsilon)


def _over(op: str, x: Array, axis: Axes) -> tuple[int, ...]:
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return tuple(sorted(axis_in_range(op, one, x.ndim) for one in axes))


def _spread(a: Arrays, op: str, name: str, x: Array, value: Any, axes: tuple[int, ...]) -> Any:
    """Reshape one number for each place on the axes, so that it broadcasts with x."""
    shape = tuple(x.shape[axis] for axis in axes)
    if tuple(value.shape) != shape:
        raise ShapeError(
            f"{op}: x {list(x.shape)}, {name} {list(value.shape)}",
            f"{name} has one number for each place on the axes {list(axes)}",
            f"{name} of shape {list(shape)}",
        )
    return a.asarray(value, x.dtype).reshape([n if i in axes else 1 for i, n in enumerate(x.shape)])


@row
@real
@in_float32
def layer_normalization(
    a: Arrays, x: Array, gamma: Array | None, beta: Array | None, axis: Axes, epsilon: float
) -> Any:
    x = inexact(a, x)
    axes = _over("layer_normalization", x, axis)
    found = standardize(a, x, axes, epsilon)
    if gamma is not None:
        found = found * _spread(a, "layer_normalization", "gamma", x, gamma, axes)
    return found if beta is None else found + _spread(a, "layer_normalization", "beta", x, beta, axes)


@row
@real
@in_float32
def rms_normalization(a: Arrays, x: Array, scale: Array | None, axis: Axes, epsilon: float) -> Any:
    x = inexact(a, x)
    axes = _over("rms_normalization", x, axis)
    found = x * a.rsqrt(a.numpy.mean(a.numpy.square(x), axis=axes, keepdims=True) + epsilon)
    return found if scale is None else found * _spread(a, "rms_normalization", "scale", x, scale, axes)


@row
@real
@in_float32
def batch_normalization(
    a: Arrays,
    x: Array,
    mean: Array,
    variance: Array,
    axis: int,
    offset: Array | None,
    scale: Array | None,
    epsilon: float,
) -> Any:
    x = inexact(a, x)
    op, axes = "batch_normalization", _over("batch_normalization", x, axis)
    factor = a.rsqrt(_spread(a, op, "variance", x, variance, axes) + epsilon)
    if scale is not None:
        factor = factor * _spread(a, op, "scale", x, scale, axes)
    found = (x - _spread(a, op, "mean", x, mean, axes)) * factor
    return found if offset is None else found + _spread(a, op, "offset", x, offset, axes)


@checking("ctc_loss")
def _check_ctc(
    arrays: Arrays,
    labels: Array,
    logits: Array,
    label_lengths: Array | None,
    logit_lengths: Array | None,
    blank: int,
) -> None:
    shown = f"ctc_loss: labels {list(labels.shape)}, logits {list(logits.shape)}"
    if labels.ndim != 2 or logits.ndim != 3 or labels.shape[0] != logits.shape[0] or 0 in logits.shape:
        raise ShapeError(shown, "they are (batch, labels) and (batch, steps, classes)", "labels[None], logits[None]")
    if blank >= logits.shape[2]:
        raise ArgumentError(f"{shown}, blank = {blank}", f"there are {logits.shape[2]} classes", "blank=0")
    if labels.dtype.kind not in "iu":
        raise DTypeError(f"{shown} of dtype {labels.dtype.name}", "labels are integers", 'ops.cast(labels, "int32")')
    for name, lengths, most in (
        ("label_lengths", label_lengths, labels.shape[1]),
        ("logit_lengths", logit_lengths, logits.shape[1]),
    ):
        if lengths is not None:
            if lengths.shape != labels.shape[:1]:
                raise ShapeError(f"{shown}, {name} {list(lengths.shape)}", "each row has one", f"{name} of [batch]")
            check_range(arrays, "ctc_loss", name, lengths, most + 1)
    inside = labels
    if label_lengths is not None:  # what stands beyond a length is no label
        beyond = arrays.numpy.arange(labels.shape[1], dtype="int32") >= positions(arrays, label_lengths)[:, None]
        inside = arrays.numpy.where(beyond, 0, positions(arrays, labels))
    check_range(arrays, "ctc_loss", "labels", inside, logits.shape[2])


@row
@real
def ctc_loss(
    a: Arrays,
    labels: Array,
    logits: Array,
    label_lengths: Array | None,
    logit_lengths: Array | None,
    blank: int,
) -> Any:
    logits = inexact(a, logits)
    dtype = logits.dtype
    logits = a.asarray(logits, "float32") if dtype.itemsize < 4 else logits
    lengths = _lengths(a, label_lengths, labels.shape), _lengths(a, logit_lengths, logits.shape)
    counts = a.numpy.arange(logits.shape[1], dtype="int32") < lengths[1][:, None]
    logits = a.numpy.where(counts[..., None], logits, 0)  # beyond the length anything may stand, nan too
    return a.asarray(a.ctc_loss(positions(a, labels), logits, *lengths, blank), dtype)


def _lengths(a: Arrays, given: Array | None, shape: Shape) -> Any:
    """How many steps of each row count; all, unless given."""
    return a.numpy.full(shape[:1], shape[1], "int32") if given is None else positions(a, given)
