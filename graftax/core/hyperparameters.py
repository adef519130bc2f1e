"""Checks of what losses, metrics, initializers, penalties and constraints are made with: kind, range, finite or not.

What is refused may say a number in another form, such as 8 of ``8.0``, ``(8,)`` and ``"8"``, which messages name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, TypeVar

from graftax.core.enum_members import unwrap_member
from graftax.core.errors import ArgumentError, GraftaxError
from graftax.core.static_numbers import check_known

_Number = TypeVar("_Number", int, float)

SUMS = ("float32", "float64")
"""Dtypes in which a sum over many batches keeps its digits."""


def check_number(name: str, value: Any, fits: Callable[[float], bool] | None, reason: str, example: float) -> float:
    """Return a finite number as a float.

    Args:
        name: What it is called.
        value: What was given.
        fits: Tells whether a number lies where it should; None where all do.
        reason: Where it should lie.
        example: One that does.

    Raises:
        ArgumentError: it is none, or does not fit.
    """
    if not is_number(value) or not math.isfinite(value) or (fits is not None and not fits(value)):
        check_known(name, value)
        meant = meant_number(value, float(example), fits)
        instead = int(meant) if isinstance(example, int) and meant == int(meant) else meant
        raise ArgumentError(f"{name}={value!r}", reason, f"{name}={instead}")
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
    return check_number(name, value, None, reason, example)


def check_not_negative(name: str, value: Any, reason: str, example: float) -> float:
    """Return a finite number from 0 up."""
    return check_number(name, value, lambda number: number >= 0, reason, example)


def check_seed(value: object) -> int | None:
    """Return a seed, or None for the global one."""
    if value is None:
        return None
    reason = "a seed is an integer from 0 to 2**64 - 1, or None for the global one"
    return check_integer("seed", value, reason, 0, 0, 2**64 - 1)


def check_smoothing(value: Any) -> float:
    """Return a label smoothing, in [0, 1)."""
    return check_number(
        "label_smoothing", value, lambda share: 0 <= share < 1, "it is a share of the label, in [0, 1)", 0.1
    )


def check_threshold(value: object) -> float:
    """Return where a prediction starts to count as 1: any finite number, since logits have no limits."""
    return check_finite("threshold", value, "one finite number parts predictions of 0 from those of 1", 0.5)


def check_distance(name: str, value: Any) -> float:
    """Return a number above 0."""
    return check_number(name, value, lambda number: number > 0, f"{name} is a distance above 0", 1.0)


def check_flag(name: str, value: object) -> bool:
    """Return True or False, and nothing that only counts as such."""
    if not isinstance(value, bool):
        raise ArgumentError(f"{name}={value!r}", "it is True or False", f"{name}=True")
    return value


def check_integer(
    name: str, value: object, reason: str, example: int, least: float = -math.inf, most: float = math.inf
) -> int:
    """Return an integer from a least to a largest one, as one of Python."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
        check_known(name, value)
        meant = meant_number(value, example, lambda number: least <= number <= most)
        raise ArgumentError(f"{name}={value!r}", reason, f"{name}={meant}")
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
    return check_integer(name, value, reason, example, 1)


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


def meant_number(value: object, example: _Number, fits: Callable[[_Number], bool] | None = None) -> _Number:
    """Return the number that a value says, as what the example is: an integer or a float.

    Args:
        value: What was given, and refused.
        example: A number that will do, for a value that says none, or one that does not fit.
        fits: Tells whether a number lies where it should. Defaults to None: all do.

    Example:
        >>> meant_number((16,), 1), meant_number(8.0, 1), meant_number("0.3", 1.0), meant_number((2, 3), 1)
        (16, 8, 0.3, 1)
    """
    said = said_number(value)
    if said is None or (isinstance(example, int) and said != int(said)):
        return example
    number = type(example)(said)
    return number if fits is None or fits(number) else example


def said_number(value: object) -> float | None:
    """Return the one finite number in a value; None if there is none, or there are several."""
    found: object = unwrap_member(value)
    try:
        while isinstance(found, list | tuple) and len(found) == 1:
            found = found[0]
        # no Variable, and no array of a backend: a tape would warn of the conversion, or the number is not known yet
        if type(found).__module__ == "numpy" and getattr(found, "size", 0) == 1:
            found = found.item()  # type: ignore[attr-defined]
        if isinstance(found, bool) or not isinstance(found, str | Real):
            return None
        number = float(found)
    except (
        TypeError,
        ValueError,
        OverflowError,
        GraftaxError,
    ):  # no number, or one that only the compiled program knows
        return None
    return number if math.isfinite(number) else None
