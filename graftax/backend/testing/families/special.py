"""Special functions: sample inputs, and what the mathematics library of Python has for them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graftax.backend.testing.samples import DIVISORS, INFINITE, INTEGERS, POSITIVE, UNIT, Case, X, Y, case

SHARES = np.array([0.1, 0.4, 0.5, 0.85], "float32")

CASES: dict[str, list[Case]] = {
    "erfc": [case(X), case(np.array([5.0, 7.5, -4.0], "float32"))],
    "erfinv": [case(UNIT)],
    "lgamma": [case(X + np.float32(0.2)), case(POSITIVE * 9)],
    "digamma": [case(X + np.float32(0.2)), case(POSITIVE * 9)],
    "logit": [case(SHARES)],
    "sinc": [case(X), case(np.array([0.0, 5e-4, 1e-2], "float32"))],
    "fmod": [case(INTEGERS, DIVISORS), case(X, Y), case(X, 2.0)],
    "gcd": [case(INTEGERS, DIVISORS)],
    "lcm": [case(INTEGERS, DIVISORS)],
    "heaviside": [case(X, Y), case(np.zeros(2, "float32"), 0.5)],
    "isposinf": [case(INFINITE)],
    "isneginf": [case(INFINITE)],
    "signbit": [case(X), case(np.array([0.0, -0.0], "float32"))],
}


def _by_differences(x: float) -> float:
    """Differentiate the logarithm of the gamma function by its recurrence, far out on the right, numerically."""
    shift = 0.0
    while x < 30:
        shift, x = shift - 1 / x, x + 1
    step = 1e-3
    near, far = (math.lgamma(x + k * step) - math.lgamma(x - k * step) for k in (1, 2))
    return shift + (8 * near - far) / (12 * step)


def _inverse(y: float) -> float:
    """Bisect for the place where the error function has this value."""
    low, high = -6.0, 6.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erf(middle) < y else (low, middle)
    return low


REFERENCES: dict[str, Callable[..., Any]] = {
    "erfc": np.vectorize(math.erfc),
    "erfinv": np.vectorize(_inverse),
    "lgamma": np.vectorize(math.lgamma),
    "digamma": np.vectorize(_by_differences),
    "logit": lambda x: np.log(x / (1 - x)),
}
for _name in ("erfc", "erfinv", "lgamma", "digamma"):
    REFERENCES[_name] = (lambda function: lambda x: function(x.astype("float64")).astype(x.dtype))(REFERENCES[_name])
DIFFERENTIABLE = "erfc erfinv lgamma digamma logit sinc logaddexp2 deg2rad rad2deg"
NOT_DIFFERENTIABLE = "isposinf isneginf signbit gcd lcm heaviside fmod"
KINDS = {
    "biuh": "erfc erfinv lgamma digamma logit sinc deg2rad rad2deg isposinf isneginf logaddexp2 signbit",
    "iuh": "heaviside fmod",
    "iu": "gcd lcm",
}
