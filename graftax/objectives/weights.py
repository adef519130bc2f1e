"""Weights of classes and of places on an axis: checked, and brought to where they count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graftax import ops
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.hyperparameters import is_number
from graftax.core.typedefs import Array


def one_or_more(name: str, value: Any) -> float | tuple[float, ...] | None:
    """Return a weight, or a tuple of them; None for none.

    Raises:
        ArgumentError: one is negative, not finite, or no number.
    """
    if value is None:
        return None
    several = not is_number(value) and hasattr(value, "__iter__") and not isinstance(value, (str, dict))
    found: list[Any] = [*value] if several else [value]
    if not found or not all(is_number(one) and 0 <= one < math.inf for one in found):
        raise ArgumentError(
            f"{name}={value!r}",
            "weights are finite numbers from 0 up",
            f"{name}=[1.0, 2.0]" if several else f"{name}=2.0",
        )
    return tuple(map(float, found)) if several else float(found[0])


def of_classes(value: object, name: str = "class_weight") -> tuple[float, ...] | None:
    """Return the weights of classes as a tuple; None for none.

    Raises:
        ArgumentError: they are no sequence of finite numbers from 0 up.
    """
    if isinstance(value, dict):
        raise ArgumentError(
            f"{name}={value!r}",
            "a loss takes a number for each class, in their order",
            f"{name}=[{', '.join(str(value.get(i, 1.0)) for i in range(max(value, default=0) + 1))}]"
            if all(isinstance(one, int) and 0 <= one < _FEW for one in value)
            else f"{name}=[1.0, 2.0]",
        )
    if value is None:
        return None
    if isinstance(value, int | float | str) or getattr(value, "ndim", 1) == 0:
        raise ArgumentError(f"{name}={value!r}", "it is a number for each class", f"{name}=[1.0, 2.0]")
    found = one_or_more(name, value)
    return found if isinstance(found, tuple) else None


_FEW = 50


def check_count(name: str, weight: Sequence[float], size: int) -> None:
    """Raise unless there is a weight for each place on an axis.

    Raises:
        ShapeError: there are more, or fewer.
    """
    if len(weight) != size:
        raise ShapeError(
            f"{name} with {len(weight)} numbers, predictions of {size}",
            "there is one weight for each class",
            f"{name}={[1.0] * min(size, _FEW)}",
        )


def multiply_along(name: str, weight: float | Sequence[float] | None, values: Array, axis: int) -> Array:
    """Return values times a number, or times one for each place on an axis; as they are for None.

    Raises:
        ShapeError: there are not as many weights as places.
    """
    if weight is None:
        return values
    if is_number(weight):
        return values * weight
    assert isinstance(weight, Sequence)
    check_count(name, weight, values.shape[axis])
    shape = [1] * values.ndim
    shape[axis] = len(weight)
    return values * ops.reshape(ops.asarray(weight, values.dtype.name), shape)
