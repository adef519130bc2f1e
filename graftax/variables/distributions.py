"""Checks of what distributions are drawn with: means and bounds, probabilities, dtypes, logits."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from graftax.backend import registry, traced_checks
from graftax.backend.host import limits
from graftax.core.dtypes import is_floating
from graftax.core.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from graftax.core.hyperparameters import is_number, meant_number
from graftax.core.static_numbers import check_known
from graftax.core.typedefs import Array, ArrayLike, Shape, unwrap
from graftax.variables.spec import sizes


class Kind(NamedTuple):
    """Which numbers a parameter of a distribution may be."""

    fits: Callable[[Any], Any]
    """True for those, of one number and of an array alike."""
    reason: str
    example: float


NUMBER = Kind(lambda x: abs(x) < math.inf, "it is a finite number", 0.0)
SPREAD = Kind(lambda x: (x >= 0) & (x < math.inf), "a standard deviation is a finite number from 0 up", 1.0)
SHARE = Kind(lambda x: (x >= 0) & (x <= 1), "a probability is a number from 0 to 1", 0.5)


def shape_first(draw: str, shape: object) -> Shape:
    """Return the shape of draws as a tuple of integers.

    Raises:
        ArgumentTypeError: it is something else, such as a number of the distribution.
    """
    if isinstance(shape, float | np.floating):
        raise ArgumentTypeError(
            f"{draw}({shape!r}, ...), which is shape={shape!r}",
            "the shape comes first, and then the numbers of the distribution",
            f"{draw}((2, 3), {shape!r})",
        )
    return sizes(shape)


def floating_dtype(draw: str, dtype: Any) -> str:
    """Return the dtype of real draws.

    Raises:
        DTypeError: it holds no fractions.
    """
    name = registry.current().arrays.canonical_dtype(dtype)
    if not is_floating(name):
        raise DTypeError(f'{draw}(dtype="{name}")', "the draws are real numbers", 'dtype="float32", or randint')
    return name


def parameter(name: str, value: ArrayLike, kind: Kind, shape: Shape, dtype: str) -> Any:
    """Return a number as it is, or an array that broadcasts to the shape of the draws, in their dtype.

    Args:
        name: What it is called.
        value: A number, or an array, list or Variable with one for each draw.
        kind: Which numbers it may be.
        shape: The shape of the draws.
        dtype: The dtype of the draws.

    Raises:
        ArgumentError: a number at hand does not fit; in compiled code where that is checked.
        ShapeError: the draws would have another shape than was asked for.
        DTypeError: it is complex, or holds truth values.
    """
    if is_number(value):
        if not kind.fits(value):
            raise ArgumentError(f"{name}={value!r}", kind.reason, f"{name}={kind.example}")
        check_room(name, value, dtype)
        return value
    arrays = registry.current().arrays
    given: Any = arrays.asarray(unwrap(value))
    if given.dtype.kind in "bc":
        raise DTypeError(f"{name} of dtype {given.dtype.name}", kind.reason, f"{name}={kind.example}")
    if not _can_broadcast(tuple(given.shape), shape):
        raise ShapeError(
            f"{name} of shape {tuple(given.shape)} for draws of shape {shape}",
            "each draw has one, and none is drawn twice",
            f"shape={tuple(given.shape)}, or one number",
        )
    given = given.astype(dtype)
    explain = partial(_misfit, name, kind)
    if arrays.is_concrete(given):
        if (error := explain(arrays.to_numpy(given))) is not None:
            raise error
    elif traced_checks.is_checking():
        traced_checks.emit(explain, ~arrays.numpy.all(kind.fits(given)), given)
    return given


def check_room(name: str, value: Any, dtype: str) -> None:
    """Raise unless a dtype holds numbers that are as large as a parameter, known now.

    Args:
        name: What the parameter is called.
        value: A number, or an array.
        dtype: The dtype of the draws.

    Raises:
        ArgumentError: draws would all be the largest number of the dtype, or infinite.
    """
    arrays = registry.current().arrays
    if is_number(value):
        top = abs(value)
    elif not arrays.is_concrete(value) or not value.size:
        return
    else:
        top = float(np.abs(arrays.to_numpy(value)).max())
    largest = limits(dtype)[1]
    if largest < top < math.inf:
        raise ArgumentError(
            f"{name}={top:.6g} for draws of dtype {dtype}",
            f"its largest number is {largest:.6g}",
            'dtype="int32"' if "int" in dtype else 'dtype="float32"',
        )


def check_bounds(low: Any, high: Any) -> tuple[Any, Any]:
    """Return both bounds, if the lower one is not above the upper one.

    Raises:
        ArgumentError: it is; in compiled code where that is checked.
    """
    arrays = registry.current().arrays
    if is_number(low) and is_number(high):
        if low > high:
            raise _bounds_error(low, high)
    elif all(is_number(bound) or arrays.is_concrete(bound) for bound in (low, high)):
        host = [bound if is_number(bound) else arrays.to_numpy(bound) for bound in (low, high)]
        if (error := _bounds_error_of_arrays(*host)) is not None:
            raise error
    elif traced_checks.is_checking():
        bounds = [arrays.asarray(bound) for bound in (low, high)]
        traced_checks.emit(_bounds_error_of_arrays, arrays.numpy.any(bounds[0] > bounds[1]), *bounds)
    return low, high


def integers(minval: object, maxval: object, dtype: Any) -> tuple[int, int, str]:
    """Return the bounds and the dtype of integer draws.

    Raises:
        DTypeError: the dtype is none of integers.
        ArgumentError: a bound is no integer, there is nothing between them, or the dtype does not hold what is.
    """
    name = registry.current().arrays.canonical_dtype(dtype)
    if "int" not in name:
        raise DTypeError(f'randint(dtype="{name}")', "the draws are integers", 'dtype="int32"')
    low, high = _integer("minval", minval), _integer("maxval", maxval)
    if low >= high:
        raise ArgumentError(
            f"minval={low}, maxval={high}",
            "draws are from minval up and below maxval, and there is no such integer",
            f"maxval={low + 1} for {low} alone",
        )
    limits = np.iinfo(name)
    if low < limits.min or high - 1 > limits.max:
        raise ArgumentError(
            f"minval={low}, maxval={high} of dtype {name}",
            f"it holds {limits.min} to {limits.max}",
            f"bounds from {limits.min} to {int(limits.max) + 1}, or a wider dtype",
        )
    return low, high, name


def scores(logits: ArrayLike, axis: int, shape: Shape | None) -> tuple[Array, int]:
    """Return logits as real numbers, and their axis, if draws of that shape can be made from them.

    Raises:
        ShapeError: there is no such axis, nothing along it, or the shape does not end with that of the other axes.
        DTypeError: they are complex.
    """
    array: Any = registry.current().arrays.asarray(unwrap(logits))
    sizes = tuple(array.shape)
    if isinstance(axis, bool) or not isinstance(axis, Integral) or not -len(sizes) <= axis < len(sizes):
        raise ShapeError(
            f"categorical: axis={axis!r} of logits of shape {sizes}",
            "it is the axis of the classes",
            "axis=-1" if sizes else "logits with an axis of classes",
        )
    place = int(axis) % len(sizes)
    if not sizes[place]:
        raise ShapeError(f"categorical: logits of shape {sizes}", "there is no class to draw", "at least one class")
    batch = (*sizes[:place], *sizes[place + 1 :])
    if shape is not None and (len(shape) < len(batch) or not _can_broadcast(batch, shape)):
        raise ShapeError(
            f"categorical: shape={shape} for logits of shape {sizes}",
            f"the draws of one round have the shape {batch}, and further ones come in front",
            f"shape={(5, *batch)} for 5 of each",
        )
    if array.dtype.kind == "c":
        raise DTypeError(f"categorical: logits of dtype {array.dtype.name}", "logits are real", "ops.real(logits)")
    return (array if is_floating(array.dtype) else array.astype("float32")), int(axis)


def rows(x: object) -> Any:
    """Return how many numbers to shuffle, or an array with rows.

    Raises:
        ArgumentError: a negative number, or one that is no integer.
    """
    instead = "shuffle(4) for 0 to 3, or an array with at least one axis"
    if isinstance(x, Integral) and not isinstance(x, bool):
        if x < 0:
            raise ArgumentError(f"shuffle({x})", "it says how many numbers there are", instead)
        return int(x)
    array = registry.current().arrays.asarray(unwrap(x))
    if not array.ndim:
        raise ArgumentError(f"shuffle({x!r:.40})", "it has no rows to put in another order", instead)
    return array


def _integer(name: str, value: object) -> int:
    plain = unwrap(value)
    arrays = registry.current().arrays
    if getattr(plain, "shape", None) == () and arrays.is_array(plain) and arrays.is_concrete(plain):
        plain = arrays.to_numpy(plain)[()]
    if isinstance(plain, bool) or not isinstance(plain, Integral):
        check_known(name, plain)
        raise ArgumentError(
            f"{name}={value!r:.40}",
            "it is one integer, known when the program is written",
            f"{name}={meant_number(plain, 10)}",
        )
    return int(plain)


def _can_broadcast(parameters: Shape, shape: Shape) -> bool:
    if len(parameters) > len(shape):
        return False
    return all(a in (1, b) for a, b in zip(parameters[::-1], shape[::-1], strict=False))


def _misfit(name: str, kind: Kind, host: object) -> ArgumentError | None:
    bad = np.asarray(host)[~np.asarray(kind.fits(host))]
    if not bad.size:
        return None
    return ArgumentError(f"{name} with the number {bad.flat[0]:.6g}", kind.reason, f"{name}={kind.example}")


def _bounds_error(low: object, high: object) -> ArgumentError:
    return ArgumentError(
        f"minval={low:.6g}, maxval={high:.6g}", "the lower bound comes first", f"minval={high:.6g}, maxval={low:.6g}"
    )


def _bounds_error_of_arrays(low: Any, high: Any) -> ArgumentError | None:
    pairs = np.broadcast_arrays(low, high)
    bad = pairs[0] > pairs[1]
    return _bounds_error(pairs[0][bad].flat[0], pairs[1][bad].flat[0]) if bad.any() else None
