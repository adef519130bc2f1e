"""Connectionist temporal classification: the forward recursion, step by step for each row.

Source: Graves et al., Connectionist Temporal Classification (ICML 2006).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.core.typedefs import Array


def loss(labels: Array, logits: Any, label_lengths: Array, logit_lengths: Array, blank: int) -> Any:
    """Compute minus the log probability of the labels of each row, over all alignments; inf if there is none."""
    highest = logits.max(-1, keepdims=True)
    logs = logits - highest - np.log(np.exp(logits - highest).sum(-1, keepdims=True))
    sizes = zip(labels, logs, label_lengths, logit_lengths, strict=True)
    found = [_of_row(own[:have], emitted[:steps], blank) for own, emitted, have, steps in sizes]
    return np.array(found, logits.dtype).reshape(len(labels))


def _of_row(labels: Array, logs: Array, blank: int) -> float:
    if not len(logs):
        return 0.0 if not len(labels) else np.inf
    states = np.full(2 * len(labels) + 1, blank)
    states[1::2] = labels
    skips = np.zeros(len(states), bool)
    skips[3::2] = states[3::2] != states[1:-2:2]
    here = np.where(np.arange(len(states)) < 2, logs[0, states], -np.inf)
    for emitted in logs[1:]:
        one = np.concatenate([[-np.inf], here[:-1]])
        two = np.where(skips, np.concatenate([[-np.inf, -np.inf], here[:-2]])[: len(here)], -np.inf)
        here = np.logaddexp(np.logaddexp(here, one), two) + emitted[states]
    return float(-np.logaddexp.reduce(here[-2:]))
