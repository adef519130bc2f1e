"""Arrays and settings as numbers of the dtype in which a variable is updated."""

from __future__ import annotations

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
