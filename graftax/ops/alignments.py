"""Sequences of labels that are aligned with steps: their loss, and the likeliest of them.

Source: Graves et al., Connectionist Temporal Classification (ICML 2006); Hannun et al., First-Pass Large Vocabulary
Continuous Speech Recognition using Bi-Directional Recurrent DNNs (arXiv 1408.2873), for the search over prefixes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from graftax.backend.protocol import Arrays
from graftax.core.errors import ArgumentError, DTypeError, ShapeError
from graftax.core.masked_arrays import entry_of
from graftax.core.typedefs import Array
from graftax.ops.checks import at_hand, check_range, register_check
from graftax.ops.functions import require_real, row
from graftax.ops.indexing import positions
from graftax.ops.reductions import to_inexact


@register_check("ctc_loss")
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
    _check_mask(shown, "label_lengths", labels, label_lengths)
    _check_mask(shown, "logit_lengths", logits, logit_lengths)
    inside, lengths = _labels_first(arrays, labels, label_lengths, blank)
    beyond = arrays.numpy.arange(labels.shape[1], dtype="int32") >= lengths[:, None]  # what stands there is no label
    inside = positions(arrays, inside)
    check_range(arrays, "ctc_loss", "labels", arrays.numpy.where(beyond, 0, inside), logits.shape[2])
    blanks = arrays.numpy.logical_and(inside == blank, arrays.numpy.logical_not(beyond))
    explain = partial(_blank_among_labels, shown, blank)
    if at_hand(arrays, explain, lambda found: found, blanks) and (host := arrays.to_numpy(blanks)).any():
        raise explain(host)


def _blank_among_labels(shown: str, blank: int, blanks: Any) -> ArgumentError:
    row, column = np.argwhere(blanks)[0].tolist()
    return ArgumentError(
        f"{shown}: labels[{row}, {column}] is the blank, {blank}",
        "the blank pads labels at their end, and stands between none",
        "labels without blanks; those between equal labels follow by themselves",
    )


@row
@require_real
def ctc_loss(
    a: Arrays,
    labels: Array,
    logits: Array,
    label_lengths: Array | None,
    logit_lengths: Array | None,
    blank: int,
) -> Any:
    labels, label_counts = _labels_first(a, labels, label_lengths, blank)
    logits, steps = _counted_first(a, logits, logit_lengths)
    return _fuse(a, _loss, ("blank",))(labels, logits, label_counts, steps, blank=blank)


def _loss(a: Arrays, labels: Array, logits: Array, label_counts: Array, steps: Array, blank: int) -> Any:
    logits = to_inexact(a, logits)
    dtype = logits.dtype
    logits = a.asarray(logits, "float32") if dtype.itemsize < 4 else logits
    counts = a.numpy.arange(logits.shape[1], dtype="int32") < steps[:, None]
    logits = a.numpy.where(counts[..., None], logits, 0)  # beyond the length anything may stand, nan too
    return a.asarray(a.ctc_loss(positions(a, labels), logits, label_counts, steps, blank), dtype)


_fused: dict[tuple[Arrays, Callable[..., Any]], Callable[..., Any]] = {}


def _fuse(a: Arrays, function: Callable[..., Any], static: tuple[str, ...]) -> Callable[..., Any]:
    """Return a function as one piece. It begins where masks have been read: inside of it arrays are others."""
    if (a, function) not in _fused:
        _fused[a, function] = a.fuse(partial(function, a), static)
    return _fused[a, function]


def _labels_first(a: Arrays, labels: Array, lengths: Array | None, blank: int) -> tuple[Any, Any]:
    """Return the same of labels. Where nothing says how many there are, they end where only padding follows."""
    if lengths is not None or _mask_of(labels) is not None:
        return _counted_first(a, labels, lengths)
    numbers = positions(a, labels)
    are_labels = a.numpy.logical_and(numbers != blank, numbers != -1)
    ends = a.numpy.where(are_labels, a.numpy.arange(1, labels.shape[1] + 1, dtype="int32"), 0)
    return labels, a.numpy.max(ends, axis=1, initial=0)


def _counted_first(a: Arrays, rows: Array, lengths: Array | None) -> tuple[Any, Any]:
    """Return rows with what counts at their beginning, and how much of each row that is.

    That is said by the lengths, else by the mask that the array carries; without both, all counts.
    """
    mask = None if lengths is not None else _mask_of(rows)
    if lengths is not None:
        return rows, positions(a, lengths)
    if mask is None:
        return rows, a.numpy.full(rows.shape[:1], rows.shape[1], "int32")
    given: Any = a.asarray(mask)
    keep = given != 0
    order = a.numpy.argsort(~keep, axis=1, stable=True)  # those that count keep their order
    order = order.reshape(order.shape + (1,) * (rows.ndim - 2))
    return a.numpy.take_along_axis(rows, order, axis=1), a.numpy.sum(a.asarray(keep, "int32"), axis=1)


def _mask_of(rows: Array) -> Any:
    """Return the mask of steps that an array carries; one that hides whole rows says nothing about steps."""
    entry = entry_of(rows)
    return None if entry is None or len(getattr(entry.mask, "shape", ())) < 2 else entry.mask


def _check_mask(shown: str, name: str, rows: Array, lengths: Array | None) -> None:
    """Raise if an array carries a mask of something else than steps, and no lengths are given."""
    mask = None if lengths is not None else _mask_of(rows)
    if mask is not None and tuple(mask.shape) != tuple(rows.shape[:2]):
        raise ShapeError(
            f"{shown} with a mask {list(mask.shape)}", "a mask of steps is (batch, steps)", f"{name}=, one for each row"
        )


@register_check("ctc_decode")
def _check_decode(
    arrays: Arrays,
    logits: Array,
    logit_lengths: Array | None,
    blank: int,
    beam_width: int | None,
    top_paths: int,
) -> None:
    shown = f"ctc_decode: logits {list(logits.shape)}"
    if logits.ndim != 3 or 0 in logits.shape[1:]:
        raise ShapeError(shown, "they are (batch, steps, classes)", "logits[None]")
    if blank >= logits.shape[2]:
        raise ArgumentError(f"{shown}, blank = {blank}", f"there are {logits.shape[2]} classes", "blank=0")
    if top_paths > (beam_width or 1):
        raise ArgumentError(
            f"{shown}, beam_width = {beam_width}, top_paths = {top_paths}",
            "the best alignment gives one path, and a beam as many as it is wide",
            f"beam_width={max(top_paths, 16)}",
        )
    _check_mask(shown, "logit_lengths", logits, logit_lengths)
    if logit_lengths is not None:
        if logit_lengths.shape != logits.shape[:1]:
            raise ShapeError(
                f"{shown}, logit_lengths {list(logit_lengths.shape)}", "each row has one", "one of [batch]"
            )
        check_range(arrays, "ctc_decode", "logit_lengths", logit_lengths, logits.shape[1] + 1)


@row
@require_real
def ctc_decode(
    a: Arrays,
    logits: Array,
    logit_lengths: Array | None,
    blank: int,
    beam_width: int | None,
    top_paths: int,
) -> Any:
    logits, lengths = _counted_first(a, logits, logit_lengths)
    run = _fuse(a, _decode, ("blank", "beam_width", "top_paths"))
    return run(logits, lengths, blank=blank, beam_width=beam_width, top_paths=top_paths)


def _decode(a: Arrays, logits: Array, lengths: Array, blank: int, beam_width: int | None, top_paths: int) -> Any:
    logits = a.stop_gradient(to_inexact(a, logits))
    dtype = logits.dtype
    logits = a.asarray(logits, "float32") if dtype.itemsize < 4 else logits
    counted = a.numpy.arange(logits.shape[1], dtype="int32") < lengths[:, None]
    logits = a.numpy.where(counted[..., None], logits, 0)  # beyond the length anything may stand, nan too
    if beam_width is None:
        labels, counts, found = _of_best_alignment(a, logits, counted, blank)
    else:
        labels, counts, found = a.ctc_beam_search(logits, lengths, blank, beam_width, top_paths)
    return labels, counts, a.asarray(found, dtype)


def _of_best_alignment(a: Arrays, logits: Any, counted: Any, blank: int) -> tuple[Any, Any, Any]:
    """Return the label of each step, without blanks and labels that repeat the step before."""
    best: Any = a.asarray(a.numpy.argmax(logits, axis=2), "int32")
    before = a.numpy.pad(best[:, :-1], ((0, 0), (1, 0)), constant_values=blank)
    kept = counted & (best != blank) & (best != before)
    labels = a.numpy.take_along_axis(best, a.numpy.argsort(~kept, axis=1, stable=True), axis=1)
    counts = a.numpy.sum(a.asarray(kept, "int32"), axis=1)
    labels = a.numpy.where(a.numpy.arange(labels.shape[1], dtype="int32") < counts[:, None], labels, -1)
    highest = a.numpy.max(logits, axis=2, keepdims=True)
    logs = -a.numpy.log(a.numpy.sum(a.numpy.exp(logits - highest), axis=2))
    return labels[:, None], counts[:, None], a.numpy.sum(a.numpy.where(counted, logs, 0), axis=1)[:, None]
