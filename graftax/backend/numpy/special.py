"""Functions that NumPy lacks, as vectorised rational approximations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graftax.core.typedefs import Array

# W. J. Cody, Rational Chebyshev approximations for the error function, Math. Comp. 23 (1969), 631-637.
_NEAR = (
    (
        1.85777706184603153e-1,
        3.16112374387056560e0,
        1.13864154151050156e2,
        3.77485237685302021e2,
        3.20937758913846947e3,
    ),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)
_MIDDLE = (
    (
        2.15311535474403846e-8,
        5.64188496988670089e-1,
        8.88314979438837594e0,
        6.61191906371416295e1,
        2.98635138197400131e2,
        8.81952221241769090e2,
        1.71204761263407058e3,
        2.05107837782607147e3,
        1.23033935479799725e3,
    ),
    (
        1.0,
        1.57449261107098347e1,
        1.17693950891312499e2,
        5.37181101862009858e2,
        1.62138957456669019e3,
        3.29079923573345963e3,
        4.36261909014324716e3,
        3.43936767414372164e3,
        1.23033935480374942e3,
    ),
)

# M. Giles, Approximating the erfinv function, GPU Computing Gems (2011): what XLA uses for float32.
_CENTRAL = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
    -0.00125372503, -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
_TAIL = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
    -0.0076224613, 0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip


def erf(x: object) -> Any:
    """Return the Gauss error function, computed in float64 and returned in the dtype of ``x``."""
    x = np.asarray(x)
    if x.dtype.kind in "iub":
        x = x.astype(np.float32)
    wide = np.abs(x.astype(np.float64))
    near = np.minimum(wide, 0.5)
    far = np.clip(wide, 0.46875, 6.0)  # 1 - erf(6) is below the resolution of float64
    inside = near * np.polyval(_NEAR[0], near * near) / np.polyval(_NEAR[1], near * near)
    outside = 1.0 - np.exp(-far * far) * np.polyval(_MIDDLE[0], far) / np.polyval(_MIDDLE[1], far)
    result = np.copysign(np.where(wide <= 0.46875, inside, outside), x.astype(np.float64))
    return np.where(np.isnan(wide), wide, result).astype(x.dtype)


def erfinv(x: object) -> Any:
    """Return the inverse of `erf`, to the precision of float32, term by term as XLA computes it."""
    x = np.asarray(x, np.float32)
    with np.errstate(all="ignore"):
        w = -np.log1p(x * -x)
        central = w < np.float32(5.0)
        w = np.where(central, w - np.float32(2.5), np.sqrt(w) - np.float32(3.0)).astype(np.float32)
        result = np.where(central, np.float32(_CENTRAL[0]), np.float32(_TAIL[0]))
        for near, far in zip(_CENTRAL[1:], _TAIL[1:], strict=True):
            result = np.where(central, np.float32(near), np.float32(far)) + result * w
        return np.where(np.abs(x) == 1.0, x * np.float32(np.inf), result * x).astype(np.float32)


def erfinv_wide(x: object) -> Any:
    """Return the inverse of `erf` in float64: Newton steps from the value in float32."""
    found = erfinv(x).astype(np.float64)
    with np.errstate(all="ignore"):
        for _ in range(3):
            step = (erf(found) - x) * math.sqrt(math.pi) / 2 * np.exp(found * found)
            found = np.where(np.isinf(found), found, found - step)
    return found


def erfc(x: object) -> Any:
    """Return ``1 - erf(x)``, element by element: the math library has it to the last digit."""
    return _map_elements(math.erfc, x)


def lgamma(x: object) -> Any:
    """Return the logarithm of the absolute value of the gamma function, element by element."""
    return _map_elements(_lgamma, x)


def _lgamma(x: float) -> float:
    pole = math.isinf(x) or (x <= 0 and x == math.floor(x))
    return math.inf if pole else math.lgamma(x)


def _map_elements(function: Any, x: Any) -> Any:
    values = np.fromiter((function(float(one)) for one in x.flat), np.float64, x.size)
    return values.reshape(x.shape).astype(x.dtype)


# NIST Digital Library of Mathematical Functions, 5.11.2: the asymptotic series, B_2n / 2n.
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
_FAR = 8


def digamma(x: Array) -> Any:
    """Return the slope of `lgamma`: reflected to the right half, moved up to where the series converges."""
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        pole = (wide <= 0) & (wide == np.floor(wide))
        left = wide < 0.5
        at = np.where(left, 1 - wide, wide)
        moved = np.zeros_like(at)
        for _ in range(_FAR):
            near = at < _FAR
            moved -= np.where(near, 1 / at, 0)
            at = np.where(near, at + 1, at)
        square = 1 / (at * at)
        series = np.log(at) - 0.5 / at - square * np.polyval(_DIGAMMA[::-1], square) + moved
        reflected = series - np.pi / np.tan(np.pi * np.where(left, wide - np.round(wide), 0.5))
        return np.where(pole, np.nan, np.where(left, reflected, series)).astype(x.dtype)
