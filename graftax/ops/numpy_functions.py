"""What functions that come from the NumPy namespace of a backend let slip: checks of their arguments."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from graftax.backend.host import limits
from graftax.backend.protocol import Arrays
from graftax.core.errors import ArgumentError, GraftaxError, NumericsError, ShapeError
from graftax.core.typedefs import Array
from graftax.ops.checks import at_hand, axis_in_range, format_value, register_check


@register_check("floor_divide", "remainder")
def check_divisor(arrays: Arrays, x: Any, y: Any) -> None:
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
        f"integer division by zero: y = {format_value(y)}",
        "integers have no infinity",
        "cast to float32 first, which gives inf, or ops.where(y == 0, 1, y)",
    )


@register_check("diagonal", "trace")
def _check_diagonal(arrays: Arrays, x: Array, offset: int, axis1: int, axis2: int) -> None:
    if axis_in_range("diagonal", axis1, x.ndim) == axis_in_range("diagonal", axis2, x.ndim):
        raise ArgumentError(
            f"the diagonal over axis1 = {axis1}, axis2 = {axis2} of x {list(x.shape)}",
            "both are the same axis",
            "axis1=0, axis2=1",
        )


@register_check("tril", "triu")
def _check_matrices(arrays: Arrays, x: Array, k: int) -> None:
    if x.ndim < 2:
        raise ShapeError(f"tril, triu: x {list(x.shape)}", "a matrix has two axes", "ops.diag(x), or x[None]")


@register_check("meshgrid")
def _check_meshgrid(arrays: Arrays, operands: Any, indexing: str) -> None:
    for i, one in enumerate(operands):
        if one.ndim != 1:
            raise ShapeError(f"meshgrid: operands[{i}] {list(one.shape)}", "it takes vectors", "ops.ravel(x)")


@register_check("tensordot")
def _check_tensordot(arrays: Arrays, x: Array, y: Array, axes: object) -> None:
    if isinstance(axes, int) and not 0 <= axes <= min(x.ndim, y.ndim):
        raise ShapeError(
            f"tensordot: x {list(x.shape)}, y {list(y.shape)}, axes = {axes}",
            f"so many axes are summed over, {min(x.ndim, y.ndim)} at most",
            "axes=1 for a matrix product",
        )


@register_check("left_shift", "right_shift")
def _check_shift(arrays: Arrays, x: Array, y: Array) -> None:
    if isinstance(y, int):
        negative = y < 0
    else:
        looked = at_hand(arrays, _no_places, lambda places: places < 0, y)
        negative = looked and bool((arrays.to_numpy(y) < 0).any())
    if negative:
        raise _no_places(y)


def _no_places(y: Array) -> GraftaxError:
    return ArgumentError(
        f"bits moved by y = {np.min(y)} places", "a number of places is not negative", "the shift to the other side"
    )


@register_check("nan_to_num")
def _check_nan_to_num(arrays: Arrays, x: Array, nan: float, posinf: float | None, neginf: float | None) -> None:
    if x.dtype.kind in "iub":
        return
    largest = limits(x.dtype.name)[1]
    for name, value in (("nan", nan), ("posinf", posinf), ("neginf", neginf)):
        if value is not None and math.isfinite(value) and abs(value) > largest:
            raise ArgumentError(
                f"nan_to_num: {name} = {value} for x of dtype {x.dtype.name}",
                f"it becomes infinite there, above {largest}",
                f"{name}={largest}, or None for the largest number",
            )
