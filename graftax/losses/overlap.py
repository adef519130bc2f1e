"""Losses of masks of images: how little two sets of pixels overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.losses import settings_at_hand as settings
from graftax.losses.loss import Loss
from graftax.objectives import overlap, per_sample
from graftax.objectives.hiding import Form, Formula, Ranges


def summed_axes(value: Any) -> tuple[int, ...] | None:
    """Return the axes that are summed over, or None."""
    if value is None:
        return None
    found = (value,) if not isinstance(value, (list, tuple)) else tuple(value)
    no_axes = any(isinstance(one, bool) or not isinstance(one, int) or one == 0 for one in found)
    if not found or no_axes or len(set(found)) < len(found):
        raise ArgumentError(
            f"axis={value!r}", "it is the axes that are summed over, of which samples are none", "axis=(1, 2)"
        )
    return found


class _Overlap(Loss):
    """A loss of shares in [0, 1], one number for each sample.

    A mask may hide single pixels, which count nowhere then; weights are of samples.
    """

    form = Form.SAMPLES
    axes: tuple[int, ...] | None

    @property
    def axis(self) -> tuple[int, ...] | None:
        """Return the axes that are summed over; None for all but the first."""
        return self.axes

    @property
    def formula(self) -> Formula:
        """Return which elements a value is made of; see `Loss.formula`."""
        return Formula(self.form)

    def ranges(self, y_pred_shape: Shape) -> Ranges:
        """Return [0, 1] for both sides."""
        return {"y_true": (0, 1), "y_pred": (0, 1)}

    def check_targets(self, y_true: object, y_pred_shape: Shape) -> None:
        """Raise if a target is outside [0, 1]."""
        per_sample.check_binary_targets(np.asarray(y_true))


class Dice(_Overlap):
    """``1 - (2 Σ y_true y_pred + e) / (Σ y_true + Σ y_pred + e)``, one number for each sample.

    ``e`` is 2e-7: nothing predicted where nothing is costs 0.

    Args:
        axis: The axes that the sums are over, such as (1, 2) for one index of each channel, of which the mean is
            taken. Defaults to None, all but the first.
        reduction: As for `Loss`.
        name: Its name.

    Shape:
        ``(batch, ...), (batch, ...) -> (batch,)`` before the reduction.

    Raises:
        ArgumentError: a value is outside [0, 1]; logits need a sigmoid or softmax first.

    Example:
        >>> round(float(Dice()([[1.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]])), 4)
        0.3333

    Source: Milletari et al., arXiv 1606.04797.
    """

    def __init__(
        self,
        axis: int | Sequence[int] | None = None,
        *,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction=reduction, name=name)
        self.axes = summed_axes(axis)

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the loss of each sample."""
        return overlap.tversky(y_true, y_pred, axis=self.axes)

    def __repr__(self) -> str:
        return f"Dice(axis={self.axes}, reduction={self.reduction!r})"


class Tversky(_Overlap):
    """``1 - (TP + e) / (TP + alpha FP + beta FN + e)``, one number for each sample; `Dice` where both are 1/2.

    ``e`` is 1e-7: nothing predicted where nothing is costs 0.

    Args:
        alpha: How much a pixel counts that is predicted and is not there, from 0 up. Defaults to 0.5.
        beta: How much a pixel counts that is there and is not predicted, from 0 up. Defaults to 0.5.
        axis: The axes that the sums are over. Defaults to None, all but the first.
        reduction: As for `Loss`.
        name: Its name.

    Shape:
        ``(batch, ...), (batch, ...) -> (batch,)`` before the reduction.

    Raises:
        ArgumentError: a value is outside [0, 1]; logits need a sigmoid or softmax first.

    Example:
        >>> round(float(Tversky(beta=2.0)([[1.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]])), 4)
        0.6667

    Source: Salehi et al., arXiv 1706.05721.
    """

    def __init__(
        self,
        alpha: float = 0.5,
        beta: float = 0.5,
        axis: int | Sequence[int] | None = None,
        *,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction=reduction, name=name)
        self.alpha = settings.check_mistake("alpha", alpha)
        self.beta = settings.check_mistake("beta", beta)
        self.axes = summed_axes(axis)

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the loss of each sample."""
        return overlap.tversky(y_true, y_pred, self.alpha, self.beta, self.axes)

    def __repr__(self) -> str:
        return f"Tversky(alpha={self.alpha}, beta={self.beta}, axis={self.axes}, reduction={self.reduction!r})"
