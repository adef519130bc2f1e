"""The likeliest tokens: the ``k`` first ones, or as many as hold a share of the probability."""

from __future__ import annotations

from graftax import ops
from graftax.core.typedefs import Array
from graftax.transforms.flow.scan import scan

_RANGE = 110.0
"""What is lower than the highest logit by so much has a probability of 0 in float32."""
_HALVINGS = 40
"""From that range between logits down to 1e-10, below what float32 tells apart."""


def top_k(logits: Array, k: int) -> Array:
    """Return logits with -inf for all but the ``k`` largest of each row, and those that equal the last of them.

    Shape:
        ``(batch, vocabulary) -> (batch, vocabulary)``
    """
    if k >= logits.shape[-1]:
        return logits
    largest, _ = ops.top_k(logits, k)  # with the last column in place of the minimum, XLA sorts all on a CPU
    return ops.where(logits >= ops.min(largest, axis=-1, keepdims=True), logits, float("-inf"))


def top_p(logits: Array, p: float) -> Array:
    """Return logits with -inf for all but the largest, the fewest that hold a share ``p``, and their equals.

    How low they go is found by halving: 40 passes over the vocabulary, a tenth of the time that a CPU needs to sort it.

    Shape:
        ``(batch, vocabulary) -> (batch, vocabulary)``

    Source: Holtzman et al., arXiv 1904.09751.
    """
    shares = ops.softmax(logits)
    high = ops.max(logits, axis=-1, keepdims=True)
    low = ops.min(ops.where(ops.isfinite(logits), logits, high), axis=-1, keepdims=True)
    low = ops.maximum(low, high - _RANGE)  # some hide tokens by -1e30 in place of -inf

    def enough(bound: Array) -> Array:
        return ops.sum(ops.where(logits >= bound, shares, 0), axis=-1, keepdims=True) >= p

    def halve(bounds: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        below, above = bounds
        middle = below + (above - below) / 2
        held = enough(middle)
        return (ops.where(held, middle, below), ops.where(held, above, middle)), None

    (below, _), _ = scan(halve, (low, high), None, _HALVINGS)
    return ops.where(logits >= ops.where(enough(high), high, below), logits, float("-inf"))
