"""The check that labels are whole numbers: a cast would cut the fractions of scores off, and make them class 0."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from graftax import ops
from graftax.backend import registry, traced_checks
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array


def require(name: str, y: Array) -> None:
    """Raise if labels of a floating dtype have fractions.

    Compiled code sees no values: predictions of such a dtype are refused there. Targets are not, since `fit` looks at
    them before its steps.

    Args:
        name: ``"y_true"`` or ``"y_pred"``.
        y: The labels.

    Raises:
        ArgumentError: there are fractions, or there may be some that nobody would see.
    """
    arrays = registry.current().arrays
    if arrays.is_concrete(y):
        check(name, arrays.to_numpy(y))
    elif traced_checks.is_checking():
        traced_checks.emit(partial(_error, name), ops.any(ops.not_equal(y, ops.floor(y))), y)
    elif name == "y_pred":
        raise ArgumentError(
            f"y_pred of dtype {y.dtype.name} in compiled code",
            "sparse_y_pred=True says that it holds numbers of classes; a program sees no values, so the fractions of "
            "scores would be cut off, and all become class 0",
            f"{_instead(name)}, in fit in the update of a subclass",
        )


def check(name: str, labels: np.ndarray[Any, Any]) -> None:
    """Raise for labels on the host with fractions: scores rather than classes.

    Raises:
        ArgumentError: names one.
    """
    if labels.dtype.kind not in "iub" and (labels != np.floor(labels)).any():
        raise _error(name, labels)


def refuse_scores(y_true: Array, y_pred: Array) -> None:
    """Raise if predictions are scores beside targets that are labels: hardly any would equal one.

    Quantities in steps of 0.5 can be equal, and some batch may have whole targets alone: so among floating targets
    most predictions have fractions where they are scores.

    Raises:
        ArgumentError: they are.
    """
    arrays = registry.current().arrays
    if not (arrays.is_concrete(y_true) and arrays.is_concrete(y_pred)):
        return
    if "c" in (y_true.dtype.kind, y_pred.dtype.kind):  # refused where they are compared
        return
    targets, scores = arrays.to_numpy(y_true), arrays.to_numpy(y_pred)
    with_fractions = np.isfinite(scores) & (scores != np.floor(scores))
    enough = 0.0 if targets.dtype.kind in "iub" else 0.5
    if scores.size and with_fractions.mean() > enough and (targets == np.floor(targets)).all():
        raise ArgumentError(
            f"y_pred with {scores[with_fractions].flat[0]:.6g} beside y_true that are whole numbers",
            "Accuracy counts predictions that equal their targets, and scores or probabilities hardly ever do",
            "graftax.metrics.BinaryAccuracy() for one probability, CategoricalAccuracy() or "
            "SparseCategoricalAccuracy() for one of each class",
        )


def _error(name: str, labels: np.ndarray[Any, Any]) -> ArgumentError:
    cut = labels[labels != np.floor(labels)]
    return ArgumentError(
        f"{name} with the label {cut.flat[0]:.6g}",
        f"sparse_{name}=True says that it holds numbers of classes",
        _instead(name),
    )


def _instead(name: str) -> str:
    return f"sparse_{name}=False for scores of each class; ops.cast({name} > 0.5, 'int32') for one probability"
