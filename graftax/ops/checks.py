"""What arrays libraries let slip, checked before an op runs: values where they are concrete, dtypes always."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any, cast

import numpy as np

from graftax.backend import traced_checks
from graftax.backend.protocol import Arrays
from graftax.core.enum_members import unwrap_member
from graftax.core.errors import ArgumentError, DTypeError, GraftaxError, IndexRangeError, NumericsError, ShapeError
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


@register_check("take")
def _take(arrays: Arrays, x: Array, indices: Array, axis: int | None) -> None:
    size = x.size if axis is None else x.shape[axis_in_range("take", axis, x.ndim)]
    check_range(arrays, "take", "indices", indices, size)


@register_check("take_along_axis")
def _take_along_axis(arrays: Arrays, x: Array, indices: Array, axis: int) -> None:
    axis = axis_in_range("take_along_axis", axis, x.ndim)
    if indices.ndim != x.ndim:
        raise ShapeError(
            f"take_along_axis: x {list(x.shape)}, indices {list(indices.shape)}",
            "both need the same number of axes",
            "ops.expand_dims(indices, axis)",
        )
    check_range(arrays, "take_along_axis", "indices", indices, x.shape[axis])


@register_check("gather_nd")
def _gather_nd(arrays: Arrays, x: Array, indices: Array) -> None:
    check_places(arrays, "gather_nd", tuple(x.shape), indices)


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


@register_check("one_hot")
def _one_hot(arrays: Arrays, indices: Array, num_classes: int, axis: int, dtype: str) -> None:
    check_range(arrays, "one_hot", "indices", indices, num_classes)


@register_check("scatter_add")
def _scatter_add(arrays: Arrays, x: Array, indices: Array, updates: Array) -> None:
    axis_in_range("scatter_add", 0, x.ndim)
    check_range(arrays, "scatter_add", "indices", indices, x.shape[0])
    wanted = (*indices.shape, *x.shape[1:])
    if tuple(getattr(updates, "shape", ())) not in ((), wanted):
        raise ShapeError(
            f"scatter_add: x {list(x.shape)}, indices {list(indices.shape)}, updates {list(updates.shape)}",
            f"updates need the shape {list(wanted)}: one row of x for each index",
            f"ops.broadcast_to(updates, {wanted})",
        )


@register_check("slice")
def _slice(arrays: Arrays, x: Array, begin: Array, shape: Any) -> None:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    _block(arrays, "slice", x, begin, sizes)


@register_check("slice_update")
def _slice_update(arrays: Arrays, x: Array, begin: Array, updates: Array) -> None:
    _block(arrays, "slice_update", x, begin, tuple(getattr(updates, "shape", ())))


def _block(arrays: Arrays, op: str, x: Array, begin: Array, sizes: tuple[int, ...]) -> None:
    have = tuple(x.shape)
    if begin.dtype.kind not in "iu":
        check_range(arrays, op, "begin", begin, 0)
    if tuple(begin.shape) != (len(have),) or len(sizes) != len(have) or any(map(_is_larger, sizes, have)):
        raise ShapeError(
            f"{op}: x {list(have)}, begin {list(begin.shape)}, a block of {list(sizes)}",
            "begin and block need one number for each axis of x, and the block must fit in x",
            f"begin of shape [{len(have)}], a block of at most {list(have)}",
        )
    if any_free((*have, *sizes)):  # they are known when the program runs
        return
    explain = partial(_leaves, op, have, sizes)
    room = np.array(have, "int32") - np.array(sizes, "int32") + 1
    if at_hand(arrays, explain, partial(is_outside, room), begin) and (error := explain(arrays.to_numpy(begin))):
        raise error


def _is_larger(size: int, limit: int) -> bool:
    return not any_free((size, limit)) and size > limit


def _leaves(op: str, have: tuple[int, ...], sizes: tuple[int, ...], host: Any) -> GraftaxError | None:
    for axis, (first, size, limit) in enumerate(zip(host.tolist(), sizes, have, strict=True)):
        if not 0 <= first <= limit - size:
            return IndexRangeError(
                f"{op}: begin[{axis}] = {first} is not in [0, {limit - size + 1})",
                f"a block of {size} would leave axis {axis}, which has {limit}",
                "ops.clip(begin, 0, ...) if the nearest block will do",
            )
    return None


@register_check("floor_divide", "remainder", "fmod")
def _divisor(arrays: Arrays, x: Any, y: Any) -> None:
    if type(y) in (int, bool):
        zero = y == 0 and getattr(x, "dtype", np.dtype(int)).kind in "iub"
    elif isinstance(y, (float, complex)) or y.dtype.kind not in "iub" or isinstance(x, (float, complex)):
        return
    else:
        zero = at_hand(arrays, _divides_by_zero, lambda divisors: divisors == 0, y) and not arrays.to_numpy(y).all()
    if zero:
        raise _divides_by_zero(arrays.to_numpy(cast(Array, y)) if hasattr(y, "shape") else y)


def _divides_by_zero(y: Any) -> GraftaxError:
    return NumericsError(
        f"integer division by zero: y = {_format_value(y)}",
        "integers have no infinity",
        "cast to float32 first, which gives inf, or ops.where(y == 0, 1, y)",
    )


@register_check("power")
def _power(arrays: Arrays, x: Any, y: Any) -> None:
    if isinstance(x, (float, complex)) or getattr(x, "dtype", np.dtype(int)).kind not in "iub":
        return
    if isinstance(y, (float, complex)) or (not isinstance(y, int) and y.dtype.kind != "i"):
        return
    if isinstance(y, int):
        if y < 0:
            raise _fraction(y)
    elif at_hand(arrays, _fraction, lambda exponents: exponents < 0, y) and (arrays.to_numpy(y) < 0).any():
        raise _fraction(arrays.to_numpy(y))


def _fraction(y: object) -> GraftaxError:
    return NumericsError(
        f"power: an integer to the power of {_format_value(y)}",
        "integers have no fractions",
        'ops.power(ops.cast(x, "float32"), ...)',
    )


def _format_value(value: object) -> str:
    return np.array2string(value, threshold=8, separator=", ") if isinstance(value, np.ndarray) else str(value)


@register_check("bincount")
def _bincount(arrays: Arrays, x: Array, length: int | None) -> None:
    if length is not None:
        check_range(arrays, "bincount", "x", x, length)
    else:
        check_range(arrays, "bincount", "x", x, np.iinfo(np.int32).max)


@register_check("diagonal", "trace")
def _diagonal(arrays: Arrays, x: Array, offset: int, axis1: int, axis2: int) -> None:
    if axis_in_range("diagonal", axis1, x.ndim) == axis_in_range("diagonal", axis2, x.ndim):
        raise ArgumentError(
            f"the diagonal over axis1 = {axis1}, axis2 = {axis2} of x {list(x.shape)}",
            "both are the same axis",
            "axis1=0, axis2=1",
        )


@register_check("tril", "triu")
def _matrices(arrays: Arrays, x: Array, k: int) -> None:
    if x.ndim < 2:
        raise ShapeError(f"tril, triu: x {list(x.shape)}", "a matrix has two axes", "ops.diag(x), or x[None]")


@register_check("meshgrid")
def _meshgrid(arrays: Arrays, operands: Any, indexing: str) -> None:
    for i, one in enumerate(operands):
        if one.ndim != 1:
            raise ShapeError(f"meshgrid: operands[{i}] {list(one.shape)}", "it takes vectors", "ops.ravel(x)")


@register_check("tensordot")
def _tensordot(arrays: Arrays, x: Array, y: Array, axes: object) -> None:
    if isinstance(axes, int) and not 0 <= axes <= min(x.ndim, y.ndim):
        raise ShapeError(
            f"tensordot: x {list(x.shape)}, y {list(y.shape)}, axes = {axes}",
            f"so many axes are summed over, {min(x.ndim, y.ndim)} at most",
            "axes=1 for a matrix product",
        )


@register_check("quantile", "nanquantile")
def _quantile(
    arrays: Arrays, x: Array, q: float | tuple[float, ...], axis: int | tuple[int, ...] | None, keepdims: bool
) -> None:
    for one in q if isinstance(q, tuple) else (q,):
        if not 0 <= one <= 1:
            raise ArgumentError(f"quantile: q = {q}", "a quantile is in [0, 1]", "q=0.9 for 90 percent")


@register_check("top_k")
def _top_k(arrays: Arrays, x: Array, k: int) -> None:
    if not x.ndim or not 0 <= k <= x.shape[-1]:
        raise ArgumentError(
            f"top_k: k = {k}, x {list(x.shape)}",
            "k is at most the size of the last axis",
            f"k <= {x.shape[-1] if x.ndim else 'its size, of an array with an axis'}",
        )
