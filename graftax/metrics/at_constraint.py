"""The best of one share that some threshold reaches where another share is large enough."""

from __future__ import annotations

from collections.abc import Callable

from graftax import ops
from graftax.core import hyperparameters as arguments
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array
from graftax.metrics import exact
from graftax.metrics.confusion import FN, FP, TN, TP, ElementMetric, four_counts
from graftax.objectives.ranges import check_range


def _sensitivity(counts: Array) -> Array:
    return ops.divide_no_nan(counts[TP], counts[TP] + counts[FN])


def _specificity(counts: Array) -> Array:
    return ops.divide_no_nan(counts[TN], counts[TN] + counts[FP])


def _precision(counts: Array) -> Array:
    return ops.divide_no_nan(counts[TP], counts[TP] + counts[FP])


_SHARES: dict[str, Callable[[Array], Array]] = {
    "sensitivity": _sensitivity,
    "specificity": _specificity,
    "precision": _precision,
}


class AtConstraint(ElementMetric):
    """Counts at many thresholds, and takes the largest share where another is at least a value."""

    _gx_of_constructor = frozenset({"num_thresholds", "thresholds"})

    wanted: str
    constrained: str

    def __init__(
        self,
        what: str,
        least: float,
        num_thresholds: int,
        class_id: int | None,
        name: str | None,
        dtype: str,
        from_logits: bool,
    ) -> None:
        super().__init__(name, dtype)
        reason = "it is a share, in [0, 1]"
        self.least = arguments.check_number(what, least, lambda share: 0 <= share <= 1, reason, 0.9)
        self.num_thresholds = arguments.check_positive("num_thresholds", num_thresholds, "it counts from 1 up", 200)
        reason = "it is the number of a class, from 0 up"
        self.class_id = None if class_id is None else arguments.check_integer("class_id", class_id, reason, 0)
        if self.class_id is not None and self.class_id < 0:
            raise ArgumentError(f"class_id={class_id}", reason, "class_id=0")
        self.from_logits = arguments.check_flag("from_logits", from_logits)
        last = self.num_thresholds - 1
        # everything is above the first, a prediction of 0 too
        self.thresholds = (-1e-7, *(i / last for i in range(1, last + 1))) if last else (0.5,)
        self.sums = self.add_variable((2, 4, len(self.thresholds)))

    def count(self, positive: Array, y_pred: Array, amount: Array) -> None:
        """Add the four counts at each threshold."""
        if self.from_logits:
            y_pred = ops.sigmoid(y_pred)
        else:
            check_range(
                y_pred, 0, 1, "y_pred", "probabilities are in [0, 1]; these look like logits", "from_logits=True"
            )
        if self.class_id is not None:
            if y_pred.ndim < 2 or self.class_id >= y_pred.shape[-1]:
                raise ShapeError(
                    f"y_pred {list(y_pred.shape)}, class_id={self.class_id}",
                    "the last axis has the classes",
                    "class_id of one of them",
                )
            positive, y_pred, amount = (one[..., self.class_id] for one in (positive, y_pred, amount))
        exact.add_array(self.sums, four_counts(positive, y_pred, amount, self.thresholds)[..., 0])

    def result(self) -> Array:
        """Return the largest share so far; 0 if the other is too small at all thresholds, or of nothing."""
        counts = exact.read(self.sums)
        fits = ops.greater_equal(_SHARES[self.constrained](counts), self.least)
        return ops.max(ops.where(fits, _SHARES[self.wanted](counts), 0.0))


class SensitivityAtSpecificity(AtConstraint):
    """The largest sensitivity of all thresholds at which specificity is at least a value; 0 if it is at none.

    Sensitivity is ``TP / (TP + FN)``, specificity ``TN / (TN + FP)``.

    Args:
        specificity: The least specificity, in [0, 1].
        num_thresholds: How many thresholds there are, evenly in [0, 1]; one alone is 0.5. Defaults to 200.
        class_id: The one place on the last axis that counts. Defaults to None: all.
        name: Its name.
        dtype: The dtype of its Variable.
        from_logits: True if predictions are logits, else they are probabilities. Defaults to False.

    Raises:
        ArgumentError: an argument is none of these; at an update, in eager code: a prediction is no probability.

    Example:
        >>> float(SensitivityAtSpecificity(0.5)([0, 0, 0, 1, 1], [0.0, 0.3, 0.8, 0.3, 0.8]))
        0.5
    """

    wanted = "sensitivity"
    constrained = "specificity"

    def __init__(
        self,
        specificity: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: str = "float32",
        *,
        from_logits: bool = False,
    ) -> None:
        super().__init__("specificity", specificity, num_thresholds, class_id, name, dtype, from_logits)

    @property
    def specificity(self) -> float:
        """Return the least specificity."""
        return self.least


class SpecificityAtSensitivity(AtConstraint):
    """The largest specificity of all thresholds at which sensitivity is at least a value; 0 if it is at none.

    Specificity is ``TN / (TN + FP)``, sensitivity ``TP / (TP + FN)``.

    Args:
        sensitivity: The least sensitivity, in [0, 1].
        num_thresholds: How many thresholds there are, evenly in [0, 1]; one alone is 0.5. Defaults to 200.
        class_id: The one place on the last axis that counts. Defaults to None: all.
        name: Its name.
        dtype: The dtype of its Variable.
        from_logits: True if predictions are logits, else they are probabilities. Defaults to False.

    Raises:
        ArgumentError: an argument is none of these; at an update, in eager code: a prediction is no probability.

    Example:
        >>> round(float(SpecificityAtSensitivity(0.8)([0, 0, 0, 1, 1], [0.0, 0.3, 0.8, 0.3, 0.8])), 4)
        0.3333
    """

    wanted = "specificity"
    constrained = "sensitivity"

    def __init__(
        self,
        sensitivity: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: str = "float32",
        *,
        from_logits: bool = False,
    ) -> None:
        super().__init__("sensitivity", sensitivity, num_thresholds, class_id, name, dtype, from_logits)

    @property
    def sensitivity(self) -> float:
        """Return the least sensitivity."""
        return self.least


class PrecisionAtRecall(AtConstraint):
    """The largest precision of all thresholds at which recall is at least a value; 0 if it is at none.

    Precision is ``TP / (TP + FP)``, recall ``TP / (TP + FN)``.

    Args:
        recall: The least recall, in [0, 1].
        num_thresholds: How many thresholds there are, evenly in [0, 1]; one alone is 0.5. Defaults to 200.
        class_id: The one place on the last axis that counts. Defaults to None: all.
        name: Its name.
        dtype: The dtype of its Variable.
        from_logits: True if predictions are logits, else they are probabilities. Defaults to False.

    Raises:
        ArgumentError: an argument is none of these; at an update, in eager code: a prediction is no probability.

    Example:
        >>> float(PrecisionAtRecall(0.8)([0, 0, 0, 1, 1], [0.0, 0.3, 0.8, 0.3, 0.8]))
        0.5
    """

    wanted = "precision"
    constrained = "sensitivity"

    def __init__(
        self,
        recall: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: str = "float32",
        *,
        from_logits: bool = False,
    ) -> None:
        super().__init__("recall", recall, num_thresholds, class_id, name, dtype, from_logits)

    @property
    def recall(self) -> float:
        """Return the least recall."""
        return self.least


class RecallAtPrecision(AtConstraint):
    """The largest recall of all thresholds at which precision is at least a value; 0 if it is at none.

    Recall is ``TP / (TP + FN)``, precision ``TP / (TP + FP)``.

    Args:
        precision: The least precision, in [0, 1].
        num_thresholds: How many thresholds there are, evenly in [0, 1]; one alone is 0.5. Defaults to 200.
        class_id: The one place on the last axis that counts. Defaults to None: all.
        name: Its name.
        dtype: The dtype of its Variable.
        from_logits: True if predictions are logits, else they are probabilities. Defaults to False.

    Raises:
        ArgumentError: an argument is none of these; at an update, in eager code: a prediction is no probability.

    Example:
        >>> float(RecallAtPrecision(0.5)([0, 0, 0, 1, 1], [0.0, 0.3, 0.8, 0.3, 0.8]))
        1.0
    """

    wanted = "sensitivity"
    constrained = "precision"

    def __init__(
        self,
        precision: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: str = "float32",
        *,
        from_logits: bool = False,
    ) -> None:
        super().__init__("precision", precision, num_thresholds, class_id, name, dtype, from_logits)

    @property
    def precision(self) -> float:
        """Return the least precision."""
        return self.least
