"""From Python numbers, lists and foreign arrays to a NumPy array of canonical dtype; shared by the backends."""

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from graftax.core.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError, StateError

NARROW = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}
"""What 64-bit dtypes become unless the backend was told to keep them."""


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype, however it is spelt.

    Raises:
        DTypeError: there is no such dtype, or its package is missing.
    """
    if isinstance(dtype, str) and dtype in _NAMES:
        return dtype
    if dtype is None:  # NumPy's would be float64
        raise DTypeError("dtype None", "there is no dtype to take", 'dtype="float32"')
    try:
        found = np.dtype(dtype)
    except TypeError:
        pass
    else:
        if found.kind in "OSUMmT" or found.num == _VOID:
            raise DTypeError(f"dtype {found.name!r}", "it holds no numbers", f"one of {', '.join(sorted(_NAMES))}")
        return str(found.name)
    name = str(getattr(dtype, "name", None) or getattr(dtype, "__name__", dtype))
    extra = _more_dtypes()
    if isinstance(getattr(extra, name, None), type):
        return name
    if name in ("string", "str", "text", "object"):
        raise DTypeError(
            f"dtype {name!r}",
            "arrays hold numbers",
            'dtype="int32", and layer(texts) of a StringLookup or TextVectorization before the data go to the model',
        )
    raise DTypeError(
        f"dtype {name!r}",
        "no such dtype is known" + ("" if extra else " without the package ml_dtypes"),
        f"one of {', '.join(sorted((*_NAMES, 'bfloat16')))}" + ("" if extra else ", or pip install ml_dtypes"),
    )


def _more_dtypes() -> Any:
    """Return the optional package of bfloat16 and the 8-bit floats, or None."""
    try:
        return import_module("ml_dtypes")
    except ImportError:
        return None


_VOID = np.dtype("void").num
_NAMES = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
)


def host_dtype(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype of a canonical name; bfloat16 and its like come from ml_dtypes."""
    found: np.dtype[Any] = np.dtype(name if name in _NAMES else getattr(_more_dtypes(), name))
    return found


def in_dtype_of_numpy(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array as a file of NumPy can hold it: one of bfloat16 and the like, which NumPy lacks, as float32.

    Example:
        >>> in_dtype_of_numpy(np.ones(2, host_dtype("bfloat16"))).dtype.name
        'float32'
    """
    return array if array.dtype.isbuiltin == 1 else array.astype("float32")


def limits(dtype: str) -> tuple[Any, Any]:
    """Return the smallest and the largest number of a dtype by name, infinity aside; of the parts of complex ones."""
    if dtype == "bool":
        return 0, 1
    extra = None if dtype in _NAMES else _more_dtypes()
    found: Any = (extra or np).iinfo if dtype.startswith(("int", "uint")) else (extra or np).finfo
    bounds = found(host_dtype(dtype))
    kind = int if dtype.startswith(("int", "uint")) else float
    return kind(bounds.min), kind(bounds.max)


def remote_values_error(shape: tuple[int, ...]) -> StateError:
    """Return the error for values that are asked for on the host, and that other processes have a part of."""
    return StateError(
        f"the values of an array of shape {shape}, of which this process has a part only",
        "the others have the rest, and would have to take part at the same time",
        "distribution.gather(x) in all processes; or gx.checkpoint.read of a checkpoint",
    )


def host_array(x: object, dtype: str | None, narrow: bool) -> np.ndarray[Any, Any]:
    """Return a NumPy array of the values, which shares its memory with no other array.

    Args:
        x: Python numbers, nested lists of them, or anything with ``__array__``.
        dtype: Canonical name, or None to follow the values.
        narrow: True to turn 64-bit dtypes into 32-bit ones.

    Raises:
        ArgumentTypeError: the values are no numbers, or a mask of NumPy hides some of them.
        ShapeError: nested lists are ragged.
        ArgumentError: a number does not fit.
        StateError: a part of the values is with other processes only.
    """
    if (unfit := no_plain_numbers(x)) is not None:
        raise unfit
    try:
        found = np.asarray(x)
    except (ValueError, TypeError) as error:
        if isinstance(x, (list, tuple)):
            raise ShapeError(
                f"nested lists that make no array: {error}",
                "every row must have as many elements as the others",
                "pad the short rows, or keep a Python list of arrays",
            ) from None
        raise
    except RuntimeError as error:
        if getattr(x, "is_fully_addressable", True):
            raise
        raise remote_values_error(tuple(getattr(x, "shape", ()))) from error
    if found.dtype.kind in "SUT":
        raise ArgumentTypeError(
            f"an array of text, {found.dtype}" if found.shape else f"the text {found.item()!r:.60}",
            "arrays hold numbers",
            "layer(texts) of a StringLookup or TextVectorization, before the data go to a model and not in it",
        )
    if found.dtype.kind in "OMm" or found.dtype.num == _VOID:
        raise ArgumentTypeError(
            f"a value of type {type(x).__name__}", "it holds no numbers", "pass numbers, or an array of them"
        )
    if not found.dtype.isnative:
        found = found.astype(found.dtype.newbyteorder("="))
    name = _name_of(found.dtype)
    target = dtype or (NARROW.get(name, name) if narrow else name)
    if target == name:
        return found if type(x) in (list, tuple, bool, int, float, complex) else np.array(found)
    return _convert(found, target)


@cache
def _name_of(dtype: np.dtype[Any]) -> str:
    return dtype.name  # which NumPy puts together anew each time


def check_plain(x: object, name: str = "", instead: str = "") -> None:
    """Raise for an array of NumPy, or lists with one, that says more than its elements: NumPy would drop the rest.

    Args:
        x: Any value.
        name: What it is called in messages.
        instead: What to write in place of a masked array. Defaults to the lines for numbers that go to a model.

    Raises:
        ArgumentTypeError: there is one.
    """
    if (unfit := no_plain_numbers(x, name, instead)) is not None:
        raise unfit


def no_plain_numbers(x: object, name: str = "", instead: str = "") -> ArgumentTypeError | None:
    """Return the error for an array of NumPy, or lists with one, that says more than numbers; None for other values.

    Args:
        x: Any value.
        name: What it is called in messages.
        instead: As for `check_plain`.
    """
    if isinstance(x, (list, tuple)):
        found = (no_plain_numbers(item, name, instead) for item in x)
        return next((error for error in found if error is not None), None)
    if not isinstance(x, (np.ndarray, np.void)):
        return None
    if isinstance(x, np.ma.MaskedArray):
        hidden = int(np.ma.getmaskarray(x).sum())
        return ArgumentTypeError(
            f"{f'{name} is ' if name else ''}a masked array of shape {x.shape} with {hidden} of {x.size} "
            "elements masked",
            "arrays of a backend have no such mask: the hidden elements would count",
            instead or _UNMASK,
        )
    if x.dtype.names is None:
        return None
    return ArgumentTypeError(
        f"{f'{name} is ' if name else ''}a structured array of dtype {x.dtype}",
        f"an element is no number but has the fields {', '.join(map(repr, x.dtype.names))}",
        "np.stack([x[field] for field in x.dtype.names], axis=-1) for one array; {field: x[field] for field in "
        "x.dtype.names} for several inputs by name",
    )


_UNMASK = (
    "x.filled(0) for the numbers; ~np.ma.getmaskarray(x) says which count, and goes to a layer as mask=, to a loss, a "
    "metric or fit as sample_weight= (one number for each sample)"
)


def copy_for_device(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a copy for a device to read whenever it likes: it must not see what is written by then.

    A large copy begins at a multiple of 64 bytes, so that a device whose memory is that of the host takes it as it is.
    """
    if x.nbytes < _LARGE or x.dtype.hasobject:
        return np.array(x)
    memory = np.empty(x.nbytes + _ALIGNED, np.uint8)
    start = -memory.__array_interface__["data"][0] % _ALIGNED
    copy: np.ndarray[Any, Any] = memory[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    np.copyto(copy, x)
    return copy


_LARGE = 64 * 1024  # bytes
_ALIGNED = 64


def _convert(values: np.ndarray[Any, Any], target: str) -> np.ndarray[Any, Any]:
    check_fits(values, target)
    try:
        with np.errstate(over="raise"):
            converted: np.ndarray[Any, Any] = values.astype(host_dtype(target))
            return converted
    except FloatingPointError:
        _, largest = limits(target)
        parts = np.abs([values.real, values.imag])
        shown = parts[np.isfinite(parts) & (parts > largest)].max()
        raise _does_not_fit(shown, target, -largest, largest) from None


def check_fits(values: np.ndarray[Any, Any], target: str) -> None:
    """Raise if numbers would change in the dtype: integers that wrap around, imaginary parts that are cut off.

    A fraction may be cut off, and a float may lose digits.

    Raises:
        ArgumentError: a number does not fit.
    """
    if values.dtype.kind == "c" and "complex" not in target and target != "bool" and np.any(values.imag):
        raise imaginary_lost(values.dtype.name, target)
    if target not in _NAMES or not target.startswith(("int", "uint")) or not values.size or values.dtype.kind == "b":
        return
    if values.dtype.kind in "iu" and np.can_cast(values.dtype, target):
        return
    least, largest = limits(target)
    for value in (values.real.min(), values.real.max()):
        if not least <= (value if values.dtype.kind in "iu" else np.trunc(value)) <= largest:
            raise _does_not_fit(value, target, least, largest)


def imaginary_lost(source: str, target: str) -> ArgumentError:
    """Return the error for complex numbers that were to become real ones."""
    return ArgumentError(
        f"complex numbers as {target}",
        f"the imaginary parts that {source} has would be lost",
        "ops.real(x), or ops.abs(x)",
    )


def _does_not_fit(value: object, target: str, least: object, largest: object) -> ArgumentError:
    kind = "integer" if np.asarray(value).dtype.kind in "iu" else "number"
    return ArgumentError(
        f"the {kind} {value}",
        f"it does not fit {target}, which holds {least} to {largest}",
        "take smaller numbers, or a wider dtype",
    )
