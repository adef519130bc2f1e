"""Numbers of 64 bits as those of 32 bits, with which most models compute: what does not fit is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from graftax.backend import registry
from graftax.core.errors import DataError
from graftax.core.scopes import ScopeStack
from graftax.core.wrapping import wraps

_Args = ParamSpec("_Args")
_Result = TypeVar("_Result")

NARROW = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}
"""What becomes of dtypes of more than 32 bits, by name."""

_NARROW = {np.dtype(wide): np.dtype(narrow) for wide, narrow in NARROW.items()}


stays_wide: ScopeStack[bool] = ScopeStack("stays_wide")
"""Whether floats of 64 bits stay what they are, where the backend has these: see `keeps_wide_floats`."""


def has_wide_floats() -> bool:
    """Tell whether arrays of the backend may have floats of 64 bits, as with ``jax_enable_x64``."""
    return registry.current().arrays.canonical_dtype("float64") == "float64"


def keeps_wide_floats() -> bool:
    """Tell whether floats of 64 bits stay what they are: where the backend has them, if no model says otherwise."""
    return stays_wide.top is not False and has_wide_floats()


def in_present_width(function: Callable[_Args, _Result]) -> Callable[_Args, _Result]:
    """Return the same function for another thread, with what `stays_wide` says here."""
    here = stays_wide.items

    @wraps(function)
    def run(*args: _Args.args, **kwargs: _Args.kwargs) -> _Result:
        with stays_wide.replaced(here):
            return function(*args, **kwargs)

    return run


def narrow_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return what becomes of a dtype: one of 32 bits at most, in the byte order of the machine.

    Example:
        >>> narrow_dtype(np.dtype("int64")), narrow_dtype(np.dtype(">i2"))
        (dtype('int32'), dtype('int16'))
    """
    wide = _NARROW.get(dtype) or NARROW.get(dtype.name)  # the first is faster, and knows one byte order
    if wide is None or (dtype.kind in "fc" and keeps_wide_floats()):
        return dtype if dtype.isnative else dtype.newbyteorder("=")
    return np.dtype(wide)


def narrow(array: np.ndarray[Any, Any], name: str) -> np.ndarray[Any, Any]:
    """Return an array with numbers of 32 bits at most, in the byte order of the machine; see `keeps_wide_floats`.

    Args:
        array: An array on the host.
        name: Its name, for the message.

    Raises:
        DataError: it holds a number that 32 bits do not.

    Example:
        >>> narrow(np.array([1.5]), "x").dtype, narrow(np.array([1, 2], ">i2"), "x").dtype.isnative
        (dtype('float32'), True)
    """
    dtype = narrow_dtype(array.dtype)
    if dtype == array.dtype:
        return array
    if dtype.itemsize == array.dtype.itemsize:
        return array.astype(dtype, order="C")
    if dtype.kind in "iu":
        _require_integers(array, dtype, name)
    try:
        with np.errstate(over="raise"):
            return array.astype(dtype, order="C")  # which batches of rows are taken from
    except FloatingPointError:
        beyond = np.isfinite(array) & ~(np.abs(array) <= np.finfo(dtype).max)
        raise DataError(
            f"{name} holds {np.abs(array[beyond]).max()}, of dtype {array.dtype}",
            "models compute with floats of 32 bits, which end at 3.4e38",
            f"{name} / scale",
        ) from None


def require_narrow(array: np.ndarray[Any, Any], name: str) -> None:
    """Raise if an array holds a number that 32 bits do not, without making another array where that can be seen.

    Raises:
        DataError: it holds one.
    """
    dtype = narrow_dtype(array.dtype)
    if dtype.itemsize == array.dtype.itemsize or not array.size:
        return
    if dtype.kind in "iu":
        _require_integers(array, dtype, name)
    elif dtype.kind != "f" or not max(-array.min(), array.max()) <= np.finfo(dtype).max:  # nan, infinity, too
        narrow(array, name)


def _require_integers(array: np.ndarray[Any, Any], dtype: np.dtype[Any], name: str) -> None:
    if not array.size:
        return
    limits = np.iinfo(dtype)
    low, high = array.min(), array.max()
    if low < limits.min or high > limits.max:
        raise DataError(
            f"{name} holds {low if low < limits.min else high}, of dtype {array.dtype}",
            f"models compute with integers of 32 bits, which end at {limits.min} and {limits.max}",
            f"np.asarray({name}, 'float32'), or smaller numbers for what they stand for",
        )
