"""What a failure inside the backend means, told in three beats with the op and the shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from graftax.backend import registry
from graftax.core import foreign_errors
from graftax.core.broadcasting import mismatch, suggestion
from graftax.core.errors import (
    ArgumentError,
    ArgumentTypeError,
    CompileError,
    ExportError,
    GraftaxError,
    NumericsError,
    ShapeError,
    TracerLeakError,
)
from graftax.core.free_sizes import equality_constraint
from graftax.core.holders import where_kept
from graftax.core.tree import flatten
from graftax.core.typedefs import Array
from graftax.ops.signatures import Op, array_parameters, parameters

_AXIS: type[Exception] = np.exceptions.AxisError
_PLAIN = (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError, AttributeError, AssertionError)
_EXPLAIN: dict[str, Callable[..., GraftaxError | None]] = {}


def explain_failure(row: Op, error: Exception, arguments: dict[str, Any]) -> NoReturn:
    """Raise what went wrong as an error of graftax; what is not understood is raised as it came."""
    if isinstance(error, GraftaxError):
        raise error
    op = row.name
    if isinstance(error, np.linalg.LinAlgError):
        raise NumericsError(f"{op}: {error}", "the matrix has no such result", "add ops.eye(n) * 1e-6 to it") from None
    of_numpy = type(error).__module__.startswith("numpy")  # such as a dtype for which it has no loop
    plain = type(error) in _PLAIN or isinstance(error, _AXIS) or (of_numpy and isinstance(error, TypeError))
    if not plain or isinstance(foreign_errors.translate(error), CompileError | ExportError):
        if (known := foreign_errors.explain(error, f"ops.{op}({describe(arguments)})")) is not None:
            raise (_leak_error(known, op, arguments) if isinstance(known, TracerLeakError) else known) from error
        raise error
    operands = [one.name for one in array_parameters(row) if one.kind.broadcasts and arguments[one.name] is not None]
    better = None
    if op in _EXPLAIN:
        better = _EXPLAIN[op](op, **arguments)
    elif len(operands) > 1:
        first, *others = operands
        tried = (_broadcast(op, arguments[first], arguments[one], first, one) for one in others)
        better = next(filter(None, tried), None)
    if better is None:
        better = _axis(row, arguments) or _general_error(op, error, arguments)
    raise better from None


def _leak_error(known: TracerLeakError, op: str, arguments: dict[str, Any]) -> TracerLeakError:
    """Return the error for an operand whose trace is over, with the place that keeps it if that is found."""
    tracing = registry.current().tracing
    level = tracing.level()
    for name, value in arguments.items():
        if tracing.leaks(value, level) and (kept := where_kept(value)) is not None:
            variable = f"self.{kept.place.rpartition('.')[2]}" if kept.is_attribute else "variable"
            error = TracerLeakError(
                f"{known.received}; {kept.place} keeps it",
                "while a function is traced, its arrays have shapes but no values, and get none later",
                f"return it from the function, or keep it in a Variable: {variable}.assign(...)",
            )
            error.add_context(f"{name} of ops.{op}({describe(arguments)})")
            return error
    return known


def describe(arguments: dict[str, Any]) -> str:
    """Write ``x float32[2, 3], axis=1``."""
    return ", ".join(_describe_argument(name, value) for name, value in arguments.items() if value is not None)


def _describe_argument(name: str, value: Any) -> str:
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{name} {value.dtype.name}{list(value.shape)}"
    if isinstance(value, (list, tuple)) and any(hasattr(item, "shape") for item in value):
        return f"{name} [{', '.join(_describe_argument('', item).strip() for item in value)}]"
    return f"{name}={value!r}"


def _general_error(op: str, error: Exception, arguments: dict[str, Any]) -> GraftaxError:
    told = (str(error).strip().splitlines() or [type(error).__name__])[0]
    kind = ArgumentTypeError if isinstance(error, (TypeError, AttributeError)) else ArgumentError
    return kind(f"{op}({describe(arguments)})", told, f"see help(ops.{op})")


def _axis(row: Op, arguments: dict[str, Any]) -> GraftaxError | None:
    """Return the error for axes that the first array does not have, or that are given twice."""
    first, *others = parameters(row)
    x = arguments[first.name]
    if not hasattr(x, "ndim"):
        return None
    ndim = x.ndim
    for one in others:
        axis = arguments[one.name]
        if axis is None or not one.kind.of_first:
            continue
        given = flatten(axis)
        for number in given:
            if not -ndim <= number < ndim:
                return ShapeError(
                    f"{row.name}: {one.name} = {number} of {first.name} {list(x.shape)}",
                    f"axes of an array with {ndim} axes are in [{-ndim}, {ndim})",
                    f"{one.name}=-1 for the last one",
                )
        if len({number % ndim for number in given}) < len(given):
            return ArgumentError(f"{row.name}: {one.name} = {axis}", "an axis is there twice", "each axis once")
    return None


def _register(*names: str) -> Callable[[Callable[..., GraftaxError | None]], Callable[..., GraftaxError | None]]:
    def register(function: Callable[..., GraftaxError | None]) -> Callable[..., GraftaxError | None]:
        _EXPLAIN.update(dict.fromkeys(names, function))
        return function

    return register


def _shape(value: Any) -> list[int]:
    return list(np.shape(value) if not hasattr(value, "shape") else value.shape)


def _broadcast(op: str, x: Any, y: Any, first: str = "x", second: str = "y") -> GraftaxError | None:
    left, right = _shape(x), _shape(y)
    reason = mismatch(left, right)
    return ShapeError(f"{op}: {first} {left}, {second} {right}", reason, suggestion(left, right)) if reason else None


@_register("matmul", "dot")
def _matmul(op: str, x: Any, y: Any) -> GraftaxError | None:
    left, right = _shape(x), _shape(y)
    if not left or not right:
        return ShapeError(f"{op}: x {left}, y {right}", "a matrix product needs axes", "x * y for a number")
    inner = right[-2] if len(right) > 1 else right[0]
    if left[-1] != inner:
        hint = "ops.swapaxes(y, -1, -2)" if right[-1] == left[-1] and len(right) > 1 else f"y with {left[-1]} rows"
        return ShapeError(
            f"{op}: x {left}, y {right}",
            f"the last axis of x has size {left[-1]}, and the axis of y that it is multiplied with has size {inner}",
            equality_constraint(left[-1], inner) or hint,
        )
    return _broadcast(op, np.empty((*left[:-2], 1, 1)), np.empty((*right[:-2], 1, 1))) and ShapeError(
        f"{op}: x {left}, y {right}", "the axes before the last two do not broadcast", "reshape one of them"
    )


@_register("tensordot")
def _tensordot(op: str, x: Array, y: Array, axes: object) -> GraftaxError | None:
    return ShapeError(
        f"tensordot: x {_shape(x)}, y {_shape(y)}, axes = {axes}",
        "as many last axes of x as first ones of y, or those that two lists name in pairs, must be of one size",
        "axes=1 for a matrix product, axes=([1], [0]) to name them",
    )


@_register("transpose")
def _transpose(op: str, x: Array, axes: object) -> GraftaxError | None:
    return ArgumentError(
        f"transpose: axes = {axes} of x {list(x.shape)}",
        "axes are all axes of x, each once, in their new order",
        f"axes={tuple(reversed(range(x.ndim)))}",
    )


@_register("rot90")
def _rot90(op: str, x: Array, k: int, axes: object) -> GraftaxError | None:
    if isinstance(axes, list | tuple) and len(axes) == 2:
        return None
    return ArgumentError(f"{op}: axes = {axes!r}", "a rotation is in the plane of two axes", "axes=(0, 1)")


@_register("reshape")
def _reshape(op: str, x: Array, shape: Any) -> GraftaxError | None:
    sizes = [shape] if isinstance(shape, int) else list(shape)
    if not all(isinstance(size, (int, np.integer)) for size in sizes):
        return None
    wanted = math.prod(size for size in sizes if size != -1)
    have = math.prod(x.shape)
    return ShapeError(
        f"reshape: {list(x.shape)} with {have} elements to {sizes} with "
        + (f"{wanted}" if -1 not in sizes else f"a multiple of {wanted}"),
        "a reshape keeps the number of elements",
        "one size may be -1: it is computed from the others",
    )


@_register("broadcast_to")
def _broadcast_to(op: str, x: Array, shape: Any) -> GraftaxError | None:
    have, wanted = _shape(x), [shape] if isinstance(shape, int) else list(shape)
    if not all(isinstance(size, (int, np.integer)) for size in wanted):
        return None
    if len(have) > len(wanted):
        reason = f"x has {len(have)} axes, and no axis is left out"
        return ShapeError(f"{op}: x {have} to {wanted}", reason, f"a shape of {len(have)} axes or more")
    for axis in range(-1, -len(have) - 1, -1):
        if have[axis] not in (1, wanted[axis]):
            line = f"ops.expand_dims(x, -1) for rows of {have[axis]}, or a shape that ends with {have}"
            if len(have) > 1:
                line = "a shape with the sizes of x, or x with an axis of size 1 there"
            reason = f"axis {axis} has size {have[axis]}, and needs {wanted[axis]} or 1"
            return ShapeError(f"{op}: x {have} to {wanted}", reason, line)
    return None


@_register("concatenate", "stack")
def _join(op: str, arrays: Sequence[Any], axis: object) -> GraftaxError | None:
    if not arrays:
        return ArgumentError(f"{op}: an empty list", "there is nothing to join", "pass at least one array")
    shapes = [list(array.shape) for array in arrays]
    ndim = len(shapes[0])
    joined = axis % ndim if op == "concatenate" and isinstance(axis, int) and -ndim <= axis < ndim else None
    for i, shape in enumerate(shapes):
        for k in range(ndim if len(shape) == ndim else 0):
            if k != joined and shape[k] != shapes[0][k]:
                return ShapeError(
                    f"{op}: arrays[0] {shapes[0]}, arrays[{i}] {shape}, axis={axis}",
                    f"axis {k} has size {shapes[0][k]} and {shape[k]}; all sizes but that of axis {axis} must agree"
                    if op == "concatenate"
                    else f"axis {k} has size {shapes[0][k]} and {shape[k]}; all sizes must agree",
                    equality_constraint(shapes[0][k], shape[k])
                    or "slice or pad one of them, or join along another axis",
                )
        if len(shape) != ndim:
            return ShapeError(
                f"{op}: arrays[0] {shapes[0]}, arrays[{i}] {shape}, axis={axis}",
                f"{ndim} axes against {len(shape)}",
                "ops.expand_dims the smaller one",
            )
    return ShapeError(
        f"{op}: arrays of shape {shapes[0]}, axis={axis}", f"there is no such axis among {ndim}", "axis=-1"
    )


@_register("einsum")
def _einsum(op: str, subscripts: str, operands: Sequence[Any]) -> GraftaxError | None:
    shapes = ", ".join(str(list(operand.shape)) for operand in operands)
    sizes: dict[str, int] = {}
    terms = subscripts.replace(" ", "").split("->")[0].split(",")
    for term, operand in zip(terms, operands, strict=False):
        if "." in term or len(term) != operand.ndim:
            continue
        for letter, size in zip(term, operand.shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                return ShapeError(
                    f"einsum: {subscripts!r} of {shapes}",
                    f"{letter!r} is {sizes[letter]} in one operand and {size} in another",
                    equality_constraint(sizes[letter], size) or "correct the subscripts or the shapes",
                )
    return ShapeError(
        f"einsum: {subscripts!r} of {shapes}",
        "there must be one term for each operand and one letter for each of its axes",
        "such as ops.einsum('bij,bjk->bik', x, y)",
    )
