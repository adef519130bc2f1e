"""Sequences of labels that are aligned with steps: their loss, and the likeliest of them.

Source: Graves et al., Connectionist Temporal Classification (ICML 2006); Hannun et al., First-Pass Large Vocabulary
Continuous Speech Recognition using Bi-Directional Recurrent DNNs (arXiv 1408.2873), for the search over prefixes.
"""

from __future__ import annotations

from typing import Any

from graftax.backend.protocol import Arrays
from graftax.core.errors import ArgumentError, DTypeError, ShapeError
from graftax.core.typedefs import Array, Shape
from graftax.ops.checks import check_range, register_check
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
    inside = labels
    if label_lengths is not None:  # what stands beyond a length is no label
        beyond = arrays.numpy.arange(labels.shape[1], dtype="int32") >= positions(arrays, label_lengths)[:, None]
        inside = arrays.numpy.where(beyond, 0, positions(arrays, labels))
    check_range(arrays, "ctc_loss", "labels", inside, logits.shape[2])


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
    logits = to_inexact(a, logits)
    dtype = logits.dtype
    logits = a.asarray(logits, "float32") if dtype.itemsize < 4 else logits
    lengths = _lengths(a, label_lengths, labels.shape), _lengths(a, logit_lengths, logits.shape)
    counts = a.numpy.arange(logits.shape[1], dtype="int32") < lengths[1][:, None]
    logits = a.numpy.where(counts[..., None], logits, 0)  # beyond the length anything may stand, nan too
    return a.asarray(a.ctc_loss(positions(a, labels), logits, *lengths, blank), dtype)


def _lengths(a: Arrays, lengths: Array | None, shape: Shape) -> Any:
    """Return the number of steps of each row that count. Defaults to all."""
    return a.numpy.full(shape[:1], shape[1], "int32") if lengths is None else positions(a, lengths)


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
    logits = a.stop_gradient(to_inexact(a, logits))
    dtype = logits.dtype
    logits = a.asarray(logits, "float32") if dtype.itemsize < 4 else logits
    lengths = _lengths(a, logit_lengths, logits.shape)
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
