"""What may be assigned where: the same shape, the same dtype, Python numbers wherever they lose nothing."""

from __future__ import annotations

import numpy as np

from graftax.backend.host import limits
from graftax.backend.protocol import Arrays, Backend
from graftax.core import tree
from graftax.core.dtypes import is_half, is_inexact
from graftax.core.enum_members import unwrap_member
from graftax.core.errors import ArgumentError, AssignmentError
from graftax.core.typedefs import Array, Shape

_KINDS = ("bool", "uint", "int", "float", "complex")  # a number of one kind can become one of a later kind


def fit(
    backend: Backend, value: object, shape: Shape | None, dtype: str, label: str, read_in: str | None = None
) -> Array:
    """Return the value as an array of that shape (any, if None) and dtype.

    Args:
        backend: Makes the array.
        value: An array of the very dtype, or Python numbers, also in lists or traced.
        shape: What it must have.
        dtype: What it must have.
        label: What is done, for messages: ``"'layer/kernel'.assign()"``.
        read_in: The dtype to which the layer that assigns rounds what it reads. Defaults to None, none.

    Raises:
        AssignmentError: the shape or the dtype differs.
    """
    arrays, value = backend.arrays, unwrap_member(value)
    numbers = _kind_of_numbers(value)
    if numbers is not None and loses_nothing(numbers, dtype):
        array = arrays.asarray(value, dtype)
    else:
        array = arrays.asarray(value)
        if arrays.is_weak(array) and loses_nothing(str(array.dtype), dtype):
            array = array.astype(dtype)
    if shape is not None and tuple(array.shape) != shape:
        raise AssignmentError(
            f"{label} got shape {tuple(array.shape)}",
            f"the variable has shape {shape}, which never changes",
            f"a value of shape {shape}; ops.broadcast_to(value, {shape}) repeats a smaller one",
        )
    if array.dtype != dtype and str(array.dtype) != dtype:  # the first is cheap; names of other packages fail it
        if str(array.dtype) == read_in:
            raise AssignmentError(
                f"{label} got dtype {array.dtype}",
                f"the variable has dtype {dtype}; its layer computes in {read_in} and reads it rounded to that, and an "
                "average of rounded values stops moving",
                f'add_weight(..., role="state") for what the layer itself updates, or autocast=False: both are read in '
                f'{dtype}; assign_add(ops.cast(change, "{dtype}")) adds to what is stored',
            )
        raise AssignmentError(
            f"{label} got dtype {array.dtype}",
            f"the variable has dtype {dtype}, and nothing is cast silently",
            f'ops.cast(value, "{dtype}"){_cast_before(str(array.dtype), dtype)}',
        )
    return array


def _cast_before(given: str, dtype: str) -> str:
    """Return what to cast where a sum in half precision comes, which has been rounded by then."""
    if not is_half(given) or is_half(dtype):
        return ""
    return f'; a sum is rounded to {given} by then, so for one ops.sum(ops.cast(x, "{dtype}"))'


def fit_term(
    backend: Backend, value: object, shape: Shape, dtype: str, label: str, read_in: str | None = None
) -> Array:
    """Return the value as an array of that dtype that broadcasts to a shape, to be added to one of it.

    Raises:
        AssignmentError: it does not broadcast, or the dtype differs.
    """
    term = fit(backend, value, None, dtype, label, read_in)
    try:
        fits = np.broadcast_shapes(tuple(term.shape), shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise AssignmentError(
            f"{label} got shape {tuple(term.shape)}",
            f"the variable has shape {shape}, which never changes",
            f"a value of shape {shape}, or one that broadcasts to it, such as a number",
        )
    return term


def require_kept(arrays: Arrays, values: object, array: Array, label: str) -> None:
    """Raise if numbers became infinite in another floating dtype, or changed in an integer dtype.

    Args:
        arrays: The arrays of the backend in charge.
        values: The numbers as they came.
        array: The same numbers in the new dtype.
        label: What is made of them, and its dtype, for the message.

    Raises:
        ArgumentError: They did.
    """
    if not (arrays.is_concrete(array) and arrays.is_concrete(values)):
        return
    before = arrays.to_numpy(values) if arrays.is_array(values) else np.asarray(values)  # type: ignore[arg-type]
    dtype = str(array.dtype)
    if before.dtype == dtype:
        return
    after = arrays.to_numpy(array)
    if is_inexact(dtype):
        lost = np.isinf(after) & np.isfinite(before)
        why = f"{dtype} holds up to {limits(dtype)[1]:.4g}: it would be infinite"
    else:
        lost = before != after
        why = "it would not be that value"
    if lost.any():
        one = f", and {before[lost].flat[0]} among its numbers" if before.ndim else ""
        wider = "float32" if str(before.dtype) == "float64" else str(before.dtype)
        raise ArgumentError(f"{label}{one}", why, f'another value, or dtype="{wider}"')


def _kind_of_numbers(value: object) -> str | None:
    """Return the widest kind among Python numbers, alone or in lists; None for anything else."""
    names = {type(leaf).__name__ for leaf in tree.flatten(value)}
    return max(names, key=_rank) if names and names <= {"bool", "int", "float", "complex"} else None


def _rank(dtype: str) -> int:
    return next((i for i, kind in enumerate(_KINDS) if dtype.removeprefix("b").startswith(kind)), 0)


def loses_nothing(source: str, target: str) -> bool:
    """Return True if numbers of one dtype, or kind of Python numbers, can become those of another one."""
    return _rank(source) <= _rank(target) or (_rank(source) == _rank("int") and _rank(target) == _rank("uint"))
