"""Functions of two arrays whose slopes are finite wherever they are so in mathematics.

Written out, a slope has a square in it, which overflows or becomes 0 long before the slope does: that of ``x / y`` is
``-x / y**2``, that of an angle has ``x**2 + y**2``. Here it is computed from the result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from graftax.backend.protocol import Arrays
from graftax.core.dtypes import is_inexact
from graftax.core.typedefs import Array
from graftax.ops.functions import row
from graftax.ops.numbers import NUMBERS
from graftax.ops.wide_sums import spread_half

Slopes = Callable[[Arrays, Any, Any, Any], tuple[Callable[[Any], Any], Callable[[Any], Any]]]
"""``(arrays, x, y, result)`` to two functions: of a change of x, and of one of y, to that of the result."""


def _with_slopes(a: Arrays, function: Callable[[Any, Any], Any], slopes: Slopes, x: Array, y: Array) -> Any:
    """Return ``function(x, y)`` with slopes of its own; Python numbers stay numbers, which adapt to arrays."""
    places = [i for i, one in enumerate((x, y)) if not isinstance(one, NUMBERS)]
    if not all(is_inexact((x, y)[i].dtype) for i in places):
        return function(x, y)

    numbers = [None if i in places else one for i, one in enumerate((x, y))]

    def fill_in(arrays: tuple[Array, ...]) -> tuple[Any, ...]:
        rest = iter(arrays)
        return tuple(next(rest) if number is None else number for number in numbers)

    def rule(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Any, Any]:
        x, y = fill_in(primals)
        found = _with_slopes(a, function, slopes, x, y)  # with these slopes again, for higher derivatives
        of_each = slopes(a, x, y, found)
        moved = [of_each[i](a.asarray(way, found.dtype)) for i, way in zip(places, tangents, strict=True)]
        return found, sum(moved[1:], moved[0])

    return a.with_jvp(lambda *given: function(*fill_in(given)), rule, *((x, y)[i] for i in places))


def quotient(a: Arrays, x: Any, y: Array | float) -> Any:
    """Return ``x / y``."""
    return a.numpy.divide(x, y) if isinstance(y, NUMBERS) else _with_slopes(a, a.numpy.divide, _of_quotient, x, y)


def _of_quotient(a: Arrays, x: Array, y: Array, result: Array) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    return lambda way: quotient(a, way, y), lambda way: quotient(a, -result * way, y)


@row
def divide(a: Arrays, x: Array, y: Array) -> Any:
    return quotient(a, *spread_half(a, x, y))


@row
def divide_no_nan(a: Arrays, x: Array, y: Array) -> Any:
    zero = a.numpy.equal(y, 0)
    return a.numpy.where(zero, 0, quotient(a, x, a.numpy.where(zero, 1, y)))


@row
def hypot(a: Arrays, x: Array, y: Array) -> Any:
    return _with_slopes(a, a.numpy.hypot, _of_hypot, x, y)


def _of_hypot(a: Arrays, x: Array, y: Array, result: Array) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    origin = a.numpy.equal(result, 0)
    length = a.numpy.where(origin, 1, result)

    def slope(one: Array, way: Array) -> Any:
        return way * a.numpy.where(origin, 0.5, quotient(a, one, length))

    return partial(slope, x), partial(slope, y)


@row
def arctan2(a: Arrays, x: Array, y: Array) -> Any:
    return _with_slopes(a, a.numpy.arctan2, _of_arctan2, x, y)


def _of_arctan2(a: Arrays, x: Array, y: Array, result: Array) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    length = hypot(a, x, y)
    origin = a.numpy.equal(length, 0)
    length = a.numpy.where(origin, 1, length)

    def slope(one: Array, way: Array) -> Any:
        return quotient(a, way * a.numpy.where(origin, 0, quotient(a, one, length)), length)

    return partial(slope, y), partial(slope, -x)


@row
def logaddexp(a: Arrays, x: Array, y: Array) -> Any:
    return _with_slopes(a, a.numpy.logaddexp, _of_logaddexp, x, y)


def _of_logaddexp(a: Arrays, x: Array, y: Array, result: Array) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return the shares of the two, from their difference: from the result, both would be 1 where it is large."""
    nothing = a.numpy.equal(result, -a.numpy.inf)
    alike = a.numpy.logical_and(a.numpy.equal(x, y), a.numpy.isinf(x))  # inf - inf is nan
    apart = a.numpy.subtract(a.numpy.where(alike, 0, x), a.numpy.where(alike, 0, y))

    def share(apart: Array, way: Array) -> Any:
        return way * a.numpy.where(nothing, 0, a.sigmoid(apart))

    return partial(share, apart), partial(share, -apart)
