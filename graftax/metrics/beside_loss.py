"""What a metric reads predictions as, compared with the loss of the same output: logits or probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from graftax.core import user_line
from graftax.core.dtypes import is_floating
from graftax.core.errors import ArgumentError
from graftax.core.tree import flatten
from graftax.metrics import accuracy, at_constraint, confusion, f_score, precision_recall, reduction
from graftax.objectives import per_sample

_SHARES = (accuracy.BinaryAccuracy, precision_recall.Precision, precision_recall.Recall, f_score.FBetaScore)


def pairs(metrics: object, loss: object) -> Iterator[tuple[Any, Any]]:
    """Yield metrics and the losses beside them, as far as `compile` tells without the outputs of the model."""
    if isinstance(loss, Mapping):
        if isinstance(metrics, Mapping):
            yield from ((one, loss[name]) for name in metrics if name in loss for one in flatten(metrics[name]))
    elif isinstance(loss, list | tuple):
        if isinstance(metrics, list | tuple) and len(metrics) == len(loss):
            yield from ((one, beside) for of, beside in zip(metrics, loss, strict=True) for one in flatten(of))
    else:
        yield from ((one, loss) for one in flatten(metrics))


def require_same_scores(metric: object, loss: object) -> None:
    """Raise if a metric reads probabilities where the loss says that predictions are logits, or the other way round.

    A threshold between 0 and 1, other than 0.5, may be meant for logits: that is a warning.

    Args:
        metric: A metric, as `compile` got it.
        loss: The loss of the same output; one that says nothing about logits fits everything.

    Raises:
        ArgumentError: names both, and the line to write.

    Example:
        >>> from graftax import losses
        >>> try:
        ...     require_same_scores(precision_recall.Recall(), losses.BinaryCrossentropy(from_logits=True))
        ... except ArgumentError as error:
        ...     print(error.instead)
        Recall(threshold=0.0)
    """
    logits = getattr(loss, "from_logits", None)
    if not isinstance(logits, bool):
        return
    kind = type(metric).__name__
    if isinstance(metric, _SHARES):
        at = metric.threshold
        if getattr(metric, "top_k", None) is None and at is not None:  # without one, classes are compared
            for one in at if isinstance(at, tuple) else (at,):
                _check_threshold(metric, "threshold", one, loss, logits)
        return
    if isinstance(metric, confusion.Count):
        for threshold in metric.at:
            _check_threshold(metric, "thresholds", threshold, loss, logits)
        return
    own = getattr(getattr(getattr(metric, "fn", None), "__self__", metric), "from_logits", None)
    if isinstance(metric, reduction.MeanMetricWrapper) and metric.fn is per_sample.kl_divergence:
        own = False
    if isinstance(own, bool) and own != logits:
        what = ("probabilities", "logits")
        share = f"{metric.least:g}, " if isinstance(metric, at_constraint.AtConstraint) else ""
        raise ArgumentError(
            f"{metric!r} with predictions that are {what[own]}, beside {loss!r}, for which they are {what[logits]}",
            "both read the predictions of one output",
            f"{kind}({share}from_logits={logits})"
            if hasattr(metric, "from_logits")
            else 'activation="softmax" in the last layer, and from_logits=False for the loss'
            if logits
            else "from_logits=False in what the metric is made of",
        )


def require_labels(metric: object, loss: object, y_pred: Any) -> None:
    """Raise or warn if an `Accuracy`, which compares labels, gets the floating predictions that a loss is computed of.

    Beside losses that say nothing of probabilities, outputs may be rounded ones that have a gradient of their own.

    Args:
        metric: A metric of an output.
        loss: The loss of the same output; None for no loss.
        y_pred: The output, or its shape.

    Raises:
        ArgumentError: the loss takes the predictions for probabilities or logits.
    """
    kind = getattr(y_pred, "dtype", None)
    if loss is None or kind is None or not is_floating(kind):
        return
    if not isinstance(metric, accuracy.Accuracy) or type(metric).values is not accuracy.Accuracy.values:
        return
    meant = _ACCURACIES.get(getattr(loss, "target_kind", None) or "")
    shown = f"{metric!r} of predictions of dtype {kind} beside {loss!r}"
    if meant is None:
        user_line.warn(
            f"{shown}: it counts predictions that equal their targets, which computed numbers hardly ever do. Write "
            '"accuracy", or BinaryAccuracy(), CategoricalAccuracy() or SparseCategoricalAccuracy(), for scores of '
            "classes, and MeanAbsoluteError() for quantities."
        )
        return
    raise ArgumentError(
        shown,
        "it counts predictions that equal their targets, which scores and probabilities hardly ever do",
        f'"accuracy", or graftax.metrics.{meant}()',
    )


_ACCURACIES = {
    "binary": "BinaryAccuracy",
    "categorical": "CategoricalAccuracy",
    "sparse": "SparseCategoricalAccuracy",
}


def _check_threshold(metric: object, argument: str, at: float, loss: object, logits: bool) -> None:
    kind = f"{type(metric).__name__}("
    if isinstance(metric, f_score.FBetaScore):  # several numbers would be refused, too
        kind += f'"{metric.average or "macro"}", '
    shown = f"{metric!r} with {argument}={at:g} beside {loss!r}"
    if not logits:
        if not 0 < at < 1:
            raise ArgumentError(
                shown,
                f"predictions are probabilities there, all of them on one side of {at:g}",
                f"{kind}{argument}=0.5)",
            )
        return
    classes = getattr(loss, "target_kind", None) in ("categorical", "sparse")
    if at == 0.5 and classes:
        raise ArgumentError(
            shown,
            "predictions are logits of classes there, and 0.5 lies between probabilities",
            'activation="softmax" in the last layer and from_logits=False for the loss; another threshold for logits',
        )
    if at == 0.5:
        raise ArgumentError(
            shown,
            "predictions are logits there, and the probability 0.5 is the logit 0",
            f"{kind}{argument}=0.0)",
        )
    if 0 < at < 1:
        logit = math.log(at / (1 - at))
        user_line.warn(
            f"{shown}: the threshold is compared with logits. If {at:g} is meant as a probability, write "
            f"{kind}{argument}={logit:.6g})."
        )
