"""Crossentropies in which what is predicted well already counts less.

Source: Lin et al., arXiv 1708.02002.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graftax.core import hyperparameters as arguments
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.losses import settings_at_hand as settings
from graftax.losses.loss import Loss
from graftax.objectives import focal, per_sample, weights
from graftax.objectives.hiding import Form, Ranges


class BinaryFocalCrossentropy(Loss):
    """``-mean(w (1 - p_t)^gamma log p_t)``, p_t being ``p`` where the target is 1, and ``1 - p`` where it is 0.

    Args:
        apply_class_balancing: True if ``w`` is ``alpha`` for targets of 1 and ``1 - alpha`` for those of 0; else it
            is 1. Defaults to False.
        alpha: The weight of targets of 1, in [0, 1]. Defaults to 0.25.
        gamma: How much less a good prediction counts; 0 is the plain crossentropy. Defaults to 2.0.
        from_logits: True if predictions are logits, so that ``p = sigmoid(y_pred)``. Defaults to False.
        label_smoothing: ``s`` moves targets to ``y_true (1 - s) + s / 2``. Defaults to 0.0.
        reduction: As for `Loss`.
        name: Its name.

    Shape:
        ``(batch, ..., d), (batch, ..., d) -> (batch, ...)`` before the reduction.

    Raises:
        ArgumentError: a target is outside [0, 1], or so is a prediction that is no logit.

    Example:
        >>> round(float(BinaryFocalCrossentropy(gamma=2.0)([[1.0]], [[0.5]])), 4)
        0.1733

    Source: Lin et al., arXiv 1708.02002.
    """

    target_kind = "binary"
    form = Form.ROWS

    def __init__(
        self,
        apply_class_balancing: bool = False,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        *,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction=reduction, name=name)
        self.apply_class_balancing = arguments.check_flag("apply_class_balancing", apply_class_balancing)
        self.alpha = settings.check_share(alpha)
        if not self.apply_class_balancing and self.alpha != 0.25:
            raise ArgumentError(
                f"alpha={alpha}, apply_class_balancing=False",
                "it weighs the two classes, and they are not weighed",
                f"apply_class_balancing=True, alpha={alpha}",
            )
        self.gamma = settings.check_focus(gamma)
        self.from_logits = arguments.check_flag("from_logits", from_logits)
        self.label_smoothing = arguments.check_smoothing(label_smoothing)

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the crossentropy of each sample."""
        alpha = self.alpha if self.apply_class_balancing else None
        return focal.binary_focal_crossentropy(
            y_true, y_pred, alpha, self.gamma, self.from_logits, self.label_smoothing
        )

    def ranges(self, y_pred_shape: Shape) -> Ranges:
        """Return [0, 1] for targets, and likewise for predictions that are no logits."""
        return {"y_true": (0, 1)} if self.from_logits else {"y_true": (0, 1), "y_pred": (0, 1)}

    def check_targets(self, y_true: Any, y_pred_shape: Shape) -> None:
        """Raise if a target is outside [0, 1]."""
        per_sample.check_binary_targets(np.asarray(y_true))


class CategoricalFocalCrossentropy(Loss):
    """``-sum(alpha (1 - p)^gamma y_true log p)`` over the classes, with targets such as one-hot rows.

    Args:
        alpha: A factor for all classes, or one for each. Defaults to 0.25.
        gamma: How much less a good prediction counts; 0 is the plain crossentropy. Defaults to 2.0.
        from_logits: True if predictions are logits, so that ``p = softmax(y_pred)``; else ``p = y_pred / sum(y_pred)``.
            Defaults to False.
        label_smoothing: ``s`` moves targets to ``y_true (1 - s) + s / classes``. Defaults to 0.0.
        axis: The axis of the classes. Defaults to the last one.
        reduction: As for `Loss`.
        name: Its name.

    Shape:
        ``(batch, ..., classes), (batch, ..., classes) -> (batch, ...)`` before the reduction.

    Raises:
        ShapeError: the targets are labels, which ``ops.one_hot`` turns into rows.

    Example:
        >>> round(float(CategoricalFocalCrossentropy(alpha=1.0)([[1.0, 0.0]], [[0.5, 0.5]])), 4)
        0.1733

    Source: Lin et al., arXiv 1708.02002.
    """

    target_kind = "categorical"
    form = Form.CLASSES

    def __init__(
        self,
        alpha: float | Sequence[float] = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        *,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction=reduction, name=name)
        if alpha is None or (isinstance(alpha, (list, tuple)) and len(alpha) < 2):
            raise ArgumentError(f"alpha={alpha!r}", "it is a factor, or one for each class", "alpha=1.0")
        self.alpha = weights.one_or_more("alpha", alpha)
        self.gamma = settings.check_focus(gamma)
        self.from_logits = arguments.check_flag("from_logits", from_logits)
        self.label_smoothing = arguments.check_smoothing(label_smoothing)
        self.axis = arguments.check_axis(axis)

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the crossentropy of each sample."""
        return focal.categorical_focal_crossentropy(
            y_true, y_pred, self.alpha, self.gamma, self.from_logits, self.label_smoothing, self.axis
        )

    def ranges(self, y_pred_shape: Shape) -> Ranges:
        """Return what is not negative for probabilities."""
        return {"y_pred": (-math.inf if self.from_logits else 0, math.inf)}
