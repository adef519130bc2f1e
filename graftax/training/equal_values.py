"""Whether two Python values of a program's state are equal, arrays in them included."""

from __future__ import annotations

from typing import Any

import numpy as np


def are_equal(one: Any, other: Any) -> bool:
    """Return True for equal values of the same types; a nan equals a nan.

    Args:
        one: Numbers, text, arrays, or lists, tuples and dicts of these.
        other: The same.

    Example:
        >>> are_equal({"x": [1, np.ones(2)]}, {"x": [1, np.ones(2)]}), are_equal(1, 1.0), are_equal((1,), [1])
        (True, False, False)
    """
    if type(one) is not type(other):
        return False
    if hasattr(one, "dtype"):
        one, other = np.asarray(one), np.asarray(other)
        return one.dtype == other.dtype and one.shape == other.shape and bool(one.tobytes() == other.tobytes())
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(are_equal(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(are_equal, one, other))
    return bool(one == other) or (one != one and other != other)
