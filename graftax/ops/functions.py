"""The functions that rows call: by name, imported when an op is first used; and the precision in which they compute."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from graftax.backend.protocol import Arrays
from graftax.core.errors import DTypeError
from graftax.core.typedefs import Array
from graftax.core.wrapping import wraps
from graftax.ops.signatures import NUMPY, Op

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""By op: ``function(arrays, *arguments)``; an underscore at the end of the Python name is dropped."""


def row(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function under its name."""
    FUNCTIONS[function.__name__.rstrip("_")] = function
    return function


def import_function(op: Op) -> Callable[..., Any] | None:
    """Return ``function(arrays, *arguments)`` of an op; its file is imported now, with the checks there.

    Returns:
        None if the op is a function of the NumPy namespace.
    """
    import_module(f"graftax.ops.{op.home}")
    return None if op.home == NUMPY else FUNCTIONS[op.name]


def require_real(function: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse complex numbers for a function of ``x`` that is not defined for them.

    Raises:
        DTypeError: they are complex.
    """

    @wraps(function)
    def call(a: Arrays, x: Array, *args: Any, **options: Any) -> Any:
        if x.dtype.kind == "c":
            name = function.__name__
            raise DTypeError(f"{name}: x {x.dtype.name}", "it takes real numbers", f"ops.{name}(ops.abs(x))")
        return function(a, x, *args, **options)

    return call


def in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compute half precision in float32 for a function of ``x``, and round at the end."""

    @wraps(function)
    def run(a: Arrays, x: Array, *args: Any, **options: Any) -> Any:
        dtype = x.dtype
        if dtype.itemsize >= 4 or dtype.kind in "iub":
            return function(a, x, *args, **options)
        found = function(a, a.asarray(x, "float32"), *args, **options)
        return tuple(a.asarray(one, dtype) for one in found) if isinstance(found, tuple) else a.asarray(found, dtype)

    return run


def accumulate_wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """Do the same for what adds up or multiplies; narrow integers and booleans give 32 bits, as those of sum do."""
    inner = in_float32(function)

    @wraps(function)
    def run(a: Arrays, x: Array, *args: Any, **options: Any) -> Any:
        return inner(a, _to_32_bits(a, x), *args, **options)

    return run


def _to_32_bits(a: Arrays, x: Array) -> Any:
    narrow = x.dtype.kind in "iub" and x.dtype.itemsize < 4
    return a.asarray(x, "uint32" if x.dtype.kind == "u" else "int32") if narrow else x
