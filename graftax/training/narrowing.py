"""Numbers of 64 bits as those of 32 bits, with which models compute: what does not fit is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax.core.errors import DataError

NARROW = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}
"""What becomes of dtypes of more than 32 bits, by name."""


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
    dtype = NARROW.get(array.dtype.name)
    if dtype is None:
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="), order="C")
    if array.size and array.dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low, high = array.min(), array.max()
        if low < limits.min or high > limits.max:
            raise DataError(
                f"{name} holds {low if low < limits.min else high}, of dtype {array.dtype}",
                f"models compute with integers of 32 bits, which end at {limits.min} and {limits.max}",
                f"np.asarray({name}, 'float32'), or smaller numbers for what they stand for",
            )
    with np.errstate(over="ignore"):
        found = array.astype(dtype, order="C")  # which batches of rows are taken from
    if array.dtype.kind in "fc" and np.isinf(found).any() and (beyond := np.isinf(found) & np.isfinite(array)).any():
        raise DataError(
            f"{name} holds {np.abs(array[beyond]).max()}, of dtype {array.dtype}",
            "models compute with floats of 32 bits, which end at 3.4e38",
            f"{name} / scale",
        )
    return found
