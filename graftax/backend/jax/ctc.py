"""Connectionist temporal classification: the forward recursion, and a search for labels, as scans over the steps.

Source: Graves et al., Connectionist Temporal Classification (ICML 2006).
"""

from __future__ import annotations

from typing import Any, NamedTuple

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


class _Beams(NamedTuple):
    """The likeliest prefixes of one row; impossible ones fill the places that are left.

    Args:
        labels: Of each prefix, ``(width, steps)``, -1 behind its end.
        counts: How many labels, ``(width,)``.
        last: The last of them; -1 for none.
        blanked: The log probability of the prefix where the last step was a blank.
        ended: That where it was the last label.
        begins: ``[i, j]`` tells whether prefix ``j`` begins with prefix ``i``, itself included.
    """

    labels: Any
    counts: Any
    last: Any
    blanked: Any
    ended: Any
    begins: Any


def beam_search(logits: Any, logit_lengths: Any, blank: int, beam_width: int, top_paths: int) -> tuple[Any, Any, Any]:
    """Return the likeliest labels of each row, how many they are, and the logarithms of their probabilities."""

    def of_row(logs: Any) -> tuple[Any, Any, Any]:
        steps = logs.shape[0]
        first = jnp.arange(beam_width) == 0
        never = jnp.full(beam_width, -jnp.inf, logs.dtype)
        start = _Beams(
            labels=jnp.full((beam_width, steps), -1, "int32"),
            counts=jnp.zeros(beam_width, "int32"),
            last=jnp.full(beam_width, -1, "int32"),
            blanked=jnp.where(first, 0, never),
            ended=never,
            begins=first[:, None] & first,
        )

        beams, _ = lax.scan(lambda beams, emitted: (_extend_beams(beams, emitted, blank), None), start, logs)
        found, places = lax.top_k(jnp.logaddexp(beams.blanked, beams.ended), top_paths)
        possible = found > -jnp.inf
        labels = jnp.where(possible[:, None], beams.labels[places], -1)
        return labels, jnp.where(possible, beams.counts[places], 0), found

    # Behind the end of a row every step is a blank for certain, which changes no prefix and no probability.
    counted = jnp.arange(logits.shape[1]) < logit_lengths[:, None]
    nothing = jnp.where(jnp.arange(logits.shape[2]) == blank, 0, -jnp.inf)
    return jax.vmap(of_row)(jnp.where(counted[..., None], jax.nn.log_softmax(logits, axis=-1), nothing))


def _extend_beams(beams: _Beams, emitted: Any, blank: int) -> _Beams:
    """Return the likeliest prefixes after one more step: those of before, and each with one more label."""
    width, classes = beams.last.shape[0], emitted.shape[0]
    either = jnp.logaddexp(beams.blanked, beams.ended)
    places = jnp.arange(classes)
    repeats = places == beams.last[:, None]
    longer = jnp.where(repeats, beams.blanked[:, None], either[:, None])  # a blank parts equal neighbours
    longer = jnp.where(places == blank, -jnp.inf, longer + emitted)

    # A prefix with one more label that is among the beams itself: it is that one, and not another.
    is_next = beams.begins & (beams.counts == beams.counts[:, None] + 1)
    joins = jnp.where(is_next, longer[:, beams.last], -jnp.inf)
    is_there = jnp.matmul(is_next.astype(emitted.dtype), repeats.astype(emitted.dtype)) > 0
    longer = jnp.where(is_there, -jnp.inf, longer)
    stays = jnp.where(beams.last < 0, -jnp.inf, beams.ended + emitted[beams.last])
    blanked, ended = either + emitted[blank], jnp.logaddexp(stays, joins.max(0))

    score, chosen = lax.top_k(jnp.concatenate([jnp.logaddexp(blanked, ended), longer.ravel()]), width)
    grows = chosen >= width
    source = jnp.where(grows, (chosen - width) // classes, chosen)
    label = jnp.where(grows, (chosen - width) % classes, beams.last[source])
    counts = beams.counts[source]
    labels = beams.labels[source]
    is_end = grows[:, None] & (jnp.arange(labels.shape[1]) == counts[:, None])
    labels = jnp.where(is_end, label[:, None], labels)

    # Old prefix i, with one more label where it grew, begins old prefix j if j goes on like this; j with one more
    # label begins with the same ones, and with itself.
    following = beams.labels[source][:, jnp.minimum(counts, beams.labels.shape[1] - 1)].T
    follows = (counts[:, None] < counts) & (following == label[:, None])
    begins = beams.begins[source][:, source] & (follows | ~grows[:, None])
    possible = score > -jnp.inf
    begins = (begins | jnp.eye(width, dtype=bool)) & possible & possible[:, None]
    return _Beams(
        labels=labels,
        counts=counts + grows,
        last=label,
        blanked=jnp.where(grows, -jnp.inf, blanked[source]),
        ended=jnp.where(grows, score, ended[source]),
        begins=begins,
    )
