"""Losses of predicted distributions: of a normal one for each number, and of label sequences without positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graftax import ops
from graftax.backend import registry
from graftax.core import hyperparameters as arguments
from graftax.core.checked_calls import checked_call
from graftax.core.errors import ArgumentError, DTypeError, ShapeError
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.losses.loss import Loss
from graftax.objectives import alignments, likelihood
from graftax.objectives.hiding import Form, Formula, Ranges, as_condition, as_mask
from graftax.objectives.labels import check_labels, to_int
from graftax.variables import masks
from graftax.variables.state import storage


class GaussianNLL(Loss):
    """``mean(s + (y_true - mean)² exp(-s)) / 2`` over the last axis, for predicted means and log variances ``s``.

    The first half of the last axis of the predictions are means, the second half the logarithms of variances. With
    ``from_log_variance=False`` these are variances, and ``s`` is their logarithm.

    Args:
        from_log_variance: True if the second half are logarithms of variances, as a plain layer gives them; False if
            they are variances, which are not negative. Defaults to True.
        full: True to add the constant ``log(2 pi) / 2``. Defaults to False.
        epsilon: What variances are at least, so that ``s >= log(epsilon)``. Defaults to 1e-6.
        reduction: As for `Loss`.
        name: Its name.

    Shape:
        ``(batch, ..., d), (batch, ..., 2 d) -> (batch, ...)`` before the reduction.

    Raises:
        ShapeError: the predictions have not two numbers for each target.
        ArgumentError: a variance is negative.

    Example:
        >>> float(GaussianNLL()([[1.0]], [[3.0, 0.0]]))
        2.0

    Source: Nix and Weigend 1994, Estimating the mean and variance of the target probability distribution.
    """

    form = Form.VECTORS

    def __init__(
        self,
        from_log_variance: bool = True,
        full: bool = False,
        epsilon: float = 1e-6,
        *,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction=reduction, name=name)
        self.from_log_variance = arguments.check_flag("from_log_variance", from_log_variance)
        self.full = arguments.check_flag("full", full)
        self.epsilon = arguments.check_distance("epsilon", epsilon)

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the loss of each sample."""
        return likelihood.gaussian_nll(y_true, y_pred, self.from_log_variance, self.full, self.epsilon)


class CTC(Loss):
    """Minus the logarithm of the probability of a label sequence, over all ways to align it with the steps.

    Targets are labels, padded at their end with the blank or with -1. A mask of shape ``(batch, steps)``, given or
    carried by the predictions, leaves out steps; a sample without any does not count.

    Each label needs a step, and equal neighbours a blank between them. Where a sample that counts has fewer steps, no
    alignment has its labels: the loss is infinite, and its gradient 0. That is an error where values are at hand: in
    eager code, in `fit` and `evaluate`, and with ``jit(checked=True)``. In other compiled functions it is ``inf``, as
    in torch.

    Args:
        blank: The class that stands for no label. Defaults to 0.
        zero_infinity: Whether such a sample adds 0 to the loss, and is no error; means count it. Defaults to False.
        reduction: As for `Loss`.
        name: Its name.

    Shape:
        ``(batch, labels), (batch, steps, classes) -> (batch,)`` before the reduction; predictions are logits.

    Raises:
        IndexRangeError: a label is not in ``[0, classes)``.
        DataError: a sample has fewer steps than its labels need.
        DTypeError: the labels are no integers.
        ShapeError: the axes are others.

    Example:
        >>> round(float(CTC()([[1, 0]], [[[0.0, 0.0], [0.0, 0.0]]])), 4)  # three of four paths
        0.2877

    Source: Graves et al. 2006, Connectionist temporal classification.
    """

    checks_mask = True

    def __init__(
        self,
        blank: int = 0,
        *,
        zero_infinity: bool = False,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction=reduction, name=name)
        self.zero_infinity = arguments.check_flag("zero_infinity", zero_infinity)
        reason = "it is the number of a class, from 0 up"
        self.blank = arguments.check_integer("blank", blank, reason, 0)
        if self.blank < 0:
            raise ArgumentError(f"blank={blank}", reason, "blank=0")

    @checked_call
    def __call__(
        self,
        y_true: Any,
        y_pred: Any,
        sample_weight: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> Array:
        """Return the reduced loss; see `Loss`. A mask is of samples, ``(batch,)``, or steps, ``(batch, steps)``."""
        mask = masks.mask_or_carried(mask, y_pred)
        if mask is None or (keep := as_mask(mask)).ndim != 2 or keep.shape != tuple(np.shape(y_pred))[:2]:
            self._require_steps(y_true, ops.shape(y_pred), None, mask, sample_weight)
            return super().__call__(y_true, y_pred, sample_weight, mask)
        storage.touch(self)
        order = ops.argsort(ops.logical_not(keep), axis=1)  # it is stable: those that count come first, as they were
        steps = ops.take_along_axis(ops.asarray(y_pred), ops.expand_dims(order, -1), axis=1)
        some = ops.any(keep, axis=1)
        count = ops.sum(ops.cast(keep, "int32"), axis=1)
        lengths = ops.where(some, count, ops.full_like(count, keep.shape[1]))
        self._require_steps(y_true, ops.shape(y_pred), lengths, some, sample_weight)
        return _CTCOfLengths(self, lengths)(y_true, steps, sample_weight, some)

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the loss of each sample."""
        labels = ops.asarray(y_true)
        if labels.ndim != 2:
            raise ShapeError(
                f"y_true {list(labels.shape)}",
                "targets are (batch, labels), padded with the blank",
                "y_true[None] for one sequence",
            )
        if labels.dtype.kind not in "iub":
            raise DTypeError(f"y_true of dtype {labels.dtype.name}", "labels are integers", 'ops.cast(y_true, "int32")')
        labels = labels if labels.dtype.kind == "i" else to_int(labels)
        labels = ops.where(ops.equal(labels, -1), ops.full_like(labels, self.blank), labels)
        if registry.current().arrays.is_concrete(labels):
            likelihood.check_padding(ops.to_numpy(labels), self.blank)
        count = ops.sum(ops.cast(ops.not_equal(labels, self.blank), "int32"), axis=-1)
        values = ops.ctc_loss(labels, y_pred, count, self._lengths(), blank=self.blank)
        return ops.where(ops.isinf(values), 0.0, values) if self.zero_infinity else values

    def _require_steps(
        self, y_true: ArrayLike, shape: Shape, lengths: ArrayLike | None, *conditions: ArrayLike | None
    ) -> None:
        """Raise if a sample has fewer steps than its labels need; shapes and dtypes that are wrong are left to `call`.

        Args:
            y_true: Targets.
            shape: That of the predictions.
            lengths: The number of steps of each sample; None for all.
            conditions: A mask and weights of samples; what is 0 does not count.
        """
        labels = y_true if isinstance(y_true, np.ndarray) else ops.asarray(y_true)
        if self.zero_infinity or labels.ndim != 2 or labels.dtype.kind not in "iu" or len(shape) != 3:
            return
        counted: Any = np.ones(shape[0], bool)
        for one in conditions:
            if one is not None:
                keep = as_condition(one)
                if keep.ndim and keep.shape[0] != shape[0]:
                    return
                counted = ops.logical_and(counted, ops.any(keep, axis=tuple(range(1, keep.ndim))))
        if labels.shape[0] == shape[0]:
            alignments.require_steps(labels, shape[1] if lengths is None else lengths, counted, self.blank)

    def _lengths(self) -> Array | None:
        """Return the number of steps of each sample that count; None for all."""
        return None

    def ranges(self, y_pred_shape: Shape) -> Ranges:
        """Return the classes for labels."""
        return {"y_true": (-1, y_pred_shape[-1] - 1)}

    @property
    def formula(self) -> Formula:
        """Return which elements a value is made of; see `Loss.formula`."""
        return _OfSequences(self.blank)

    def check_targets(self, y_true: Any, y_pred_shape: Shape, mask: ArrayLike | None = None) -> None:
        """Raise if a label is not in ``[0, classes)``, a blank stands between labels, or there are too few steps."""
        labels = np.asarray(y_true)
        labels = np.where(labels == -1, np.asarray(self.blank, labels.dtype), labels)
        check_labels(labels, y_pred_shape[-1])
        likelihood.check_padding(labels, self.blank)
        keep = np.ones((1, 1), bool) if mask is None else np.asarray(mask) != 0
        steps = keep.sum(1) if keep.ndim == 2 and keep.shape == y_pred_shape[:2] else y_pred_shape[1]
        self._require_steps(labels, y_pred_shape, steps)


class _CTCOfLengths(CTC):
    """The same loss of predictions of which so many steps of each sample count."""

    def __init__(self, loss: CTC, lengths: Array) -> None:
        super().__init__(loss.blank, zero_infinity=loss.zero_infinity, reduction=loss.reduction, name=loss.name)
        self._given: Callable[[], Array] = lambda: lengths  # a plain attribute keeps no traced value
        self._shown = repr(loss)

    def _lengths(self) -> Array | None:
        return self._given()

    def _require_steps(
        self, y_true: ArrayLike, shape: Shape, lengths: ArrayLike | None, *conditions: ArrayLike | None
    ) -> None:
        """Do nothing: the loss has looked."""

    def __repr__(self) -> str:
        return self._shown


class _OfSequences(Formula):
    """Targets have other steps than predictions: a mask of those hides targets of samples without any step."""

    def __init__(self, blank: int) -> None:
        super().__init__(None)
        self._blank = blank

    def visible_targets(self, y_true: object, y_pred_shape: Shape, condition: object) -> Any:
        """Return targets on the host, with blanks for samples that do not count."""
        labels, keep = np.asarray(y_true), np.asarray(condition) != 0
        if keep.ndim == 0 or keep.shape[0] != len(labels):
            return labels
        rows = keep.reshape(len(keep), -1).any(1)
        return np.where(rows.reshape(-1, *[1] * (labels.ndim - 1)), labels, np.asarray(self._blank, labels.dtype))
