"""What arrays libraries let slip, checked before an op runs: values where they are concrete, dtypes always."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any

import numpy as np

from graftax.backend import traced_checks
from graftax.backend.protocol import Arrays
from graftax.core.enum_members import unwrap_member
from graftax.core.errors import DTypeError, GraftaxError, IndexRangeError, ShapeError
from graftax.core.free_sizes import any_free
from graftax.core.typedefs import Array, VariableLike

CHECKS: dict[str, Callable[..., None]] = {}
"""By op: ``check(arrays, *arguments)``, which raises or does nothing."""


def register_check(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register the check of ops by their names."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        CHECKS.update(dict.fromkeys(names, function))
        return function

    return register


def check_range(arrays: Arrays, op: str, name: str, indices: Any, size: int) -> None:
    """Refuse an index outside of ``[0, size)``: one look at the host, and while tracing nothing unless checked.

    Args:
        arrays: The arrays of the backend in charge.
        op: What asks, for the message.
        name: What the indices are called there.
        indices: Integers.
        size: How many there are.

    Raises:
        IndexRangeError: an index is outside.
        DTypeError: the indices are no integers.
    """
    if indices.dtype.kind not in "iu":
        raise DTypeError(
            f"{op}: {name} of dtype {indices.dtype.name}", "indices are integers", f'ops.cast({name}, "int32")'
        )
    if at_hand(arrays, partial(_out_of_range, op, name, size), partial(is_outside, size), indices):
        host = arrays.to_numpy(indices)
        if host.size and (host.min() < 0 or host.max() >= size):
            raise _out_of_range(op, name, size, host)


def is_outside(size: Any, indices: Any) -> Any:
    """Tell which indices are not in ``[0, size)``."""
    return (indices < 0) | (indices >= size)


def _out_of_range(op: str, name: str, size: int, host: Any) -> GraftaxError:
    place = tuple(np.argwhere(is_outside(size, host))[0])
    return IndexRangeError(
        f"{op}: {subscript(name, place)} = {host[place]} is not in [0, {size})",
        "indices count from 0, and negative ones do not wrap around",
        f"ops.clip({name}, 0, {size - 1}), or correct the data",
    )


def at_hand(arrays: Arrays, explain: traced_checks.Explain, wrong: Callable[[Any], Any], value: Any) -> bool:
    """Tell whether the value can be looked at; one that is traced is looked at after the run, where that is wanted.

    One that follows from shapes alone is looked at here, while tracing.
    """
    if arrays.is_concrete(value):
        return True
    if (
        traced_checks.perhaps.top is None
        and value.dtype.kind in "iu"
        and (known := arrays.constant_value(value)) is not None
    ):
        host = arrays.to_numpy(known)
        if host.size and np.any(wrong(host)) and (error := explain(host)) is not None:
            raise error
        return False
    traced_checks.tell(explain, wrong, value)
    if value.size and traced_checks.is_checking(of_ranges=True):
        wide = value if value.dtype.kind == "b" or value.dtype.name in ("int32", "int64") else value.astype("int32")
        traced_checks.emit(explain, arrays.numpy.any(wrong(wide)), value)
    return False


def check_subscript(arrays: Arrays, shape: tuple[int, ...], key: Any) -> Any:
    """Refuse what stands in ``x[key]`` unless it lies within the shape, counted from either end, as in Python.

    Args:
        arrays: The arrays of the backend in charge.
        shape: Of the array that is indexed.
        key: Integers, slices, None, an ellipsis, lists, arrays, or a tuple of them; traced arrays pass.

    Returns:
        The key with lists as arrays, and with integers wide enough for any axis.

    Raises:
        IndexRangeError: an integer is outside, which JAX would clamp or drop silently.
        DTypeError: an index is a float.
    """
    parts = tuple(_index(arrays, part) for part in (key if isinstance(key, tuple) else (key,)))
    taken = sum(_axes_taken(part) for part in parts)
    axis = 0
    for part in parts:
        if part is Ellipsis:
            axis += len(shape) - taken
            continue
        known = not arrays.is_array(part) or arrays.is_concrete(part)
        if axis < len(shape) and not known and part.dtype.kind in "iu":
            explain = partial(_not_on_axis, axis, shape[axis])
            at_hand(arrays, explain, partial(_is_out_of_range, shape[axis]), part)
        if axis < len(shape) and known and not isinstance(part, (slice, bool)) and part is not None:
            values = np.asarray(part)
            if values.dtype.kind in "iu" and values.size and _is_out_of_range(shape[axis], values).any():
                raise _not_on_axis(axis, shape[axis], values)
        axis += _axes_taken(part)
    if axis > len(shape):
        raise IndexRangeError(
            f"{taken} indices for an array of shape {list(shape)}",
            f"it has {len(shape)} axes",
            "one index for each axis, at most",
        )
    return parts if isinstance(key, tuple) else parts[0]


def _index(arrays: Arrays, part: Any) -> Any:
    """Return one part of a subscript as the backends take it."""
    if isinstance(part, VariableLike):
        part = part.value
    if isinstance(part, list):
        part = np.asarray(part) if part else np.zeros(0, "int32")
    kind = getattr(getattr(part, "dtype", None), "kind", None)
    if isinstance(unwrap_member(part), float | Enum) or (kind is not None and kind not in "iub"):
        shown = getattr(part, "dtype", type(part).__name__)
        raise DTypeError(f"an index of dtype {shown}", "indices are integers or booleans", "x[int(i)]")
    if kind is not None and kind in "iu" and part.dtype.itemsize < 4:
        return part.astype("int32")
    return part


def _is_out_of_range(size: int, indices: Any) -> Any:
    return (indices < -size) | (indices >= size)


def _not_on_axis(axis: int, size: int, values: Any) -> GraftaxError:
    return IndexRangeError(
        f"index {values[_is_out_of_range(size, values)][0]} of axis {axis}, which has {size}",
        f"the indices of that axis are in [{-size}, {size})",
        "mind that indices count from 0",
    )


def _axes_taken(part: Any) -> int:
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return int(part.ndim) if getattr(part, "dtype", None) == np.bool_ else 1


def subscript(name: str, place: tuple[Any, ...]) -> str:
    """Write ``name[1, 2]``, or ``name`` alone for a scalar."""
    return f"{name}[{', '.join(str(int(i)) for i in place)}]" if place else name


def axis_in_range(op: str, axis: int, ndim: int) -> int:
    """Return an axis counted from the front."""
    if not ndim or not -ndim <= axis < ndim:
        raise ShapeError(
            f"{op}: axis = {axis} of an array with {ndim} axes",
            f"axes are in [{-ndim}, {ndim})" if ndim else "it is one number",
            f"axis={max(ndim - 1, 0)} for the last one" if ndim else "ops.reshape(x, (1,))",
        )
    return axis % ndim


def check_places(arrays: Arrays, op: str, shape: tuple[int, ...], indices: Array) -> None:
    """Raise unless the last axis of indices holds index tuples into a shape."""
    depth = indices.shape[-1] if indices.ndim else 0
    if not indices.ndim or depth > len(shape):
        raise ShapeError(
            f"{op}: x {list(shape)}, indices {list(indices.shape)}",
            f"the last axis of indices is one index tuple; here of {depth}, for {len(shape)} axes",
            f"give indices a last axis of at most {len(shape)}",
        )
    if indices.dtype.kind not in "iu":
        check_range(arrays, op, "indices", indices, 0)
    if any_free(shape[:depth]):  # known to the program alone
        return
    sizes = np.array(shape[:depth])
    if at_hand(arrays, partial(_no_such_element, op, shape), partial(is_outside, sizes.astype("int32")), indices):
        host = arrays.to_numpy(indices)
        if is_outside(sizes, host).any():
            raise _no_such_element(op, shape, host)


def _no_such_element(op: str, shape: tuple[int, ...], host: Any) -> GraftaxError:
    place = tuple(np.argwhere(is_outside(np.array(shape[: host.shape[-1]]), host).any(axis=-1))[0])
    return IndexRangeError(
        f"{op}: {subscript('indices', place)} = {tuple(host[place].tolist())} is not in the shape {shape}",
        "every index must be in [0, size) of its axis, and negative ones do not wrap around",
        "correct the data that the indices come from",
    )


def format_value(value: object) -> str:
    return np.array2string(value, threshold=8, separator=", ") if isinstance(value, np.ndarray) else str(value)
