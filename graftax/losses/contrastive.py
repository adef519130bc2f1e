"""Losses of embeddings: targets are labels, and the samples of a batch are compared with each other."""

from __future__ import annotations

from graftax.core import hyperparameters as arguments
from graftax.core.typedefs import Array, ArrayLike
from graftax.losses.loss import Loss
from graftax.objectives import contrastive


class NTXent(Loss):
    """Normalised, temperature-scaled crossentropy between samples of one label, against those of other labels.

    ``-log(exp(s_ij) / (exp(s_ij) + Σ exp(s_ik)))``, the mean over all other ``j`` of the label of ``i``, with ``k`` of
    other labels and ``s`` the cosine similarity divided by the temperature. For two views of each sample, as in SimCLR,
    both have the number of the sample as their label. A sample that is alone with its label costs 0. What a mask or a
    weight of 0 hides is compared with nothing.

    Args:
        temperature: What similarities are divided by, above 0. Defaults to 0.5.
        reduction: As for `Loss`.
        name: Its name.

    Shape:
        ``(batch,), (batch, size) -> (batch,)`` before the reduction.

    Raises:
        ShapeError: there is not one label and one vector for each sample.
        DTypeError: the labels are no integers.

    Example:
        >>> loss = NTXent(temperature=1.0)
        >>> round(float(loss([0, 0, 1, 1], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])), 4)
        0.5514

    Source: Chen et al., arXiv 2002.05709; with labels Khosla et al., arXiv 2004.11362.
    """

    compares = True

    def __init__(
        self, temperature: float = 0.5, *, reduction: str = "sum_over_batch_size", name: str | None = None
    ) -> None:
        super().__init__(reduction=reduction, name=name)
        self.temperature = arguments.check_distance("temperature", temperature)

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the loss of each sample."""
        return contrastive.nt_xent(y_true, y_pred, self.temperature)

    def among(self, y_true: ArrayLike, y_pred: ArrayLike, visible: Array) -> Array:
        """Compute the loss of each sample among those that are visible."""
        return contrastive.nt_xent(y_true, y_pred, self.temperature, visible)


class Circle(Loss):
    """``softplus(logsumexp_j a_ij + logsumexp_k b_ik)``, ``j`` of the label of ``i``, ``k`` of other labels.

    With ``d`` for 1 less the product of two embeddings and ``m`` for the margin, ``a = gamma (d + m) (d - m)`` and
    ``b = gamma max(1 + m - d, 0) (1 - m - d)``: pairs that are far from where they should be count more. Embeddings are
    vectors of length 1 (``ops.normalize``). A sample without ``j`` or ``k`` costs 0, and counts in the mean. What a
    mask or a weight of 0 hides is compared with nothing.

    Args:
        gamma: What all is multiplied by, above 0. Defaults to 80.0.
        margin: How far apart samples of one label may be, above 0. Defaults to 0.4.
        reduction: As for `Loss`.
        name: Its name.

    Shape:
        ``(batch,), (batch, size) -> (batch,)`` before the reduction.

    Raises:
        ShapeError: there is not one label and one vector for each sample.
        DTypeError: the labels are no integers.

    Example:
        >>> loss = Circle(gamma=1.0)
        >>> round(float(loss([0, 0, 1, 1], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])), 4)
        0.897

    Source: Sun et al., arXiv 2002.10857.
    """

    compares = True

    def __init__(
        self,
        gamma: float = 80.0,
        margin: float = 0.4,
        *,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction=reduction, name=name)
        self.gamma = arguments.check_distance("gamma", gamma)
        self.margin = arguments.check_distance("margin", margin)

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the loss of each sample."""
        return contrastive.circle(y_true, y_pred, self.gamma, self.margin)

    def among(self, y_true: ArrayLike, y_pred: ArrayLike, visible: Array) -> Array:
        """Compute the loss of each sample among those that are visible."""
        return contrastive.circle(y_true, y_pred, self.gamma, self.margin, visible)


class TripletSemiHard(Loss):
    """``max(d_ij - d_ik + margin, 0)`` for squared distances ``d``, the mean over the other ``j`` of a label.

    ``k`` is the nearest sample of another label that is farther from ``i`` than ``j`` is; if there is none, the
    farthest of another label. A sample without ``j`` or ``k`` costs 0. What a mask or a weight of 0 hides is compared
    with nothing. It takes memory for ``batch³`` numbers.

    Args:
        margin: How much farther other labels should be, above 0. Defaults to 1.0.
        reduction: As for `Loss`.
        name: Its name.

    Shape:
        ``(batch,), (batch, size) -> (batch,)`` before the reduction.

    Raises:
        ShapeError: there is not one label and one vector for each sample.
        DTypeError: the labels are no integers.

    Example:
        >>> round(float(TripletSemiHard()([0, 0, 1], [[0.0], [1.0], [1.5]])), 4)
        0.5833

    Source: Schroff et al., arXiv 1503.03832.
    """

    compares = True

    def __init__(self, margin: float = 1.0, *, reduction: str = "sum_over_batch_size", name: str | None = None) -> None:
        super().__init__(reduction=reduction, name=name)
        self.margin = arguments.check_distance("margin", margin)

    def call(self, y_true: ArrayLike, y_pred: ArrayLike) -> Array:
        """Compute the loss of each sample."""
        return contrastive.triplet_semi_hard(y_true, y_pred, self.margin)

    def among(self, y_true: ArrayLike, y_pred: ArrayLike, visible: Array) -> Array:
        """Compute the loss of each sample among those that are visible."""
        return contrastive.triplet_semi_hard(y_true, y_pred, self.margin, visible)
