"""Numbers of 64 bits as those of 32 bits, with which models compute: what does not fit is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.core.errors import DataError

NARROW = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}
"""What becomes of dtypes of more than 32 bits, by name."""

_NARROW = {np.dtype(wide): narrow for wide, narrow in NARROW.items()}


def narrow(array: np.ndarray[Any, Any], name: str) -> np.ndarray[Any, Any]:
    """Return an array with numbers of 32 bits at most, in the byte order of the machine.

    Args:
        array: An array on the host.
        name: Its name, for the message.

    Raises:
        DataError: it holds a number that 32 bits do not.

    Example:
        >>> narrow(np.array([1.5]), "x").dtype, narrow(np.array([1, 2], ">i2"), "x").dtype.isnative
        (dtype('float32'), True)
    """
    given = array.dtype
    dtype = _NARROW.get(given) or NARROW.get(given.name)  # the first is faster, and knows one byte order
    if dtype is None:
        return array if given.isnative else array.astype(given.newbyteorder("="), order="C")
    if given.kind in "iu":
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
    dtype = NARROW.get(array.dtype.name)
    if dtype is None or not array.size:
        return
    if array.dtype.kind in "iu":
        _require_integers(array, dtype, name)
    elif array.dtype.kind != "f" or not max(-array.min(), array.max()) <= np.finfo(dtype).max:  # nan, infinity, too
        narrow(array, name)


def _require_integers(array: np.ndarray[Any, Any], dtype: str, name: str) -> None:
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
