"""Checks that layers share: of their settings, and of the shapes that come."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from graftax.errors import ArgumentError, ArgumentTypeError, ShapeError
from graftax.layers import shapes
from graftax.typedefs import Array, Shape


def positive(name: str, value: int, example: int = 8) -> int:
    """The value, if it is an integer above 0; ``example`` is one that will do."""
    if (number := _integer(value)) < 1:
        raise ArgumentError(f"{name}={value!r}", f"{name} is an integer above 0", f"{name}={example}")
    return number


def _integer(value: Any) -> int:
    """A Python or NumPy integer as a Python one; 0 for anything else."""
    return index(value) if hasattr(value, "__index__") and not isinstance(value, bool) else 0


def for_each_axis(name: str, value: int | Sequence[int], space: int) -> Shape:
    """An integer above 0 for each axis of space; one integer stands for all."""
    numbers = tuple(_integer(n) for n in value) if isinstance(value, Sequence) else (_integer(value),) * space
    if len(numbers) != space or min(numbers) < 1:
        raise ArgumentError(
            f"{name}={value!r}",
            f"an integer above 0 is needed for each of {space} axes of space, or one for all",
            f"{name}=2" if space == 1 else f"{name}=2, or {name}={(2,) * space}",
        )
    return numbers


def one_of(name: str, value: str, choices: Sequence[str]) -> str:
    """The value, if it is one of the choices."""
    if value not in choices:
        raise ArgumentError(f"{name}={value!r}", f"there is no such {name}", " or ".join(f'"{c}"' for c in choices))
    return value


def within(name: str, value: float, low: float, high: float) -> float:
    """The value, if it is a number in ``[low, high]``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        middle = (low + high) / 2 if high < float("inf") else low + 1
        raise ArgumentError(f"{name}={value!r}", f"{name} is a number from {low} to {high}", f"{name}={middle}")
    return value


def single_shape(input_shape: Any, least: int, most: int | None = None) -> Shape:
    """The shape of the one input, if it has as many axes as the layer needs."""
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


def check_last_axis(x: Array, size: int) -> None:
    """Raise if the last axis is not what the weights were made for."""
    if not hasattr(x, "ndim"):
        raise _no_array()
    if not x.ndim or x.shape[-1] != size:
        raise ShapeError(
            f"an input of shape {tuple(x.shape)}, whose last axis is {x.shape[-1] if x.ndim else 'missing'}",
            f"the weights were made for {size}, at the first call",
            f"an input of shape {(*x.shape[:-1], size)}, or a new layer for the other size",
        )


def _no_array() -> ArgumentTypeError:
    return ArgumentTypeError(
        "something else in place of an array",
        "this layer takes one array of numbers",
        "layer(x); what gives None is often a function or a call without a return",
    )
