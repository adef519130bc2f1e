"""What may be assigned where: the same shape, the same dtype, Python numbers in any that can hold them."""

from __future__ import annotations

from typing import Any

from graftax.backend.protocol import Backend
from graftax.errors import AssignmentError
from graftax.typedefs import Array, Shape

_KINDS = "biufc"  # each holds those before it


def fit(backend: Backend, value: Any, shape: Shape | None, dtype: str, what: str) -> Array:
    """The value as an array of that shape (any, if None) and dtype.

    Args:
        backend: Makes the array.
        value: An array of the very dtype, or Python numbers, also in lists or traced.
        shape: What it must have.
        dtype: What it must have.
        what: What is done, for messages: ``"'layer/kernel'.assign()"``.

    Raises:
        AssignmentError: the shape or the dtype differs.
    """
    arrays = backend.arrays
    array = arrays.asarray(value)
    if shape is not None and tuple(array.shape) != shape:
        raise AssignmentError(
            f"{what} got shape {tuple(array.shape)}",
            f"the variable has shape {shape}, which never changes",
            f"a value of shape {shape}; ops.broadcast_to(value, {shape}) repeats a smaller one",
        )
    weak = isinstance(value, bool | int | float | complex | list | tuple) or arrays.is_weak(array)
    if weak and _rank(str(array.dtype)) <= _rank(dtype):
        return array if str(array.dtype) == dtype and not arrays.is_weak(array) else array.astype(dtype)
    if str(array.dtype) != dtype:
        raise AssignmentError(
            f"{what} got dtype {array.dtype}",
            f"the variable has dtype {dtype}, and nothing is cast silently",
            f'ops.cast(value, "{dtype}")',
        )
    return array


def _rank(dtype: str) -> int:
    """bool, integers, floating, complex."""
    name = dtype.removeprefix("b") if dtype.startswith("bfloat") else dtype
    return next((i for i, start in enumerate(("bool", "int", "uint", "float", "complex")) if name.startswith(start)), 9)
