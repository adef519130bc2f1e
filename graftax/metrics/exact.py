"""Sums that lose no counts: float32 stops counting at 2**24, a second number keeps what rounding took away.

A pair ``(high, low)`` stands for ``high + low`` and holds 48 bits. Sums have shape ``(2, n)``: first highs, then lows.

Source: Knuth, The Art of Computer Programming 2, 4.2.2 (the error of a sum).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from graftax import ops
from graftax.backend import registry
from graftax.backend.protocol import Arrays, Backend
from graftax.core.typedefs import Array
from graftax.variables.variable import Variable

_fused: dict[Backend, Callable[..., Any]] = {}
_fused_arrays: dict[Backend, Callable[..., Any]] = {}


def add(sums: Variable, *terms: Array | int) -> None:
    """Add a number to each sum of a metric.

    Args:
        sums: A Variable of shape ``(2, n)``.
        terms: For each sum a scalar array or a Python integer; integers are counted exactly.
    """
    backend = registry.current()
    if backend not in _fused:
        _fused[backend] = backend.arrays.fuse(partial(_add, backend.arrays), ())
    ready = tuple(ops.asarray(term, "int32" if isinstance(term, int) else None) for term in terms)
    sums.assign(_fused[backend](sums.value, ready))


def add_array(sums: Variable, terms: Array) -> None:
    """Add a number to each sum of a metric, all in one array.

    Args:
        sums: A Variable of shape ``(2, ...)``.
        terms: Of the shape ``(...)``; integers are counted exactly.
    """
    backend = registry.current()
    if backend not in _fused_arrays:
        _fused_arrays[backend] = backend.arrays.fuse(partial(_add_array, backend.arrays), ())
    sums.assign(_fused_arrays[backend](sums.value, terms))


def read(sums: Variable) -> Array:
    """Return the sums, rounded to one number each."""
    value = sums.value
    return value[0] + value[1]


def _add(a: Arrays, sums: Any, terms: tuple[Any, ...]) -> Any:
    sums, terms = a.stop_gradient(sums), tuple(map(a.stop_gradient, terms))  # what is measured is not what is trained
    pairs = [_split(a, term, sums.dtype) for term in terms]
    return _added(a, sums, a.numpy.stack([pair[0] for pair in pairs]), a.numpy.stack([pair[1] for pair in pairs]))


def _add_array(a: Arrays, sums: Any, terms: Any) -> Any:
    return _added(a, a.stop_gradient(sums), *_split(a, a.stop_gradient(terms), sums.dtype))


def _added(a: Arrays, sums: Any, high: Any, low: Any) -> Any:
    total = sums[0] + high
    finite = a.numpy.isfinite(total)
    old, new, both = (a.numpy.where(finite, x, 0) for x in (sums[0], high, total))  # inf has no rest: inf - inf is nan
    seen = both - old
    rest = (old - (both - seen)) + (new - seen) + a.numpy.where(finite, low + sums[1], 0)
    renewed = both + rest
    return a.numpy.stack([a.numpy.where(finite, renewed, total), rest - (renewed - both)])


def _split(a: Arrays, term: Any, dtype: Any) -> tuple[Any, Any]:
    """Return a number as a pair."""
    high = term.astype(dtype)
    low = (term - high.astype(term.dtype)).astype(dtype) if term.dtype.kind in "iu" else a.numpy.zeros_like(high)
    return high, low
