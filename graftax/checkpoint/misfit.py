"""Whether a saved array fits a Variable, and the array in the dtype of that."""

from __future__ import annotations

from graftax.backend.host import host_dtype
from graftax.checkpoint.arrays import HostArray, can_cast
from graftax.core.errors import DTypeMismatch, MatchError, ShapeMismatch
from graftax.reparam.base import Reparam
from graftax.variables.variable import Variable


def misfit(
    variable: Variable | Reparam, dtype: str, shape: tuple[int, ...], cast: str
) -> tuple[type[MatchError], str] | None:
    """Return why a saved array does not fit a Variable, as an error class and a message; None if it fits."""
    if tuple(variable.shape) != tuple(shape):
        return ShapeMismatch, f"shape {tuple(shape)} saved, shape {tuple(variable.shape)} in the program"
    if not can_cast(dtype, variable.dtype, cast):
        return DTypeMismatch, f"dtype {dtype} saved, dtype {variable.dtype} in the program"
    return None


def cast_to(variable: Variable | Reparam, value: HostArray) -> HostArray:
    """Return the value in the dtype of the Variable."""
    return value if value.dtype.name == variable.dtype else value.astype(host_dtype(variable.dtype))
