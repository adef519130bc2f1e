"""Shapes with unknown sizes, and nested structures of shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graftax.typedefs import Shape


class ShapeLeaf:
    """A shape as a leaf of a structure: a bare tuple would be a container."""

    def __init__(self, sizes: Shape) -> None:
        self.sizes = tuple(sizes)


def shape_of(leaf: Any) -> Shape | None:
    """The shape of an array or a number; None for anything else."""
    if hasattr(leaf, "shape"):
        return tuple(leaf.shape)
    return () if isinstance(leaf, int | float) else None


def merge(first: ShapeLeaf, second: ShapeLeaf) -> tuple[int | None, ...]:
    """Sizes on which both agree; None where they depend on what was unknown."""
    return tuple(a if a == b else None for a, b in zip(first.sizes, second.sizes, strict=True))


def is_shape(value: Any) -> bool:
    """True for one shape, False for a structure of shapes."""
    return isinstance(value, tuple | list) and all(size is None or isinstance(size, int) for size in value)


def map_shapes(function: Callable[[Any], Any], structure: Any) -> Any:
    """Apply a function to each shape of a structure."""
    if is_shape(structure):
        return function(tuple(structure))
    if isinstance(structure, dict):
        return {key: map_shapes(function, shape) for key, shape in structure.items()}
    return type(structure)(map_shapes(function, shape) for shape in structure)


def filled(structure: Any, size: int) -> Any:
    """The structure with every unknown size replaced."""
    return map_shapes(lambda shape: tuple(size if n is None else n for n in shape), structure)
