"""Python numbers among arrays: each takes the dtype of the array that it meets, if that dtype can hold it."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from graftax.backend.host import limits
from graftax.backend.protocol import Arrays
from graftax.core.dtypes import is_complex
from graftax.core.errors import ArgumentError, DTypeError
from graftax.ops.checks import at_hand

NUMBERS = (bool, int, float, complex)
INT32 = 2**31 - 1
"""JAX takes no larger integer of Python's, whatever it meets."""

_limits: dict[Any, tuple[float, float]] = {}


def is_in_range(dtype: object, number: float) -> bool:
    """Tell whether a number surely fits beside arrays of a dtype; where it is False, `check_number` looks closer."""
    low, high = _limits.get(dtype) or _cache_limits(dtype)
    return low <= number <= high


def _cache_limits(dtype: Any) -> tuple[float, float]:
    low, high = (0, 1) if dtype.kind == "b" else limits(dtype.name)
    _limits[dtype] = low, min(high, INT32) if dtype.kind in "iu" else high
    return _limits[dtype]


def check_number(arrays: Arrays, op: str, name: str, number: complex, other: str, dtype: str, keeps: bool) -> None:
    """Raise if a Python number is not a number of the dtype in which it is used.

    Args:
        arrays: The arrays of the backend in charge.
        op: What asks, for the message.
        name: What the number is called there.
        number: The number.
        other: What the array is called that it meets.
        dtype: The dtype of that array.
        keeps: True if the result is of that dtype, False if it is of the wider kind of both.

    Raises:
        ArgumentError: the number would come out as another one.
    """
    if keeps and not can_hold(dtype, number):
        raise ArgumentError(
            f"{op}: {name} = {number!r} for {other} of dtype {dtype}",
            f"the result is {dtype} too, which cannot hold it",
            f'ops.cast({other}, "{_kind_of(arrays, number)}")',
        )
    target = dtype
    if dtype == "bool" or (_is_integer(dtype) and isinstance(number, (float, complex))):
        target = _kind_of(arrays, number)
    low, high = limits(target)
    parts = (number.real, number.imag)
    if not all(low <= part <= high or not math.isfinite(part) for part in parts):
        wider = _wider_dtype(number, target)
        raise ArgumentError(
            f"{op}: {name} = {number!r} beside {other} of dtype {dtype}",
            f"it takes the dtype {target}, which holds {low} to {high}",
            f'ops.cast({other}, "{wider}")' if wider else "a smaller number",
        )


def can_hold(dtype: str, number: complex) -> bool:
    """Tell whether a number is one of a dtype, whatever digits it loses."""
    if dtype == "bool":
        return isinstance(number, bool) or number in (0, 1)
    if not is_complex(dtype) and number.imag:
        return False
    if not _is_integer(dtype):
        return True
    return math.isfinite(number.real) and number.real == int(number.real)


def _is_integer(dtype: str) -> bool:
    return dtype.startswith(("int", "uint"))


def _kind_of(arrays: Arrays, number: complex) -> str:
    wide = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}[type(number)]
    return arrays.canonical_dtype(wide)


def _wider_dtype(number: complex, dtype: str) -> str | None:
    if is_complex(dtype) or isinstance(number, complex):
        return None
    named = ["int32", "float32"] if _is_integer(dtype) else ["float32"]
    return next((name for name in named if name != dtype and limits(name)[0] <= number <= limits(name)[1]), None)


def check_weak(arrays: Arrays, op: str, name: str, weak: Any, other: str, dtype: str) -> None:
    """Check an array that a Python number became in the same way: while traced, only where checks are looked at.

    Raises:
        ArgumentError: a number would wrap around.
    """
    if weak.dtype.kind not in "iu" or not _is_integer(dtype):
        return
    low, high = limits(dtype)
    inside = limits(weak.dtype.name)
    if low <= inside[0] and inside[1] <= high:
        return
    explain = partial(_overflow_error, op, name, other, dtype)
    if at_hand(arrays, explain, lambda values: (values < low) | (values > high), weak):
        error = explain(arrays.to_numpy(weak))
        if error is not None:
            raise error


def _overflow_error(op: str, name: str, other: str, dtype: str, host: Any) -> ArgumentError | None:
    low, high = limits(dtype)
    outside = np.ravel(host)[np.ravel((host.astype("int64") < low) | (host.astype("int64") > high))]
    if not outside.size:
        return None
    return ArgumentError(
        f"{op}: {name} = {outside[0]} beside {other} of dtype {dtype}",
        f"it takes that dtype, which holds {low} to {high}",
        f'ops.cast({other}, "int32")',
    )


def check_filling(arrays: Arrays, op: str, name: str, value: Any, dtype: str) -> None:
    """Refuse a value that fills an array unless it is one of its dtype: no fraction cut off, nothing wrapped around.

    Raises:
        ArgumentError: it is not.
    """
    if value.dtype.kind == "c" and not is_complex(dtype) and not arrays.is_concrete(value):
        raise ArgumentError(
            f"{op}: {name} of dtype {value.dtype.name} in dtype {dtype}",
            "the imaginary part would be lost",
            f"ops.real({name})",
        )
    if not arrays.is_concrete(value) or value.dtype.name == dtype:
        return
    host = np.ravel(np.asarray(value) if isinstance(value, np.ndarray) else arrays.to_numpy(value))
    for one in host.tolist() if host.size < _FEW else ():
        low, high = limits(dtype) if dtype != "bool" else (0, 1)
        parts = (one.real, one.imag)
        if not can_hold(dtype, one) or not all(low <= p <= high or not math.isfinite(p) for p in parts):
            raise ArgumentError(
                f"{op}: {name} = {one!r} in dtype {dtype}",
                f"{dtype} holds {'whole numbers of ' if _is_integer(dtype) else ''}{low} to {high}",
                f'dtype="{value.dtype.name}", or another value',
            )


_FEW = 10_000


def refuse_kind(op: str, name: str, x: Any, refused: str) -> None:
    """Raise for an array of a kind that an op is not defined for.

    Args:
        op: What asks, for the message.
        name: What the array is called there.
        x: An array or a Python number, of which only a complex one is refused.
        refused: The kind, as ``x.dtype.kind`` has it: ``"c"`` or ``"b"``.

    Raises:
        DTypeError: it is complex, or boolean.
    """
    number = refused == "c" and isinstance(x, complex)
    if number or getattr(getattr(x, "dtype", None), "kind", "") == refused:
        complex_numbers = refused == "c"
        raise DTypeError(
            f"{op}: {name} = {x}" if number else f"{op}: {name} of dtype {getattr(x, 'dtype', '')}",
            "complex numbers have no order" if complex_numbers else "True and False are no numbers to compute with",
            f"ops.real({name}), or ops.abs({name})" if complex_numbers else f'ops.cast({name}, "int32")',
        )
