"""Connectionist temporal classification: the forward recursion, and a search for labels, step by step for each row.

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


def beam_search(logits: Any, logit_lengths: Array, blank: int, beam_width: int, top_paths: int) -> tuple[Any, Any, Any]:
    """Return the likeliest labels of each row, how many they are, and the logarithms of their probabilities."""
    rows, steps, _ = logits.shape
    labels, counts = np.full((rows, top_paths, steps), -1, "int32"), np.zeros((rows, top_paths), "int32")
    found = np.full((rows, top_paths), -np.inf, logits.dtype)
    highest = logits.max(-1, keepdims=True)
    logs = logits - highest - np.log(np.exp(logits - highest).sum(-1, keepdims=True))
    for row in range(rows):
        beams = _beams(logs[row, : logit_lengths[row]].astype("float64"), blank, beam_width)
        for place, (prefix, value) in enumerate(beams[:top_paths]):
            labels[row, place, : len(prefix)], counts[row, place], found[row, place] = prefix, len(prefix), value
    return labels, counts, found


def _beams(logs: Any, blank: int, beam_width: int) -> list[tuple[tuple[int, ...], float]]:
    """Return prefixes with the logarithms of their probabilities, the likeliest first."""
    beams: dict[tuple[int, ...], tuple[float, float]] = {
        (): (0.0, -np.inf)
    }  # that the last step was a blank, and that it was the last label
    for emitted in logs:
        after: dict[tuple[int, ...], tuple[float, float]] = {}
        for prefix, (blanked, ended) in beams.items():
            either = np.logaddexp(blanked, ended)
            _add(after, prefix, either + emitted[blank], ended + emitted[prefix[-1]] if prefix else -np.inf)
            for label in range(len(emitted)):
                if label != blank:
                    before = blanked if prefix and label == prefix[-1] else either  # a blank parts equal neighbours
                    _add(after, (*prefix, label), -np.inf, before + emitted[label])
        likeliest = sorted(after.items(), key=lambda item: -np.logaddexp(*item[1]))
        beams = {prefix: logs for prefix, logs in likeliest[:beam_width] if np.logaddexp(*logs) > -np.inf}
    return [(prefix, float(np.logaddexp(*logs))) for prefix, logs in beams.items()]


def _add(
    prefixes: dict[tuple[int, ...], tuple[float, float]], prefix: tuple[int, ...], blanked: Any, ended: Any
) -> None:
    one, other = prefixes.get(prefix, (-np.inf, -np.inf))
    prefixes[prefix] = (float(np.logaddexp(one, blanked)), float(np.logaddexp(other, ended)))
