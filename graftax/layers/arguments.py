"""Checks that layers share: of their settings, and of the shapes that come."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from graftax import ops
from graftax.core.dtypes import is_complex, is_floating, is_inexact
from graftax.core.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from graftax.core.hyperparameters import meant_number
from graftax.core.static_numbers import check_known
from graftax.core.typedefs import Array, Shape
from graftax.layers import shapes
from graftax.ops.checks import axis_in_range


def check_positive(name: str, value: int, example: int = 8) -> int:
    """Return the value, if it is an integer above 0; ``example`` is one that will do."""
    if (number := _integer(name, value)) < 1:
        meant = meant_number(value, example, _is_size)
        raise ArgumentError(f"{name}={value!r}", f"{name} is an integer above 0", f"{name}={meant}")
    return number


def _is_size(number: int) -> bool:
    return 0 < number < 2**63


def _integer(name: str, value: Any) -> int:
    """Return a Python or NumPy integer, or an array of one, as a Python one; 0 for anything that no axis has."""
    try:
        number = 0 if isinstance(value, bool | np.bool_) else index(value)
    except TypeError:  # arrays have __index__, whatever they hold
        check_known(name, value)
        return 0
    return number if number < 2**63 else 0


def check_flag(name: str, value: bool) -> bool:
    """Return the value, if it is a truth value."""
    if not isinstance(value, bool | int | np.bool_) or value not in (0, 1):
        raise ArgumentError(f"{name}={value!r}", f"{name} is True or False", f"{name}=True")
    return bool(value)


def axis_number(name: str, value: int) -> int:
    """Return the value, if it is an integer: an axis counted from either end."""
    try:
        if not isinstance(value, bool | np.bool_):
            return index(value)
    except TypeError:
        pass
    raise ArgumentError(
        f"{name}={value!r}",
        "an axis is an integer, counted from the end where it is negative",
        f"{name}={meant_number(value, -1)}",
    )


def axis_numbers(name: str, value: int | Sequence[int]) -> int | Shape:
    """Return the value, if it is an axis, or a tuple or list of different ones."""
    if hasattr(value, "__index__"):
        return axis_number(name, value)  # type: ignore[arg-type]
    axes = tuple(axis_number(name, axis) for axis in value) if isinstance(value, list | tuple) else ()
    if not axes or len(set(axes)) != len(axes):
        raise ArgumentError(f"{name}={value!r}", "it is an axis, or a tuple of different ones", f"{name}=(-2, -1)")
    return axes


def axes_from_front(title: str, axis: int | Shape, ndim: int) -> Shape:
    """Return the axes of an array of so many, counted from the front and in order.

    Args:
        title: What asks for them, for messages.
        axis: One axis, or several.
        ndim: How many the array has.

    Raises:
        ShapeError: there is no such axis.
        ArgumentError: two of them are one.
    """
    axes = (axis,) if isinstance(axis, int) else axis
    found = sorted(axis_in_range(title, one, ndim) for one in axes)
    if len(set(found)) != len(found):
        raise ArgumentError(
            f"axis={axis} for an input of {ndim} axes", "two of them are one", f"axis={tuple(sorted(set(found)))}"
        )
    return tuple(found)


def sizes_or_none(name: str, value: Sequence[int | None]) -> tuple[int | None, ...]:
    """Return the value, if it is a tuple or list of integers above 0 and None."""
    valid = isinstance(value, list | tuple) and all(n is None or _integer(name, n) > 0 for n in value)
    if not valid:
        raise ArgumentError(
            f"{name}={value!r}", "it has a size above 0, or None, for each axis", f"{name}=(None, 1, None)"
        )
    return tuple(None if n is None else index(n) for n in value)


def for_each_axis(name: str, value: int | Sequence[int], space: int) -> Shape:
    """Return an integer above 0 for each axis of space; one integer stands for all."""
    given = value.tolist() if isinstance(value, np.ndarray) else value
    one_each = given if isinstance(given, list | tuple) else [given] * space
    numbers = tuple(_integer(name, n) for n in one_each)
    if len(numbers) != space or min(numbers) < 1:
        meant = meant_number(value, 2, _is_size)
        raise ArgumentError(
            f"{name}={value!r}",
            f"an integer above 0 is needed for each of {space} axes of space, or one for all",
            f"{name}={meant}" if space == 1 else f"{name}={meant}, or {name}={(meant,) * space}",
        )
    return numbers


def check_choice(name: str, value: str, choices: Sequence[str]) -> str:
    """Return the value, if it is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ArgumentError(f"{name}={value!r}", f"there is no such {name}", " or ".join(f'"{c}"' for c in choices))
    return str.__str__(value)  # not the name of a member of an Enum


def check_range(name: str, value: float, low: float, high: float) -> float:
    """Return the value, if it is a finite number in ``[low, high]``."""
    number = float(value) if isinstance(value, int | float | np.number) and not isinstance(value, bool) else math.nan
    if not low <= number <= high or math.isinf(number):
        middle = (low + high) / 2 if high < float("inf") else low + 1
        meant = meant_number(value, float(middle), lambda number: low <= number <= high)
        raise ArgumentError(f"{name}={value!r}", f"{name} is a number from {low} to {high}", f"{name}={meant}")
    return value if isinstance(value, int | float) else number


def single_shape(input_shape: Any, least: int, most: int | None = None) -> Shape:
    """Return the shape of the one input, if it has as many axes as the layer needs."""
    if input_shape is None:
        raise _no_array()
    if not shapes.is_shape(input_shape):
        raise ShapeError("several inputs, or none", "this layer takes one array", "layer(x)")
    axes = len(input_shape)
    if axes < least or (most is not None and axes > most):
        wanted = f"{least}" if least == most else f"at least {least}" if most is None else f"{least} to {most}"
        raise ShapeError(
            f"an input with {axes} axes, shape {tuple(input_shape)}",
            f"this layer needs {wanted} {'axis' if least == 1 else 'axes'}",
            "x[None] adds a batch axis in front, x[..., None] a channel axis at the end",
        )
    return tuple(input_shape)


def array_shape(x: Any) -> Shape:
    """Return the shape of the one array that a layer is called with."""
    if not hasattr(x, "shape"):
        raise _no_array(x)
    return tuple(x.shape)


def check_last_axis(x: Array, size: int) -> None:
    """Raise if the last axis is not what the weights were made for."""
    if not hasattr(x, "ndim"):
        raise _no_array(x)
    if not x.ndim or x.shape[-1] != size:
        raise ShapeError(
            f"an input of shape {tuple(x.shape)}, whose last axis is {x.shape[-1] if x.ndim else 'missing'}",
            f"the weights were made for {size}, at the first call",
            f"an input of shape {(*x.shape[:-1], size)}, or a new layer for the other size",
        )


def widen(x: Array) -> Array:
    """Return at least float32: sums in shorter formats are wrong, and overflow. Integers become float32."""
    kind = str(x.dtype)
    return x if kind in ("float32", "float64") or is_complex(kind) else ops.cast(x, "float32")


def require_real(x: Array) -> Array:
    """Return an array, if its numbers are real.

    Raises:
        DTypeError: they are complex; a call of a layer of graftax raises it with the path of the layer.
    """
    if is_complex(getattr(x, "dtype", "")):
        raise DTypeError(f"complex numbers, {x.dtype}{list(x.shape)}", "this layer computes with real numbers", PARTS)
    return x


PARTS = "ops.concatenate([ops.real(x), ops.imag(x)], axis=-1) for both parts, ops.abs(x) for the size"
"""What to write in place of complex numbers."""


def narrow(out: Array, x: Array, dtype: str) -> Array:
    """Return a result in the dtype of the input; in ``dtype``, that in which the layer computes, if it has integers."""
    kind = str(x.dtype)
    return out if is_complex(kind) else ops.cast(out, kind if is_floating(kind) else dtype)


def to_floating(x: Array, dtype: str) -> Array:
    """Return numbers with fractions as they are, integers and truth values in the dtype that the layer computes in."""
    if not hasattr(x, "dtype"):
        raise _no_array(x)
    return x if is_inexact(str(x.dtype)) else ops.cast(x, dtype)


def _no_array(value: object = None) -> ArgumentTypeError:
    if isinstance(value, list | tuple | dict) and len(value) > 1:
        return ArgumentTypeError(
            f"a {type(value).__name__} of {len(value)} in place of an array",
            "this layer takes one array of numbers",
            "layers.Concatenate()(inputs) or ops.stack(inputs), which make one array of several; or a Model with an "
            "Input for each of them",
        )
    what, instead = "something else", "layer(x); what gives None is often a function or a call without a return"
    if isinstance(value, list | tuple | dict):
        what = f"a {type(value).__name__} of {len(value)}"
        if value:
            instead = f"x[{next(iter(value)) if isinstance(value, dict) else 0!r}] in place of x, the array in it"
    return ArgumentTypeError(f"{what} in place of an array", "this layer takes one array of numbers", instead)
