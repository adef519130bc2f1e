"""More distributions, each made of uniform and normal draws: so a seed gives the same numbers on every backend."""

from __future__ import annotations

import math
from typing import Any

from graftax.backend import registry
from graftax.backend.host import limits
from graftax.core.dtypes import at_least_single, is_half
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array, ArrayLike, Shape, unwrap
from graftax.variables import distributions

ABOVE_0 = distributions.Kind(lambda x: (x > 0) & (x < math.inf), "it is a finite number above 0", 1.0)
_PROPOSALS = 12
"""Each is accepted with a probability of 0.95 and more, so that one in 10**15 draws would find none."""


def _unit(key: Array, shape: Shape, dtype: str) -> Any:
    """Draw uniformly from (0, 1): the logarithm is finite, and no further away than that of the draws beside."""
    half_a_step = 2.0**-53 if dtype == "float64" else 2.0**-24
    return registry.current().arrays.numpy.maximum(registry.current().random.uniform(key, shape, dtype), half_a_step)


def cast_draws(drawn: Any, dtype: str) -> Any:
    """Return draws in the dtype that was asked for; those beyond its largest number are that number."""
    if not is_half(dtype):
        return drawn
    largest = limits(dtype)[1]
    return registry.current().arrays.numpy.clip(drawn, -largest, largest).astype(dtype)


def exponential(key: Array, shape: Shape, dtype: str) -> Any:
    """Draw from ``exp(-x)`` above 0."""
    drawn = _unit(key, shape, at_least_single(dtype))
    return cast_draws(-registry.current().arrays.numpy.log(drawn), dtype)


def gumbel(key: Array, shape: Shape, dtype: str) -> Any:
    """Draw the largest of many: ``-log(-log(u))``."""
    numpy = registry.current().arrays.numpy
    drawn = _unit(key, shape, at_least_single(dtype))
    return cast_draws(-numpy.log(-numpy.log(drawn)), dtype)


def laplace(key: Array, shape: Shape, dtype: str) -> Any:
    """Draw from ``exp(-|x|) / 2``."""
    arrays, random = registry.current().arrays, registry.current().random
    first, second = random.split(key, 2)
    sign = arrays.asarray(random.bernoulli(second, 0.5, shape), dtype) * 2 - 1
    return sign * exponential(first, shape, dtype)


def gamma(key: Array, alpha: Any, shape: Shape, dtype: str) -> Any:
    """Draw from ``x^(alpha - 1) exp(-x) / Γ(alpha)``: of several proposals the first that is accepted.

    Source: Marsaglia and Tsang 2000, A simple method for generating gamma variables.
    """
    arrays, random = registry.current().arrays, registry.current().random
    numpy = arrays.numpy
    wide = at_least_single(dtype)
    alpha = numpy.broadcast_to(arrays.asarray(unwrap(alpha), wide), shape)
    keys = random.split(key, 3)
    small = alpha < 1
    d = numpy.where(small, alpha + 1, alpha) - 1 / 3
    normal = random.normal(keys[0], (_PROPOSALS, *shape), wide)
    v = (1 + normal / numpy.sqrt(9 * d)) ** 3
    positive = v > 0
    logs = numpy.log(numpy.where(positive, v, 1))
    fits = numpy.log(_unit(keys[1], (_PROPOSALS, *shape), wide)) < normal**2 / 2 + d * (1 - v + logs)
    first = numpy.expand_dims(numpy.argmax(numpy.logical_and(positive, fits), axis=0), 0)
    found = d * numpy.take_along_axis(numpy.where(positive, v, 1), first, 0)[0]
    power = numpy.log(_unit(keys[2], shape, wide)) / alpha  # brings alpha + 1 down to alpha
    return arrays.asarray(arrays.stop_gradient(numpy.where(small, found * numpy.exp(power), found)), dtype)


def beta(key: Array, alpha: object, other: object, shape: Shape, dtype: str) -> Any:
    """Draw from ``x^(alpha - 1) (1 - x)^(beta - 1)`` in [0, 1]."""
    numpy = registry.current().arrays.numpy
    keys = registry.current().random.split(key, 2)
    left, right = gamma(keys[0], alpha, shape, dtype), gamma(keys[1], other, shape, dtype)
    total = left + right
    return numpy.where(total > 0, left / numpy.where(total > 0, total, 1), 0.5)


def dirichlet(key: Array, alpha: object, shape: Shape, dtype: str) -> Any:
    """Draw shares of a whole, along the last axis of the shape."""
    numpy = registry.current().arrays.numpy
    draws = gamma(key, alpha, shape, dtype)
    total = numpy.sum(draws, axis=-1, keepdims=True)
    return numpy.where(total > 0, draws / numpy.where(total > 0, total, 1), 1 / shape[-1])


def choose_rows(key: Array, rows: ArrayLike, count: int, replace: bool, p: object) -> Any:
    """Draw rows of an array, with shares or without.

    Raises:
        ArgumentError: there are too few to draw each once, or the shares do not add up to 1.
        ShapeError: there is not one share for each row.
    """
    arrays, random = registry.current().arrays, registry.current().random
    values: Any = arrays.numpy.arange(rows, dtype="int32") if isinstance(rows, int) else arrays.asarray(unwrap(rows))
    have = values.shape[0] if values.ndim else 0
    if not have or (not replace and count > have):
        raise ArgumentError(
            f"choice of {count} from {have} with replace={replace}",
            "each of them is drawn once at most" if have else "there is nothing to draw from",
            "replace=True, or fewer draws" if have else "at least one row",
        )
    if p is not None:
        p = arrays.asarray(unwrap(p), "float32")
        if tuple(p.shape) != (have,):
            raise ShapeError(
                f"p of shape {tuple(p.shape)} for {have} rows", "each has a share", f"p of shape ({have},)"
            )
        if arrays.is_concrete(p):
            host = arrays.to_numpy(p)
            if not (host >= 0).all() or abs(float(host.sum()) - 1) > 1e-3 or (not replace and count > (host > 0).sum()):
                raise ArgumentError(
                    f"p that adds up to {host.sum():.6g}, {int((host > 0).sum())} of it above 0",
                    "shares are not negative and add up to 1, and what has none is never drawn",
                    "p / sum(p)",
                )
    if replace and p is None:
        places = random.randint(key, (count,), 0, have, "int32")
    elif replace:
        places = random.categorical(key, arrays.numpy.log(p), -1, (count,))
    elif p is None:
        places = random.permutation(key, have)[:count]
    else:  # the largest of perturbed logarithms are a draw without replacement
        _, places = arrays.top_k(arrays.numpy.log(p) + gumbel(key, (have,), "float32"), count)
    return arrays.numpy.take(values, places, 0)


def location_and_scale(
    draw: str, shape: Shape, loc: ArrayLike, scale: ArrayLike, dtype: str
) -> tuple[Shape, str, Any, Any]:
    """Return the shape, the dtype, what is added and what is multiplied by, of draws that are moved and stretched.

    Raises:
        ArgumentError: an argument is none of these.
    """
    shape, dtype = distributions.shape_first(draw, shape), distributions.floating_dtype(draw, dtype)
    return (
        shape,
        dtype,
        distributions.parameter("loc", loc, distributions.NUMBER, shape, dtype),
        distributions.parameter("scale", scale, ABOVE_0, shape, dtype),
    )
