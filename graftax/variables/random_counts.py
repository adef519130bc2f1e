"""Random whole numbers: how often something happens."""

from __future__ import annotations

import math
from typing import Any

from graftax.backend import registry
from graftax.backend.host import limits
from graftax.core.dtypes import is_complex
from graftax.core.errors import ArgumentError, DTypeError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.variables import counted_draws, distributions, draws
from graftax.variables.streams import Seed, key_of

_COUNT = distributions.Kind(lambda x: (x >= 0) & (x < 2**24), "it counts things, from 0 up and below 2**24", 10)
_RATE = distributions.Kind(lambda x: (x >= 0) & (x < 2**24), "a mean is a number from 0 up and below 2**24", 1.0)
_CHANCE = distributions.Kind(lambda x: (x > 0) & (x <= 1), "a probability above 0, up to 1", 0.5)


@door
def poisson(shape: Shape, rate: ArrayLike, dtype: str = "int32", seed: Seed = None) -> Array:
    """Draw how often something happens whose mean is known, ``rate^k exp(-rate) / k!``; draws carry no gradient.

    Args:
        shape: Shape of the result.
        rate: The mean, from 0 up and below 2**24: a number, or an array that broadcasts to the shape.
        dtype: A dtype of numbers; a draw above its largest one is that number. Defaults to int32.
        seed: As for `normal`.

    Example:
        >>> from graftax import random
        >>> random.poisson((2, 3), 4.0, seed=0).shape
        (2, 3)

    Source: Hörmann 1993, The transformed rejection method for generating Poisson random variables.
    """
    shape, dtype = distributions.shape_first("poisson", shape), _dtype("poisson", dtype)
    mean = distributions.parameter("rate", rate, _RATE, shape, "float32")
    distributions.check_room("rate", mean, dtype)
    return _cast_counts(counted_draws.poisson(key_of(seed), mean, shape), dtype)


@door
def binomial(
    shape: Shape, counts: ArrayLike, probabilities: ArrayLike, dtype: str = "int32", seed: Seed = None
) -> Array:
    """Draw how many of a number of things happen, each with the same probability; draws carry no gradient.

    Args:
        shape: Shape of the result.
        counts: How many things, below 2**24: a number, or an array that broadcasts to the shape.
        probabilities: From 0 to 1, likewise.
        dtype: A dtype of numbers; a draw above its largest one is that number. Defaults to int32.
        seed: As for `normal`.

    Example:
        >>> from graftax import random
        >>> bool((random.binomial((5,), 3, 0.5, seed=0) <= 3).all())
        True

    Source: Hörmann 1993, The generation of binomial random variates.
    """
    shape, dtype = distributions.shape_first("binomial", shape), _dtype("binomial", dtype)
    number = distributions.parameter("counts", counts, _COUNT, shape, "float32")
    distributions.check_room("counts", number, dtype)
    share = distributions.parameter("probabilities", probabilities, distributions.SHARE, shape, "float32")
    return _cast_counts(counted_draws.binomial(key_of(seed), number, share, shape), dtype)


@door
def multinomial(
    shape: Shape, counts: ArrayLike, probabilities: ArrayLike, dtype: str = "int32", seed: Seed = None
) -> Array:
    """Draw how many of a number of things are of each kind; draws carry no gradient.

    Args:
        shape: Shape of the result, which ends with the number of kinds.
        counts: How many things, below 2**24: a number, or an array that broadcasts to the shape without the last axis.
        probabilities: Of each kind: an array that broadcasts to the shape; only their ratios count.
        dtype: A dtype of numbers; a draw above its largest one is that number. Defaults to int32.
        seed: As for `normal`.

    Raises:
        ArgumentError: the shape has no axis of kinds.

    Example:
        >>> from graftax import random
        >>> random.multinomial((2, 3), 10, [0.2, 0.3, 0.5], seed=0).sum(axis=-1).tolist()
        [10, 10]
    """
    shape, dtype = distributions.shape_first("multinomial", shape), _dtype("multinomial", dtype)
    if not shape or not shape[-1]:
        raise ArgumentError(f"multinomial(shape={shape})", "the last axis has the kinds", "shape=(2, 3) for 3 kinds")
    number = distributions.parameter("counts", counts, _COUNT, shape[:-1], "float32")
    distributions.check_room("counts", number, dtype)
    share = distributions.parameter("probabilities", probabilities, distributions.SHARE, shape, "float32")
    return _cast_counts(counted_draws.multinomial(key_of(seed), number, share, shape), dtype)


@door
def geometric(shape: Shape, p: ArrayLike, dtype: str = "int32", seed: Seed = None) -> Array:
    """Draw how often something is tried until it happens, 1 or more: ``(1 - p)^(k - 1) p``; draws carry no gradient.

    Args:
        shape: Shape of the result.
        p: The probability that a try succeeds, above 0: a number, or an array that broadcasts to the shape.
        dtype: A dtype of numbers; a draw above its largest one is that number. Defaults to int32.
        seed: As for `normal`.

    Example:
        >>> from graftax import random
        >>> random.geometric((3,), 1.0, seed=0).tolist()
        [1, 1, 1]
    """
    shape, dtype = distributions.shape_first("geometric", shape), _dtype("geometric", dtype)
    numpy = registry.current().arrays.numpy
    share: Any = distributions.parameter("p", p, _CHANCE, shape, "float32")
    waited = draws.exponential(key_of(seed), shape, "float32")
    surely = math.log(2.0**-126)
    tries = numpy.ceil(waited / -numpy.maximum(numpy.log1p(-numpy.minimum(share, 1.0)), surely))
    return _cast_counts(numpy.clip(tries, 1, 2**30), dtype)


def _dtype(draw: str, dtype: str) -> str:
    name = registry.current().arrays.canonical_dtype(dtype)
    if name == "bool" or is_complex(name):
        raise DTypeError(f'{draw}(dtype="{name}")', "the draws are counts", 'dtype="int32"')
    return name


def _cast_counts(draws: Any, dtype: str) -> Array:
    """Return counts in a dtype; those above its largest number are that number, in every backend."""
    arrays = registry.current().arrays
    largest = limits(dtype)[1]
    plain = arrays.stop_gradient(draws)
    if largest < 2**30:
        plain = arrays.numpy.minimum(plain, largest)
    return arrays.asarray(plain, dtype)
