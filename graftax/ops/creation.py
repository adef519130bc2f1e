"""Arrays made and converted, written once over the NumPy namespace of any backend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graftax.backend.host import check_fits, limits
from graftax.backend.protocol import Arrays
from graftax.core.dtypes import is_complex
from graftax.core.errors import ArgumentError, DTypeError
from graftax.core.free_sizes import is_free
from graftax.core.static_numbers import check_constant
from graftax.core.typedefs import Array
from graftax.ops.functions import FUNCTIONS, row
from graftax.ops.numbers import check_filling


@row
def asarray(a: Arrays, object: Any, dtype: str | None) -> Any:
    if dtype is not None and a.is_array(object) and a.is_concrete(object) and object.dtype.name != dtype:
        check_fits(np.asarray(a.to_numpy(object)), dtype)
    return a.asarray(object, dtype)


FUNCTIONS["array"] = asarray


@row
def zeros(a: Arrays, shape: int | tuple[int, ...], dtype: str | None) -> Any:
    return a.numpy.zeros(shape, dtype or "float32")


@row
def ones(a: Arrays, shape: int | tuple[int, ...], dtype: str | None) -> Any:
    return a.numpy.ones(shape, dtype or "float32")


@row
def full(a: Arrays, shape: int | tuple[int, ...], fill_value: Array, dtype: str | None) -> Any:
    dtype = dtype or a.canonical_dtype(fill_value.dtype)
    check_filling(a, "full", "fill_value", fill_value, dtype)
    return a.numpy.full(shape, fill_value, dtype)


@row
def eye(a: Arrays, rows: int, columns: int | None, k: int, dtype: str | None) -> Any:
    return a.numpy.eye(rows, columns, k, dtype=dtype)


@row
def identity(a: Arrays, rows: int, dtype: str | None) -> Any:
    return a.numpy.eye(rows, dtype=dtype)


@row
def tri(a: Arrays, rows: int, columns: int | None, k: int, dtype: str | None) -> Any:
    return a.numpy.tri(rows, columns, k, dtype=dtype)


@row
def arange(a: Arrays, start: float, stop: float | None, step: float | None, dtype: str | None) -> Any:
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    for name, bound in (("start", start), ("stop", stop), ("step", step)):
        check_constant(f"ops.arange: {name}", bound)
    if step == 0:
        raise ArgumentError(
            f"arange: step = {step} from {start} to {stop}",
            "a step of 0 never arrives",
            "a step that is not 0; ops.full(n, value) for equal values",
        )
    bounds: Any = (start, stop, step)
    kind = np.result_type(*(int if is_free(n) else type(n) if isinstance(n, (int, float)) else n.dtype for n in bounds))
    dtype = dtype or a.canonical_dtype(kind)
    if all(type(n) is int for n in bounds) and len(range(*bounds)):
        for value in (start, range(*bounds)[-1]):
            check_filling(a, "arange", "the value", np.asarray(value), dtype)
    elif not any(a.is_array(n) or is_free(n) for n in bounds) and dtype != "bool":
        count = math.ceil((stop - start) / step)
        _check_ends(a, "arange", (start, start + (count - 1) * step) if count > 0 else (), dtype)
    return a.numpy.arange(start, stop, step, dtype=dtype)


def _check_ends(a: Arrays, op: str, ends: Sequence[float], dtype: str | None) -> None:
    """Refuse values from one end to the other that a dtype does not hold; of integers, fractions are cut off."""
    if dtype is not None:
        whole = dtype.startswith(("int", "uint"))
        for value in ends:
            if not a.is_array(value) and math.isfinite(value):
                check_filling(a, op, "a value", np.asarray(int(value) if whole else float(value)), dtype)


@row
def linspace(a: Arrays, start: float, stop: float, num: int, endpoint: bool, dtype: str | None) -> Any:
    _check_ends(a, "linspace", (start, stop), dtype)
    start, stop = (float(one) if type(one) is int else one for one in (start, stop))
    return a.numpy.linspace(start, stop, num, endpoint=endpoint, dtype=dtype)


@row
def zeros_like(a: Arrays, x: Array, dtype: str | None) -> Any:
    return a.numpy.zeros_like(x, dtype=dtype or x.dtype)


@row
def ones_like(a: Arrays, x: Array, dtype: str | None) -> Any:
    return a.numpy.ones_like(x, dtype=dtype or x.dtype)


@row
def full_like(a: Arrays, x: Array, fill_value: Array, dtype: str | None) -> Any:
    dtype = dtype or a.canonical_dtype(x.dtype)
    check_filling(a, "full_like", "fill_value", fill_value, dtype)
    return a.numpy.full_like(x, fill_value, dtype=dtype)


@row
def cast(a: Arrays, x: Array, dtype: str | None) -> Any:
    if x.dtype.kind == "c" and dtype != "bool" and not is_complex(dtype):
        raise DTypeError(
            f"cast: x of dtype {x.dtype.name} to {dtype}",
            "the imaginary part would be lost",
            f'ops.cast(ops.real(x), "{dtype}")',
        )
    return a.asarray(x, dtype)


@row
def saturate_cast(a: Arrays, x: Array, dtype: str) -> Any:
    if dtype == "bool" or is_complex(dtype) or x.dtype.kind == "c":
        return cast(a, x, dtype)
    low, high = limits(dtype)
    if x.dtype.kind in "iub":
        here = limits(x.dtype.name)
        low, high = max(low, here[0]), min(high, here[1])
        return a.asarray(x if x.dtype.kind == "b" else a.numpy.clip(x, int(low), int(high)), dtype)
    if dtype.startswith(("int", "uint")):
        return a.asarray(x, dtype)  # which limits floats
    return a.asarray(a.numpy.where(a.numpy.isinf(x), x, a.numpy.clip(x, low, high)), dtype)


@row
def logspace(a: Arrays, start: float, stop: float, num: int, endpoint: bool, base: float, dtype: str | None) -> Any:
    _check_ends(a, "logspace", [base**one for one in (start, stop) if base > 0], dtype)
    return a.asarray(a.numpy.power(base, linspace(a, start, stop, num, endpoint, "float32")), dtype)


@row
def geomspace(a: Arrays, start: float, stop: float, num: int, endpoint: bool, dtype: str | None) -> Any:
    if not start * stop > 0:
        raise ArgumentError(
            f"geomspace: start = {start}, stop = {stop}",
            "no factor leads from one to the other",
            "two numbers above 0, or two below",
        )
    _check_ends(a, "geomspace", (start, stop), dtype)
    exponents = (math.log(abs(one)) for one in (start, stop))
    found = a.numpy.exp(a.numpy.linspace(*exponents, num, endpoint=endpoint, dtype="float32"))
    return a.asarray(math.copysign(1, start) * found, dtype)
