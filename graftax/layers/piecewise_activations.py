"""Activations made of straight or simple pieces: cheap, and exactly 0 or 1 where others only come near."""

from __future__ import annotations

from graftax import ops
from graftax.core.typedefs import Array, ArrayLike


def hard_sigmoid(x: ArrayLike) -> Array:
    """Compute ``x / 6 + 1/2`` limited to [0, 1], as in Keras 3, JAX and PyTorch (tf_keras has ``0.2 x + 1/2``).

    Example:
        >>> [round(y, 4) for y in hard_sigmoid([-4.0, 1.0]).tolist()]
        [0.0, 0.6667]
    """
    return ops.hard_sigmoid(x)


def hard_silu(x: ArrayLike) -> Array:
    """Compute ``x * hard_sigmoid(x)``, also called hard_swish.

    Example:
        >>> hard_silu([0.0, 3.0]).tolist()
        [0.0, 3.0]

    Source: Howard et al., arXiv 1905.02244.
    """
    return ops.hard_silu(x)


hard_swish = hard_silu


def hard_tanh(x: ArrayLike) -> Array:
    """Limit ``x`` to [-1, 1].

    Example:
        >>> hard_tanh([-2.0, 0.5]).tolist()
        [-1.0, 0.5]
    """
    return ops.hard_tanh(x)


def hard_shrink(x: ArrayLike, threshold: float = 0.5) -> Array:
    """Set to 0 what is within ``[-threshold, threshold]``.

    Args:
        x: The input.
        threshold: The largest size that is set to 0. Defaults to 0.5.

    Example:
        >>> hard_shrink([-2.0, 0.5]).tolist()
        [-2.0, 0.0]
    """
    return ops.hard_shrink(x, threshold)


def soft_shrink(x: ArrayLike, threshold: float = 0.5) -> Array:
    """Move ``x`` towards 0 by the threshold, at most to 0.

    Args:
        x: The input.
        threshold: By how much. Defaults to 0.5.

    Example:
        >>> soft_shrink([-2.0, 0.25]).tolist()
        [-1.5, 0.0]
    """
    return ops.soft_shrink(x, threshold)


def sparse_plus(x: ArrayLike) -> Array:
    """Compute 0 below -1, ``x`` above 1, and ``(x + 1)² / 4`` between them.

    Example:
        >>> sparse_plus([-2.0, 0.0, 3.0]).tolist()
        [0.0, 0.25, 3.0]
    """
    return ops.sparse_plus(x)


def sparse_sigmoid(x: ArrayLike) -> Array:
    """Compute 0 below -1, 1 above 1, and ``(x + 1) / 2`` between them.

    Example:
        >>> sparse_sigmoid([-2.0, 0.0, 3.0]).tolist()
        [0.0, 0.5, 1.0]
    """
    return ops.sparse_sigmoid(x)


def sparsemax(x: ArrayLike, axis: int = -1) -> Array:
    """Project onto the probability simplex along an axis: like `softmax`, but with zeros.

    Args:
        x: The input.
        axis: The axis along which the sum is 1. Defaults to the last one.

    Example:
        >>> sparsemax([1.0, 0.5, -1.0]).tolist()
        [0.75, 0.25, 0.0]

    Source: Martins and Astudillo, arXiv 1602.02068.
    """
    return ops.sparsemax(x, axis)
