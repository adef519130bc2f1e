"""Special functions of each element, written once over the NumPy namespace of any backend."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graftax.backend.protocol import Arrays
from graftax.core.dtypes import is_inexact
from graftax.core.errors import DTypeError, GraftaxError, NumericsError
from graftax.core.typedefs import Array
from graftax.ops.checks import at_hand, format_value, register_check
from graftax.ops.functions import in_float32, require_real, row
from graftax.ops.numbers import NUMBERS
from graftax.ops.numpy_functions import check_divisor
from graftax.ops.reductions import to_inexact
from graftax.ops.slopes_in_range import logaddexp


@row
@require_real
@in_float32
def erfc(a: Arrays, x: Array) -> Any:
    return a.erfc(to_inexact(a, x))


@row
@require_real
@in_float32
def erfinv(a: Arrays, x: Array) -> Any:
    return a.erfinv(to_inexact(a, x))


@row
@require_real
@in_float32
def lgamma(a: Arrays, x: Array) -> Any:
    return a.lgamma(to_inexact(a, x))


@row
@require_real
@in_float32
def digamma(a: Arrays, x: Array) -> Any:
    return a.digamma(to_inexact(a, x))


@row
@require_real
def logit(a: Arrays, x: Array) -> Any:
    x = to_inexact(a, x)
    return a.numpy.log(x) - a.numpy.log1p(-x)


def _stop_in_corner(a: Arrays, corner: Any, value: Any, elsewhere: Any) -> Any:
    """Return a value that has no derivative in a corner, and what has the same value and derivative elsewhere."""
    return a.numpy.where(corner, a.stop_gradient(value), elsewhere)


@row
def angle(a: Arrays, x: Array) -> Any:
    if x.dtype.kind != "c":
        return a.numpy.angle(x)
    zero = a.numpy.equal(x, 0)
    return _stop_in_corner(a, zero, a.numpy.angle(x), a.numpy.angle(a.numpy.where(zero, 1, x)))


@register_check("power")
def _check_power(arrays: Arrays, x: Any, y: Any) -> None:
    if isinstance(x, (float, complex)) or getattr(x, "dtype", np.dtype(int)).kind not in "iub":
        return
    if isinstance(y, (float, complex)) or (not isinstance(y, int) and y.dtype.kind != "i"):
        return
    if isinstance(y, int):
        if y < 0:
            raise _fraction(y)
    elif at_hand(arrays, _fraction, lambda exponents: exponents < 0, y) and (arrays.to_numpy(y) < 0).any():
        raise _fraction(arrays.to_numpy(y))


def _fraction(y: object) -> GraftaxError:
    return NumericsError(
        f"power: an integer to the power of {format_value(y)}",
        "integers have no fractions",
        'ops.power(ops.cast(x, "float32"), ...)',
    )


@row
def power(a: Arrays, x: Any, y: Any) -> Any:
    numbers = isinstance(x, NUMBERS), isinstance(y, NUMBERS)
    if any(numbers) or not any(is_inexact(one.dtype) and one.dtype.kind != "c" for one in (x, y)):
        return a.numpy.power(x, y)
    corner = a.numpy.logical_and(a.numpy.equal(x, 0), a.numpy.equal(y, 0))  # y * x**(y - 1) would be 0 * inf
    return a.numpy.power(a.numpy.where(corner, 1, x), y)


@row
def logaddexp2(a: Arrays, x: Array, y: Array) -> Any:
    return logaddexp(a, x * math.log(2), y * math.log(2)) / math.log(2)


@row
@require_real
@in_float32
def sinc(a: Arrays, x: Array) -> Any:
    x = to_inexact(a, x)
    near = a.numpy.abs(x) < _NEAR
    angle = math.pi * a.numpy.where(near, 1, x)
    return a.numpy.where(near, 1 - a.numpy.square(math.pi * a.numpy.where(near, x, 0)) / 6, a.numpy.sin(angle) / angle)


_NEAR = 1e-3
"""Below it the next term of the series is less than float64 has digits for by a factor of 1e-3; no slope is lost."""


@row
@require_real
def deg2rad(a: Arrays, x: Array) -> Any:
    return to_inexact(a, x) * (math.pi / 180)


@row
@require_real
def rad2deg(a: Arrays, x: Array) -> Any:
    return to_inexact(a, x) * (180 / math.pi)


@row
def isposinf(a: Arrays, x: Any) -> Any:
    return x == math.inf


@row
def isneginf(a: Arrays, x: Any) -> Any:
    return x == -math.inf


@row
def signbit(a: Arrays, x: Array) -> Any:
    return x < 0 if x.dtype.kind in "iub" else a.numpy.signbit(x)


@row
@require_real
def heaviside(a: Arrays, x: Any, y: Any) -> Any:
    x = to_inexact(a, x)
    return a.numpy.where(x == 0, y, a.numpy.where(x > 0, 1, x * 0))  # nan stays nan


register_check("fmod")(check_divisor)


@row
@require_real
def fmod(a: Arrays, x: Array, y: Array) -> Any:
    return a.numpy.fmod(x, y)


@row
def gcd(a: Arrays, x: Array, y: Array) -> Any:
    return a.numpy.gcd(_integers("gcd", x), y)


@row
def lcm(a: Arrays, x: Array, y: Array) -> Any:
    return a.numpy.lcm(_integers("lcm", x), y)


def _integers(op: str, x: Array) -> Array:
    if getattr(x, "dtype", _INTEGER).kind not in "iu":
        raise DTypeError(f"{op}: x of dtype {x.dtype.name}", "divisors are of integers", 'ops.cast(x, "int32")')
    return x


_INTEGER = np.dtype("int32")
