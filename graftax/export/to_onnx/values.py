"""What an equation gets: arrays that are known when the file is written, and values that a node computes.

A value may have 1 where the program has a larger size: it is broadcast when an operation needs it whole, which most do
not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from graftax.export.to_onnx.messages import Numbers

Sizes: TypeAlias = Sequence[Any]
"""Integers, and sizes that are known at the call."""


@dataclass(frozen=True)
class Known:
    """An array, perhaps with 1 where the program has a larger size."""

    array: Numbers

    @property
    def shape(self) -> tuple[Any, ...]:
        """Return its own sizes."""
        return tuple(self.array.shape)

    @property
    def dtype(self) -> str:
        """Return the name of its dtype."""
        return str(self.array.dtype)


@dataclass(frozen=True)
class Computed:
    """The result of a node, or an input of the file."""

    name: str
    shape: tuple[Any, ...]
    """Its own sizes; 1 where it is still to be broadcast."""


Operand: TypeAlias = Known | Computed


def is_fixed(size: object) -> bool:
    """Tell whether a size is a number."""
    return isinstance(size, int | np.integer)


def are_fixed(sizes: Sizes) -> bool:
    """Tell whether all are numbers."""
    return all(map(is_fixed, sizes))


def is_same(one: object, other: object) -> bool:
    """Tell whether two sizes are the same, whatever the free ones are."""
    return (int(one) == int(other)) if is_fixed(one) and is_fixed(other) else str(one) == str(other)  # type: ignore[call-overload]


def are_same(one: Sizes, other: Sizes) -> bool:
    """Tell whether two shapes are the same."""
    return len(one) == len(other) and all(map(is_same, one, other))


def broadcast(shapes: Sequence[Sizes], full: Sizes) -> tuple[Any, ...]:
    """Return what the nodes make of these shapes: the full sizes, but 1 where all have 1."""
    out = []
    for i, size in enumerate(full):
        there = [shape[i - len(full) + len(shape)] for shape in shapes if i - len(full) + len(shape) >= 0]
        out.append(1 if all(is_fixed(one) and one == 1 for one in there) else size)
    return tuple(out)
