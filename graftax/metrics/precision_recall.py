"""Precision and recall: at one threshold or many, of the k largest, of one class."""

from __future__ import annotations

from typing import Any

from graftax import ops
from graftax.core import hyperparameters as arguments
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array
from graftax.core.undefined import undefined_error
from graftax.metrics import exact
from graftax.metrics.confusion import ElementMetric, check_other_thresholds, check_thresholds


class Share(ElementMetric):
    """Counts true positives, and what they are a share of."""

    def __init__(
        self,
        threshold: float | list[float] | tuple[float, ...] = 0.5,
        name: str | None = None,
        dtype: str = "float32",
        *,
        top_k: int | None = None,
        class_id: int | None = None,
    ) -> None:
        super().__init__(name, dtype)
        found = check_thresholds(threshold, "threshold")
        self.gives_several = isinstance(threshold, list | tuple)
        self.threshold = found if self.gives_several else found[0]
        self.top_k = None if top_k is None else arguments.check_positive("top_k", top_k, "it counts from 1 up", 1)
        reason = "it is the number of a class, from 0 up"
        self.class_id = None if class_id is None else arguments.check_integer("class_id", class_id, reason, 0)
        if self.class_id is not None and self.class_id < 0:
            raise ArgumentError(f"class_id={class_id}", reason, "class_id=0")
        if self.top_k is not None and threshold != _USUAL:
            raise ArgumentError(
                f"threshold={threshold!r}, top_k={top_k}",
                "the largest predictions are those that count, whatever they are",
                "one of the two",
            )
        self.sums = self.add_variable((2, 2, len(self.thresholds)) if self.gives_several else (2, 2))

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Return where it counts."""
        return self.threshold if isinstance(self.threshold, tuple) else (self.threshold,)

    def _gx_given(self, name: str, value: Any) -> Any:
        if name == "threshold" and name in vars(self):
            found = check_other_thresholds(self, name, value, len(self.thresholds))
            value = found if self.gives_several else found[0]
        return super()._gx_given(name, value)

    def compared(self, positive: Array, predicted: Array) -> Array:
        """Return which ones the true positives are a share of."""
        raise undefined_error(self, "compared(positive, predicted)")

    def count(self, positive: Array, y_pred: Array, amount: Array) -> None:
        """Add the true positives, and what they are a share of."""
        if self.top_k is not None:  # what is hidden takes no place among the largest
            y_pred = ops.where(ops.not_equal(amount, 0), y_pred, float("-inf"))
        rounds = [self._predicted(y_pred, one) for one in self.thresholds]
        if self.class_id is not None:
            if y_pred.ndim < 2 or self.class_id >= y_pred.shape[-1]:
                raise ShapeError(
                    f"y_pred {list(y_pred.shape)}, class_id={self.class_id}",
                    "the last axis has the classes",
                    "class_id of one of them",
                )
            positive, amount = positive[..., self.class_id], amount[..., self.class_id]
            rounds = [one[..., self.class_id] for one in rounds]
        cells = [(ops.logical_and(positive, one), self.compared(positive, one)) for one in rounds]
        found = [[ops.sum(ops.where(one, amount, 0)) for one in pair] for pair in cells]
        if not self.gives_several:
            exact.add(self.sums, *found[0])
        else:
            exact.add_array(self.sums, ops.stack([ops.stack([pair[i] for pair in found]) for i in (0, 1)]))

    def _predicted(self, y_pred: Array, threshold: float) -> Array:
        """Tell which elements are predicted as 1."""
        if self.top_k is None:
            return ops.greater(y_pred, threshold)
        if y_pred.ndim < 2 or self.top_k > y_pred.shape[-1]:
            raise ShapeError(
                f"y_pred {list(y_pred.shape)}, top_k={self.top_k}",
                "so many of the last axis are the largest ones",
                "a smaller top_k",
            )
        _, places = ops.top_k(y_pred, self.top_k)  # of equal ones the first, so that they are k
        return ops.multi_hot(places, y_pred.shape[-1], dtype="bool")

    def result(self) -> Array:
        """Compute the share so far, 0 of nothing; of several thresholds one for each."""
        sums = exact.read(self.sums)
        return ops.divide_no_nan(sums[0], sums[1])


_USUAL = 0.5


class Precision(Share):
    """How many of those predicted as 1 are 1; 0 if none is predicted.

    Args:
        threshold: A prediction counts as 1 if it is greater; a list gives a share for each. Predictions that are logits
            need ``threshold=0.0``. Defaults to 0.5.
        name: Its name.
        dtype: The dtype of its Variable.
        top_k: How many of the last axis count as 1, the largest, in place of a threshold. Defaults to None.
        class_id: The one place on the last axis that counts. Defaults to None: all.

    Example:
        >>> float(Precision()([0, 1, 1, 1], [0.9, 0.9, 0.2, 0.3]))
        0.5
    """

    def compared(self, positive: Array, predicted: Array) -> Array:
        """Choose those predicted as 1."""
        return predicted


class Recall(Share):
    """How many of those that are 1 are predicted as 1; 0 if none is.

    Args:
        threshold: A prediction counts as 1 if it is greater; a list gives a share for each. Predictions that are logits
            need ``threshold=0.0``. Defaults to 0.5.
        name: Its name.
        dtype: The dtype of its Variable.
        top_k: How many of the last axis count as 1, the largest, in place of a threshold. Defaults to None.
        class_id: The one place on the last axis that counts. Defaults to None: all.

    Example:
        >>> float(Recall()([0, 1, 1, 1, 1], [0.9, 0.9, 0.2, 0.3, 0.1]))
        0.25
    """

    def compared(self, positive: Array, predicted: Array) -> Array:
        """Choose those that are 1."""
        return positive
