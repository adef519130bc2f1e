"""Losses of embeddings that compare the samples of a batch with each other, by their labels."""

from __future__ import annotations

from graftax import ops
from graftax.core.errors import DTypeError, ShapeError
from graftax.core.typedefs import Array, ArrayLike
from graftax.objectives.per_sample import EPSILON
from graftax.variables.floating import to_floating

_FAR = 1e30


def _pair_masks(y_true: ArrayLike, y_pred: ArrayLike, visible: Array | None) -> tuple[Array, Array, Array]:
    """Return embeddings, where two samples are of one class, and where of two; hidden samples are of none.

    Raises:
        ShapeError: there is not one label for each embedding.
        DTypeError: the labels are no integers.
    """
    embeddings, labels = to_floating(y_pred), ops.asarray(y_true)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = ops.squeeze(labels, -1)
    if embeddings.ndim != 2 or tuple(labels.shape) != tuple(embeddings.shape[:1]):
        raise ShapeError(
            f"y_true {list(labels.shape)}, y_pred {list(embeddings.shape)}",
            "each sample has a label and an embedding, a vector",
            f"y_true of shape {list(embeddings.shape[:1])}, y_pred of shape (batch, size)",
        )
    if labels.dtype.kind not in "iub":
        raise DTypeError(f"y_true of dtype {labels.dtype.name}", "labels are integers", 'ops.cast(y_true, "int32")')
    same = ops.equal(labels[:, None], labels[None, :])
    other = ops.logical_not(same)
    same = ops.logical_and(same, ops.logical_not(ops.eye(labels.shape[0], dtype="bool")))
    if visible is not None:
        both = ops.logical_and(visible[:, None], visible[None, :])
        same, other = ops.logical_and(same, both), ops.logical_and(other, both)
    return embeddings, same, other


def nt_xent(y_true: ArrayLike, y_pred: ArrayLike, temperature: float = 0.5, visible: Array | None = None) -> Array:
    """Compute the mean over those of one class of ``-log(exp(s_ij) / (exp(s_ij) + Σ exp(s_ik)))``, k of other classes.

    ``s`` is the cosine similarity divided by the temperature. A sample that is alone in its class costs 0.
    """
    embeddings, same, other = _pair_masks(y_true, y_pred, visible)
    units = embeddings / ops.maximum(ops.norm(embeddings, axis=-1, keepdims=True), EPSILON)
    scores = ops.matmul(units, ops.transpose(units)) / temperature
    against = ops.logsumexp(ops.where(other, scores, -_FAR), axis=-1, keepdims=True)
    costs = ops.where(same, ops.softplus(ops.where(same, against - scores, 0.0)), 0.0)
    count = ops.sum(ops.cast(same, costs.dtype.name), axis=-1)
    return ops.sum(costs, axis=-1) / ops.maximum(count, 1.0)


def circle(
    y_true: ArrayLike, y_pred: ArrayLike, gamma: float = 80.0, margin: float = 0.4, visible: Array | None = None
) -> Array:
    """Compute ``softplus(logsumexp_j a_ij + logsumexp_k b_ik)``, j of one class and k of others; 0 if one is missing.

    With ``d`` for 1 less the cosine similarity and ``m`` for the margin, ``a = gamma (d + m) (d - m)`` and
    ``b = gamma max(1 + m - d, 0) (1 - m - d)``.
    """
    embeddings, same, other = _pair_masks(y_true, y_pred, visible)
    distance = ops.maximum(1 - ops.matmul(embeddings, ops.transpose(embeddings)), 0)
    near = gamma * (distance + margin) * (distance - margin)
    far = gamma * ops.maximum(1 + margin - distance, 0) * (1 - margin - distance)
    parts = [ops.logsumexp(ops.where(which, one, -_FAR), axis=-1) for which, one in ((same, near), (other, far))]
    return ops.softplus(parts[0] + parts[1])


def triplet_semi_hard(y_true: ArrayLike, y_pred: ArrayLike, margin: float = 1.0, visible: Array | None = None) -> Array:
    """Compute the mean over the others of one class of ``max(d_ij - d_ik + margin, 0)``.

    ``k`` is the nearest sample of another class that is farther away than ``j``, or, if there is none, the farthest of
    another class. Distances are squared. A sample that is alone in its class, or with all, costs 0.
    """
    embeddings, same, other = _pair_masks(y_true, y_pred, visible)
    distance = ops.sum(ops.squared_difference(embeddings[:, None], embeddings[None, :]), axis=-1)
    farther = ops.logical_and(other[:, None, :], distance[:, None, :] > distance[:, :, None])
    nearest = ops.min(ops.where(farther, distance[:, None, :], _FAR), axis=-1)
    farthest = ops.max(ops.where(other, distance, -1.0), axis=-1, keepdims=True)
    negative = ops.where(ops.any(farther, axis=-1), nearest, farthest)
    pairs = ops.logical_and(same, ops.any(other, axis=-1, keepdims=True))
    costs = ops.where(pairs, ops.maximum(distance - negative + margin, 0.0), 0.0)
    count = ops.sum(ops.cast(pairs, costs.dtype.name), axis=-1)
    return ops.sum(costs, axis=-1) / ops.maximum(count, 1.0)
