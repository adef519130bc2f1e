"""Connectionist temporal classification: the forward recursion as one scan over the steps.

Source: Graves et al., Connectionist Temporal Classification (ICML 2006).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

_NEVER = -1e30
"""As good as -inf, but its differences are finite."""


def loss(labels: jax.Array, logits: jax.Array, label_lengths: jax.Array, logit_lengths: jax.Array, blank: int) -> Any:
    """Compute minus the log probability of the labels of each row, over all alignments; inf if there is none."""
    rows, count = labels.shape
    logs = jax.nn.log_softmax(logits, axis=-1)
    states = jnp.full((rows, 2 * count + 1), blank, "int32").at[:, 1::2].set(labels)  # a blank around each label
    seen = jnp.take_along_axis(logs, jnp.clip(states, 0, logits.shape[-1] - 1)[:, None, :], axis=2)
    place = jnp.arange(2 * count + 1)
    earlier = jnp.pad(states, ((0, 0), (2, 0)), constant_values=blank)[:, :-2]
    skips = (place % 2 == 1) & (states != earlier)  # over the blank between two labels, unless they are the same
    start = jnp.where((place < 2) & (place < 2 * label_lengths[:, None] + 1), seen[:, 0], _NEVER)

    def step(before: Any, now: Any) -> tuple[Any, None]:
        emitted, at = now
        one = jnp.pad(before, ((0, 0), (1, 0)), constant_values=_NEVER)[:, :-1]
        two = jnp.where(skips, jnp.pad(before, ((0, 0), (2, 0)), constant_values=_NEVER)[:, :-2], _NEVER)
        after = jnp.maximum(jax.nn.logsumexp(jnp.stack([before, one, two]), axis=0) + emitted, _NEVER)
        return jnp.where((at < logit_lengths)[:, None], after, before), None

    steps = jnp.moveaxis(seen, 1, 0)[1:], jnp.arange(1, logits.shape[1])
    last, _ = lax.scan(step, start, steps)
    ends = 2 * label_lengths[:, None] - jnp.array([0, 1])
    final = jnp.where(ends >= 0, jnp.take_along_axis(last, jnp.maximum(ends, 0), axis=1), _NEVER)
    total = jax.nn.logsumexp(final, axis=1)
    total = jnp.where(logit_lengths > 0, total, jnp.where(label_lengths > 0, _NEVER, 0))
    return jnp.where(total < _NEVER / 2, jnp.inf, -total)
