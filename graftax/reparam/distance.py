"""How far a weight moved, relative to its norm; and the tolerance to write where that is too far."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graftax.backend.gathering import gather_whole
from graftax.core.dtypes import is_complex
from graftax.core.errors import ArgumentError

_MARGIN = 1.05  # what starts from random vectors ends a little further off the next time


def distance(new: Any, old: Any) -> float:
    """Return how far a value is from another, relative to the norm of that."""
    a, b = (np.asarray(gather_whole(x), "complex128" if is_complex(x.dtype) else "float64") for x in (new, old))
    norm = float(np.linalg.norm(b))
    return float(np.linalg.norm(a - b)) / (norm or 1.0)


def tolerance_for(error: float) -> str:
    """Return the number to write as a tolerance that lets an error pass: never below it, in two digits.

    Example:
        >>> tolerance_for(0.31), tolerance_for(1.37), tolerance_for(9.9e-4)
        ('0.33', '1.5', '0.0011')
    """
    wanted = error * _MARGIN
    if not math.isfinite(wanted):
        return "float('inf')"
    step = 10.0 ** (math.floor(math.log10(wanted)) - 1)
    return f"{math.ceil(wanted / step) * step:.2g}"


def check_tolerance(tolerance: object) -> float:
    """Return a tolerance as a float, if it is a distance that a weight may move."""
    if not isinstance(tolerance, int | float | np.number) or isinstance(tolerance, bool) or not tolerance >= 0:
        raise ArgumentError(f"tolerance={tolerance!r}", "it is a distance", "tolerance=1e-3")
    return float(tolerance)
