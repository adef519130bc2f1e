"""Arrays and settings as numbers of the dtype in which a variable is updated, and what rules compute of settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from functools import cache
from typing import Any

from graftax import ops
from graftax.backend import registry
from graftax.core.typedefs import Array, unwrap

dtype_name: Callable[[Any], str] = cache(str)  # the name of a dtype takes NumPy longer than a whole operation


def compute_dtype(dtype: str) -> str:
    """Return the dtype in which a variable is updated: its own, but float32 at least."""
    return dtype if dtype in ("float32", "float64") else "float32"


def cast_to(array: Array, dtype: str) -> Array:
    """Return the array in that dtype; itself if it is so already."""
    return array if dtype_name(array.dtype) == dtype else ops.cast(array, dtype)


def widest_dtype() -> str:
    """Return the dtype in which numbers lose nothing for any variable: float64 where the backend has it, or float32."""
    return registry.current().arrays.canonical_dtype("float64")


def is_on(setting: object) -> bool:
    """Return False for the number 0 alone: what a Variable holds is not known in a trace."""
    return not isinstance(setting, int | float) or setting != 0


def is_plain(*settings: Any) -> bool:
    """Tell whether all are plain numbers, which are known in a trace; what a Variable holds is not."""
    return all(isinstance(setting, int | float) for setting in settings)


def number(setting: object, dtype: str) -> Any:
    """Return a setting to compute with: a number as it is, the value of a Variable in a dtype."""
    if isinstance(setting, int | float):
        return setting
    return cast_to(registry.current().arrays.asarray(unwrap(setting)), dtype)


def identity(setting: object) -> Hashable:
    """Return what is equal for settings that are one number in every step: a Variable is so to itself alone."""
    return setting if setting is None or isinstance(setting, int | float) else ("a Variable", id(setting))


def moving_average(beta: Any, before: Array, value: Array) -> Array:
    """Return ``beta * before + (1 - beta) * value``, to rounding for a beta near 0 and for one near 1.

    As it stands, float32 rounds a beta near 1 and ``1 - beta`` such that their sum is not 1, which it is in ``before +
    (1 - beta) * (value - before)``. But for a small beta that takes nearly all of ``before`` away again, and leaves its
    rounding: after a large gradient, the square of a small one would be lost in it.

    Args:
        beta: How much is kept, in [0, 1].
        before: The average so far.
        value: What is averaged now.
    """
    is_long = is_plain(beta) and beta >= 0.5
    average: Array = before + (1 - beta) * (value - before) if is_long else beta * before + (1 - beta) * value
    return average


def bias_correction(beta: Any, count: Array) -> Array:
    """Return ``1 - beta**count``, by which an average is divided after so many updates.

    It is as exact for a beta near 1 as for any other: in float32, 0.9999 differs from what it stands for, and ``1 -
    0.9999**1`` has a thousand times that error.

    Args:
        beta: How much of the average is kept at each update, in [0, 1).
        count: The number of updates.

    Example:
        >>> import numpy as np
        >>> float(bias_correction(0.9999, np.float32(1.0))), float(1 - np.float32(0.9999) ** np.float32(1.0))
        (9.999999747378752e-05, 0.00010001659393310547)
    """
    return -ops.expm1(count * log(beta)) if not is_plain(beta) or beta else ops.ones_like(count)


def log(beta: Any) -> Any:
    """Return the logarithm of a setting, of a plain number as Python has it."""
    return math.log(beta) if is_plain(beta) else ops.log(beta)
