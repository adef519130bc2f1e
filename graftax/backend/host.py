"""From Python numbers, lists and foreign arrays to a NumPy array of canonical dtype; shared by the backends."""

from importlib import import_module
from typing import Any

import numpy as np

from graftax.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError

NARROW = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}
"""What 64-bit dtypes become unless the backend was told to keep them."""


def dtype_name(dtype: Any) -> str:
    """The name of a dtype, however it is spelt.

    Raises:
        DTypeError: there is no such dtype, or its package is missing.
    """
    if isinstance(dtype, str) and dtype in _NAMES:
        return dtype
    try:
        return str(np.dtype(dtype).name)
    except TypeError:
        pass
    name = str(getattr(dtype, "name", None) or getattr(dtype, "__name__", dtype))
    extra = _more_dtypes()
    if isinstance(getattr(extra, name, None), type):
        return name
    raise DTypeError(
        f"dtype {name!r}",
        "no such dtype is known" + ("" if extra else " without the package ml_dtypes"),
        f"one of {', '.join(sorted((*_NAMES, 'bfloat16')))}" + ("" if extra else ", or pip install ml_dtypes"),
    )


def _more_dtypes() -> Any:
    """The optional package of bfloat16 and the 8-bit floats, or None."""
    try:
        return import_module("ml_dtypes")
    except ImportError:
        return None


_NAMES = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
)


def host_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype of a canonical name; bfloat16 and its like come from ml_dtypes."""
    found: np.dtype[Any] = np.dtype(name if name in _NAMES else getattr(_more_dtypes(), name))
    return found


def host_array(x: Any, dtype: str | None, narrow: bool, copy: bool = True) -> np.ndarray[Any, Any]:
    """A NumPy array of the values.

    Args:
        x: Python numbers, nested lists of them, or anything with ``__array__``.
        dtype: Canonical name, or None to follow the values.
        narrow: True to turn 64-bit dtypes into 32-bit ones.
        copy: True never to share memory that belongs to somebody else.

    Raises:
        ArgumentTypeError: the values are no numbers.
        ShapeError: nested lists are ragged.
        ArgumentError: an integer does not fit.
    """
    try:
        found = np.array(x) if copy else np.asarray(x)
    except (ValueError, TypeError) as error:
        if isinstance(x, (list, tuple)):
            raise ShapeError(
                f"nested lists that make no array: {error}",
                "every row must have as many elements as the others",
                "pad the short rows, or keep a Python list of arrays",
            ) from None
        raise
    if found.dtype.kind in "OSUMmT":
        raise ArgumentTypeError(
            f"a value of type {type(x).__name__}", "it holds no numbers", "pass numbers, or an array of them"
        )
    target = dtype or (NARROW.get(found.dtype.name, found.dtype.name) if narrow else found.dtype.name)
    if target == found.dtype.name:
        return found
    _check_fits(found, target)
    return found.astype(host_dtype(target))


def _check_fits(values: np.ndarray[Any, Any], target: str) -> None:
    if (
        values.dtype.kind not in "iu"
        or target not in _NAMES
        or not target.startswith(("int", "uint"))
        or not values.size
    ):
        return
    limits = np.iinfo(target)
    for value in (values.min(), values.max()):
        if not limits.min <= value <= limits.max:
            raise ArgumentError(
                f"the integer {value}",
                f"it does not fit {target}, which holds {limits.min} to {limits.max}",
                "take smaller numbers, or floats",
            )
