"""How counted draws are made of uniform ones: by going along the sums of probabilities, or by proposals, if many.

Source: Hörmann 1993, The transformed rejection method for generating Poisson random variables (PTRS), and The
generation of binomial random variates (BTRS).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graftax.backend import registry
from graftax.core.typedefs import Array, Shape

_FEW = 10.0
"""Up to this mean, sums of probabilities are few."""
_TERMS = 64
"""Above a mean of 10, a count of 64 comes once in 10**27 draws."""
_PROPOSALS = 24
"""Each is accepted with a probability of 0.7 and more, so that one in 10**12 draws would find none."""
_FACTORIALS = np.array([math.lgamma(k + 1) for k in range(_TERMS)])


def poisson(key: Array, rate: Array, shape: Shape) -> Any:
    """Draw from ``rate^k exp(-rate) / k!``, as real numbers."""
    arrays, random = registry.current().arrays, registry.current().random
    numpy = arrays.numpy
    rate = numpy.broadcast_to(arrays.asarray(rate, "float32"), shape)
    keys = random.split(key, 3)
    low = numpy.minimum(rate, _FEW)
    ranks = _align(numpy, arrays.asarray(np.arange(_TERMS), "float32"), shape)
    factorials = _align(numpy, arrays.asarray(_FACTORIALS, "float32"), shape)
    logs = ranks * numpy.log(numpy.maximum(low, 1e-30)) - low - factorials
    few = _invert(numpy, random.uniform(keys[0], shape, "float32"), numpy.exp(logs))

    high = numpy.maximum(rate, _FEW)
    spread = 0.931 + 2.53 * numpy.sqrt(high)
    a = -0.059 + 0.02483 * spread
    u, v, us = _proposals(keys[1], keys[2], shape)
    k = numpy.floor((2 * a / us + spread) * u + high + 0.43)
    inside = numpy.maximum(k, 0)
    after = inside + 1
    # log of the probability at k, with what would cancel left out: lgamma(k + 1) is near k log(rate)
    chance = (
        inside * numpy.log1p((high - after) / after)
        - 0.5 * numpy.log(after)
        + (after - high)
        - 0.5 * math.log(2 * math.pi)
        - _tail(numpy, inside)
    )
    level = numpy.log(v) + numpy.log(1.1239 + 1.1328 / (spread - 3.4)) - numpy.log(a / (us * us) + spread)
    accepted = numpy.logical_and(k >= 0, level <= chance)
    many = _first_accepted(numpy, inside, accepted, numpy.round(high))
    return numpy.where(rate < _FEW, few, many)


def binomial(key: Array, count: Array, p: Array, shape: Shape) -> Any:
    """Draw how many of ``count`` things happen, each with probability ``p``, as real numbers."""
    arrays, random = registry.current().arrays, registry.current().random
    numpy = arrays.numpy
    n = numpy.broadcast_to(arrays.asarray(count, "float32"), shape)
    share = numpy.broadcast_to(arrays.asarray(p, "float32"), shape)
    rare = numpy.minimum(share, 1 - share)  # what is left is drawn, and the rest counted
    keys = random.split(key, 3)

    is_few = n * rare < _FEW
    low = numpy.where(is_few, rare, 0)
    ranks = _align(numpy, arrays.asarray(np.arange(1, _TERMS), "float32"), shape)
    left = n - ranks + 1
    steps = numpy.where(left > 0, numpy.log(numpy.maximum(left, 1) / ranks), -math.inf)
    odds = numpy.log(numpy.maximum(low, 1e-30)) - numpy.log1p(-low)
    first = (n * numpy.log1p(-low))[None]
    logs = numpy.concatenate([first, first + numpy.cumsum(steps + odds, axis=0)], axis=0)
    few = numpy.minimum(_invert(numpy, random.uniform(keys[0], shape, "float32"), numpy.exp(logs)), n)

    many = _many_of(numpy, numpy.where(is_few, 40, n), numpy.where(is_few, 0.5, rare), keys[1], keys[2], shape)
    found = numpy.where(is_few, few, many)
    return numpy.where(share > 0.5, n - found, found)


def multinomial(key: Array, count: Array, p: Array, shape: Shape) -> Any:
    """Draw how many of ``count`` things are of each kind: of each half of the kinds, and so on, halves of these."""
    arrays, random = registry.current().arrays, registry.current().random
    numpy = arrays.numpy
    kinds, batch = shape[-1], shape[:-1]
    levels = max(0, (kinds - 1).bit_length())
    shares = numpy.broadcast_to(arrays.asarray(p, "float32"), shape)
    padding = numpy.zeros((*batch, 2**levels - kinds), "float32")
    weights = [numpy.concatenate([shares, padding], axis=-1)]
    for _ in range(levels):
        pairs = weights[0].reshape((*batch, -1, 2))
        weights.insert(0, numpy.sum(pairs, axis=-1))
    counts = numpy.broadcast_to(arrays.asarray(count, "float32"), batch)[..., None]
    for level, below in enumerate(weights[1:]):
        pairs = below.reshape((*batch, -1, 2))
        both = numpy.sum(pairs, axis=-1)
        share = numpy.where(both > 0, pairs[..., 0] / numpy.where(both > 0, both, 1), 0.0)
        left = binomial(random.fold_in(key, level), counts, share, tuple(counts.shape))
        counts = numpy.stack([left, counts - left], axis=-1).reshape((*batch, -1))
    return counts[..., :kinds]


def _many_of(numpy: Any, n: Array, p: Array, first: Array, second: Array, shape: Shape) -> Any:
    """Draw from a binomial whose mean is 10 or more, ``p`` being at most a half."""
    q = 1 - p
    deviation = numpy.sqrt(n * p * q)
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    odds, middle = p / q, numpy.floor((n + 1) * p)
    u, v, us = _proposals(first, second, shape)
    k = numpy.floor((2 * a / us + b) * u + n * p + 0.5)
    fits = numpy.logical_and(k >= 0, k <= n)
    inside = numpy.clip(k, 0, n)
    level = numpy.log(v * (2.83 + 5.1 / b) * deviation / (a / (us * us) + b))
    chance = (
        (middle + 0.5) * numpy.log((middle + 1) / (odds * (n - middle + 1)))
        + (n + 1) * numpy.log1p((inside - middle) / (n - inside + 1))
        + (inside + 0.5) * numpy.log(odds * (n - inside + 1) / (inside + 1))
        + _tail(numpy, middle)
        + _tail(numpy, n - middle)
        - _tail(numpy, inside)
        - _tail(numpy, n - inside)
    )
    return _first_accepted(numpy, inside, numpy.logical_and(fits, level <= chance), middle)


def _align(numpy: Any, values: Array, shape: Shape) -> Any:
    return numpy.reshape(values, (-1, *(1,) * len(shape)))


def _invert(numpy: Any, u: Array, chances: Array) -> Any:
    """Return how many of the sums of probabilities a uniform number has passed."""
    return numpy.sum((u > numpy.cumsum(chances, axis=0)).astype("float32"), axis=0)


def _proposals(first: Array, second: Array, shape: Shape) -> tuple[Any, Any, Any]:
    random, numpy = registry.current().random, registry.current().arrays.numpy
    u = random.uniform(first, (_PROPOSALS, *shape), "float32") - 0.5
    v = random.uniform(second, (_PROPOSALS, *shape), "float32", 2.0**-30, 1.0)
    return u, v, numpy.maximum(0.5 - numpy.abs(u), 2.0**-24)


def _first_accepted(numpy: Any, values: Array, accepted: Array, otherwise: Array) -> Any:
    place = numpy.expand_dims(numpy.argmax(accepted, axis=0), 0)
    return numpy.where(numpy.any(accepted, axis=0), numpy.take_along_axis(values, place, 0)[0], otherwise)


def _tail(numpy: Any, k: Array) -> Any:
    """Return what Stirling's formula lacks of ``log(k!)``."""
    after = k + 1
    square = after * after
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / after
    exact = np.array([_stirling_error(i) for i in range(10)], "float32")
    small = numpy.take(exact, numpy.clip(k, 0, 9).astype("int32"), 0)
    return numpy.where(k < 10, small, series)


def _stirling_error(k: int) -> float:
    return math.lgamma(k + 1) - (0.5 * math.log(2 * math.pi) + (k + 0.5) * math.log(k + 1) - (k + 1))
