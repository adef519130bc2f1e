"""Values that must lie in a range, such as probabilities, looked at where they are at hand."""

from functools import partial
from typing import Any

import numpy as np

from graftax import ops
from graftax.backend import registry, traced_checks
from graftax.core.errors import ArgumentError
from graftax.ops.checks import subscript

TOLERANCE = 1e-4  # rounding may carry a probability so far out of [0, 1]


def check_range(values: Any, low: float, high: float, name: str, reason: str, instead: str) -> None:
    """Raise if values at hand lie outside ``[low, high]`` by more than rounding; nothing while compiling.

    Raises:
        ArgumentError: names the value.
    """
    arrays = registry.current().arrays
    if arrays.is_array(values):
        if not arrays.is_concrete(values):
            explain = partial(_range_error, low, high, name, reason, instead)
            wrong = partial(_is_outside, low, high)
            if name == "y_pred" and (heard := traced_checks.score_listeners.top) is not None:
                heard(explain, wrong, values)
            if traced_checks.is_checking():
                traced_checks.emit(explain, ops.any(wrong(values)), values)
            return
        values = arrays.to_numpy(values)
    if not values.size or (values.min() >= low - TOLERANCE and values.max() <= high + TOLERANCE):
        return
    if (error := _range_error(low, high, name, reason, instead, values)) is not None:  # else there was a nan
        raise error


def _is_outside(low: float, high: float, values: Any) -> Any:
    return (values < low - TOLERANCE) | (values > high + TOLERANCE)


def _range_error(low: float, high: float, name: str, reason: str, instead: str, values: Any) -> ArgumentError | None:
    outside = _is_outside(low, high, values)
    if not outside.any():
        return None
    place = tuple(np.argwhere(outside)[0])
    return ArgumentError(f"{subscript(name, place)} = {values[place]:.6g}", reason, instead)
