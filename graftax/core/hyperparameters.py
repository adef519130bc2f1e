"""Checks of what losses, metrics, initializers, penalties and constraints are made with: kind, range, finite or not."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from graftax.core.errors import ArgumentError
from graftax.core.static_numbers import check_known

SUMS = ("float32", "float64")
"""Dtypes in which a sum over many batches keeps its digits."""


def check_number(name: str, value: Any, fits: bool, reason: str, example: float) -> float:
    """Return a finite number as a float.

    Args:
        name: What it is called.
        value: What was given.
        fits: Whether it lies where it should, if it is a number.
        reason: Where it should lie.
        example: One that does.

    Raises:
        ArgumentError: it is none, or does not fit.
    """
    if not is_number(value) or not math.isfinite(value) or not fits:
        check_known(name, value)
        raise ArgumentError(f"{name}={value!r}", reason, f"{name}={example}")
    return float(value)


def is_number(value: object) -> bool:
    """Return True for Python's and NumPy's real numbers, which truth values are not.

    Example:
        >>> is_number(1), is_number(True), is_number("1")
        (True, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool)


def check_finite(name: str, value: object, reason: str = "it is one finite number", example: float = 1.0) -> float:
    """Return a number that must be finite."""
    return check_number(name, value, True, reason, example)


def check_not_negative(name: str, value: Any, reason: str, example: float) -> float:
    """Return a finite number from 0 up."""
    return check_number(name, value, is_number(value) and value >= 0, reason, example)


def check_seed(value: object) -> int | None:
    """Return a seed, or None for the global one."""
    if value is None:
        return None
    reason = "a seed is an integer from 0 to 2**64 - 1, or None for the global one"
    found = check_integer("seed", value, reason, 0)
    if not 0 <= found < 2**64:
        raise ArgumentError(f"seed={value!r}", reason, "seed=0")
    return found


def check_smoothing(value: Any) -> float:
    """Return a label smoothing, in [0, 1)."""
    fits = is_number(value) and 0 <= value < 1
    return check_number("label_smoothing", value, fits, "it is a share of the label, in [0, 1)", 0.1)


def check_threshold(value: object) -> float:
    """Return where a prediction starts to count as 1: any finite number, since logits have no limits."""
    return check_finite("threshold", value, "one finite number parts predictions of 0 from those of 1", 0.5)


def check_distance(name: str, value: Any) -> float:
    """Return a number above 0."""
    return check_number(name, value, is_number(value) and value > 0, f"{name} is a distance above 0", 1.0)


def check_flag(name: str, value: object) -> bool:
    """Return True or False, and nothing that only counts as such."""
    if not isinstance(value, bool):
        raise ArgumentError(f"{name}={value!r}", "it is True or False", f"{name}=True")
    return value


def check_integer(name: str, value: object, reason: str, example: int) -> int:
    """Return an integer, as one of Python."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        check_known(name, value)
        raise ArgumentError(f"{name}={value!r}", reason, f"{name}={example}")
    return int(value)


def check_axis(value: object) -> int:
    """Return one axis, counted from either end."""
    return check_integer("axis", value, "it is the number of one axis", -1)


def check_ignored_label(value: object) -> int | None:
    """Return a label that does not count, or None."""
    if value is None:
        return None
    label = check_integer("ignore_class", value, "labels are integers, and so is the one to ignore", -1)
    if not -(2**31) <= label < 2**31:
        raise ArgumentError(f"ignore_class={value!r}", "labels are counted in int32", "ignore_class=-1")
    return label


def check_positive(name: str, value: object, reason: str, example: int) -> int:
    """Return an integer from 1 up."""
    found = check_integer(name, value, reason, example)
    if found < 1:
        raise ArgumentError(f"{name}={value!r}", reason, f"{name}={example}")
    return found


def check_sum_dtype(value: object) -> str:
    """Return the dtype of sums over many batches.

    Raises:
        ArgumentError: it holds too few digits.
    """
    name = value.__name__ if isinstance(value, type) else str(value)
    if name not in SUMS:
        raise ArgumentError(
            f"dtype={value!r} of a metric",
            "it adds up over many batches, and anything narrower than float32 stops counting or overflows",
            'dtype="float32"; cast the result if it must be narrow',
        )
    return name
