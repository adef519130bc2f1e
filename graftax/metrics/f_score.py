"""F scores: one number for precision and recall, of each class or of all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from graftax import ops
from graftax.core import hyperparameters as arguments
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array, ArrayLike
from graftax.metrics import exact
from graftax.metrics.confusion import ElementMetric
from graftax.objectives.hiding import Form, Formula
from graftax.objectives.pairs import pair_of_rows
from graftax.variables.variable import Variable

Average = Literal["micro", "macro", "weighted"]


class FBetaScore(ElementMetric):
    r"""The weighted harmonic mean of precision and recall.

    .. math:: F = (1 + \beta^2) \frac{P R}{\beta^2 P + R}

    Args:
        average: ``"micro"`` counts all classes as one; ``"macro"`` is the mean over classes, ``"weighted"`` that
            weighed by how often a class is there. Defaults to None: a number for each class.
        beta: How many times more recall weighs than precision. Defaults to 1.
        threshold: A prediction counts as 1 if it is greater. Logits of independent classes need ``threshold=0.0``.
            Defaults to None: the largest of each row counts as 1, and what is tied with it, unless it is 0.
        name: Its name.
        dtype: The dtype of its Variable.

    Shape:
        ``(batch, ..., classes)`` both; weights and masks are for rows. Without a threshold there are two classes or
        more. Unless ``average="micro"``, the first batch tells how many.

    Raises:
        ArgumentError: an argument is none of these, or there is one class and no threshold.
        ShapeError: another number of classes than before, or other shapes that do not fit.

    Example:
        >>> y_true = [[1, 1, 1], [1, 0, 0], [1, 1, 0]]
        >>> y_pred = [[0.2, 0.6, 0.7], [0.2, 0.6, 0.6], [0.6, 0.8, 0.0]]
        >>> [round(x, 4) for x in FBetaScore(beta=2.0, threshold=0.5)(y_true, y_pred).tolist()]
        [0.3846, 0.9091, 0.8333]
    """

    formula = Formula(Form.CLASSES)

    def __init__(
        self,
        average: Average | None = None,
        beta: float = 1.0,
        threshold: float | None = None,
        name: str | None = None,
        dtype: str = "float32",
    ) -> None:
        super().__init__(name, dtype)
        if average is not None and average not in get_args(Average):
            raise ArgumentError(
                f"average={average!r}", f"there are None, {', '.join(map(repr, get_args(Average)))}", 'average="macro"'
            )
        self.average = average
        self.beta = arguments.check_distance("beta", beta)
        self.threshold = threshold if threshold is None else arguments.check_threshold(threshold)
        self.sums: Variable | None = self.add_variable((2, 3, 1), name="sums") if average == "micro" else None

    def _gx_shapes_by_data(self) -> Mapping[str, tuple[int | None, ...]]:
        return {"sums": (2, 3, 1 if self.average == "micro" else None)}

    def matched(self, y_true: ArrayLike, y_pred: ArrayLike) -> tuple[Array, Array]:
        """Return targets and predictions of one shape, the last axis being that of the classes."""
        y_true, y_pred = pair_of_rows(y_true, y_pred)
        if y_pred.ndim < 2:
            y_true, y_pred = ops.expand_dims(y_true, -1), ops.expand_dims(y_pred, -1)
        if self.threshold is None and y_pred.shape[-1] == 1:
            raise ArgumentError(
                f"y_pred {list(y_pred.shape)} without a threshold",
                "the largest of a single prediction is always that one",
                f"{type(self).__name__}(threshold=0.5)",
            )
        return y_true, y_pred

    def places(self, y_pred: Array) -> Array:
        """Return one for each row."""
        return y_pred[..., 0] if y_pred.shape[-1] else ops.zeros(y_pred.shape[:-1])

    def count(self, positive: Array, y_pred: Array, amount: Array) -> None:
        """Add up the ones, the predicted ones, and those that are both, of each class."""
        classes = y_pred.shape[-1]
        if not classes:
            return
        if self.threshold is None:
            largest = ops.max(y_pred, axis=-1, keepdims=True)
            predicted = ops.logical_and(ops.greater_equal(y_pred, largest), ops.abs(y_pred) > 1e-9)
        else:
            predicted = ops.greater(y_pred, self.threshold)
        nothing = ops.isnan(y_pred)  # which is right for no class, so it counts as a prediction of those that are not
        predicted = ops.where(nothing, ops.logical_not(positive), predicted)
        if self.sums is None:
            self.sums = self.add_variable((2, 3, classes), name="sums")
        if self.average != "micro" and classes != self.sums.shape[-1]:
            raise ShapeError(
                f"y_pred {list(y_pred.shape)}, with {classes} classes",
                f"batches before had {self.sums.shape[-1]}, each of which has a score",
                f'a new {type(self).__name__}(...) for other classes, in fit by a new compile; or average="micro"',
            )
        amount = ops.expand_dims(amount, -1)
        axes = None if self.average == "micro" else tuple(range(y_pred.ndim - 1))
        cells = (ops.logical_and(positive, predicted), predicted, positive)
        found = [ops.sum(ops.where(cell, amount, 0), axis=axes) for cell in cells]
        exact.add_array(self.sums, ops.reshape(ops.stack(found), (3, -1)))

    def result(self) -> Array:
        """Return the score so far, 0 of nothing; for each class, if there is no average."""
        self._gx_ensure_state()
        if self.sums is None:
            return ops.asarray(0.0, self.dtype)
        right, predicted, there = exact.read(self.sums)
        square = self.beta**2
        score = ops.divide_no_nan((1 + square) * right, square * there + predicted)
        if self.average == "weighted":
            return ops.divide_no_nan(ops.sum(score * there), ops.sum(there))
        return score if self.average is None else ops.mean(score)


class F1Score(FBetaScore):
    """The harmonic mean of precision and recall.

    Args:
        average: As for `FBetaScore`.
        threshold: As for `FBetaScore`.
        name: Its name.
        dtype: The dtype of its Variable.

    Raises:
        ArgumentError: an argument is none of these, or there is one class and no threshold.
        ShapeError: another number of classes than before, or other shapes that do not fit.

    Example:
        >>> round(float(F1Score("micro", threshold=0.5)([[0], [1], [1], [1]], [[0.9], [0.9], [0.2], [0.7]])), 4)
        0.6667
    """

    def __init__(
        self,
        average: Average | None = None,
        threshold: float | None = None,
        name: str | None = None,
        dtype: str = "float32",
    ) -> None:
        super().__init__(average, 1.0, threshold, name, dtype)
