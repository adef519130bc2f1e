"""Losses as plain functions, of samples that are compared, of distributions and sequences: one number for each."""

from __future__ import annotations

from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike
from graftax.losses.classification import CategoricalGeneralizedCrossEntropy
from graftax.losses.contrastive import Circle, NTXent, TripletSemiHard
from graftax.losses.likelihood import CTC, GaussianNLL


@door
def circle(y_true: ArrayLike, y_pred: ArrayLike, gamma: float = 80.0, margin: float = 0.4) -> Array:
    """Compute the circle loss of each sample among the others; see `Circle`.

    Args:
        y_true: Integer labels, ``(batch,)``.
        y_pred: Embeddings of length 1, ``(batch, size)``.
        gamma: What all is multiplied by, above 0. Defaults to 80.0.
        margin: How far apart samples of one label may be, above 0. Defaults to 0.4.

    Example:
        >>> round(float(circle([0, 0, 1], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], gamma=1.0)[0]), 4)
        0.5459
    """
    return Circle(gamma, margin).call(y_true, y_pred)


@door
def nt_xent(y_true: ArrayLike, y_pred: ArrayLike, temperature: float = 0.5) -> Array:
    """Compute the normalised, temperature-scaled crossentropy of each sample among the others; see `NTXent`.

    Args:
        y_true: Integer labels, ``(batch,)``.
        y_pred: Embeddings, ``(batch, size)``.
        temperature: What similarities are divided by, above 0. Defaults to 0.5.

    Example:
        >>> round(float(nt_xent([0, 0, 1], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], temperature=1.0)[0]), 4)
        0.3133
    """
    return NTXent(temperature).call(y_true, y_pred)


@door
def triplet_semi_hard(y_true: ArrayLike, y_pred: ArrayLike, margin: float = 1.0) -> Array:
    """Compute ``max(d_ij - d_ik + margin, 0)`` of each sample, with semi-hard ``k``; see `TripletSemiHard`.

    Args:
        y_true: Integer labels, ``(batch,)``.
        y_pred: Embeddings, ``(batch, size)``.
        margin: How much farther other labels should be, above 0. Defaults to 1.0.

    Example:
        >>> round(float(triplet_semi_hard([0, 0, 1], [[0.0], [1.0], [1.5]])[1]), 4)
        1.75
    """
    return TripletSemiHard(margin).call(y_true, y_pred)


@door
def categorical_generalized_cross_entropy(
    y_true: ArrayLike, y_pred: ArrayLike, q: float = 0.5, from_logits: bool = False
) -> Array:
    """Compute ``(1 - p[y_true]^q) / q``, for targets that are labels, some of which may be wrong.

    Args:
        y_true: Integer labels, one for each distribution.
        y_pred: Probabilities, or logits, ``(..., classes)``.
        q: The power, above 0 and at most 1. Defaults to 0.5.
        from_logits: True if predictions are logits. Defaults to False.

    Example:
        >>> round(float(categorical_generalized_cross_entropy([1], [[0.75, 0.25]])[0]), 4)
        1.0
    """
    return CategoricalGeneralizedCrossEntropy(q, from_logits).call(y_true, y_pred)


@door
def gaussian_nll(
    y_true: ArrayLike, y_pred: ArrayLike, from_log_variance: bool = True, full: bool = False, epsilon: float = 1e-6
) -> Array:
    """Compute ``mean(s + (y_true - mean)² exp(-s)) / 2`` of means and log variances ``s``; see `GaussianNLL`.

    Args:
        y_true: Targets, ``(..., d)``.
        y_pred: Means and behind them logarithms of variances, ``(..., 2 d)``.
        from_log_variance: False if these are variances, of which ``s`` is the logarithm. Defaults to True.
        full: True to add the constant ``log(2 pi) / 2``. Defaults to False.
        epsilon: What variances are at least. Defaults to 1e-6.

    Example:
        >>> float(gaussian_nll([[1.0]], [[3.0, 0.0]])[0])
        2.0
    """
    return GaussianNLL(from_log_variance, full, epsilon).call(y_true, y_pred)


@door
def ctc(y_true: ArrayLike, y_pred: ArrayLike, blank: int = 0) -> Array:
    """Compute minus the logarithm of the probability of each label sequence, over all alignments; see `CTC`.

    Args:
        y_true: Labels, ``(batch, labels)``, padded at their end with the blank or with -1.
        y_pred: Logits, ``(batch, steps, classes)``.
        blank: The class that stands for no label. Defaults to 0.

    Example:
        >>> round(float(ctc([[1, 0]], [[[0.0, 0.0], [0.0, 0.0]]])[0]), 4)
        0.2877
    """
    return CTC(blank).call(y_true, y_pred)
