"""Shapes with unknown sizes, and nested structures of shapes."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

from graftax.core.errors import ArgumentError, ArgumentTypeError, StateError
from graftax.core.free_sizes import is_free
from graftax.core.typedefs import Shape


class ShapeLeaf:
    """A shape as a leaf of a structure: a bare tuple would be a container."""

    def __init__(self, sizes: Shape) -> None:
        self.sizes = tuple(sizes)


def shape_of(leaf: Any) -> Shape | None:
    """Return the shape of an array or a number; None for anything else."""
    if hasattr(leaf, "shape"):
        return tuple(leaf.shape)
    return () if isinstance(leaf, int | float) else None


def merge(first: ShapeLeaf, second: ShapeLeaf) -> tuple[int | None, ...]:
    """Return sizes on which both agree; None where they depend on what was unknown."""
    return tuple(a if a == b else None for a, b in zip(first.sizes, second.sizes, strict=True))


def check_shapes(method: str, structure: object) -> Any:
    """Return a shape, or a structure of shapes, with Python integers for sizes; None stands for any size.

    Args:
        method: The method that got it, for messages.
        structure: What was given: lists, tuples and dicts.

    Raises:
        ArgumentTypeError: it is something else.
        ArgumentError: a size is below 0.
    """
    if isinstance(structure, dict) and structure:
        return {key: check_shapes(method, shape) for key, shape in structure.items()}
    if not isinstance(structure, list | tuple):
        raise ArgumentTypeError(
            f"{method} got {structure!r:.60}",
            "a shape is a tuple of sizes, with None for any size; of several inputs, a list or dict of shapes",
            f"{method}(x.shape), {method}((None, 8)), or for several inputs {method}([(None, 8), (None, 8)])",
        )
    if any(isinstance(part, list | tuple | dict) for part in structure):
        parts = [check_shapes(method, part) for part in structure]
        return type(structure)(*parts) if hasattr(structure, "_fields") else type(structure)(parts)
    sizes = [size if size is None or isinstance(size, bool) else _size(size) for size in structure]
    if not is_shape(sizes) or any(isinstance(size, bool) for size in sizes):
        raise ArgumentTypeError(
            f"{method} got {structure!r:.60}",
            "sizes of a shape are integers, or None for any size",
            f"{method}((None, 8))",
        )
    if any(size is not None and size < 0 for size in sizes):
        raise ArgumentError(
            f"{method} got {structure!r:.60}", "a size is not below 0; None stands for any size", f"{method}((None, 8))"
        )
    return tuple(sizes) if isinstance(structure, tuple) else sizes


def _size(value: Any) -> Any:
    return index(value) if hasattr(value, "__index__") and not getattr(value, "shape", ()) else value


def is_compatible(first: Any, second: Any) -> bool:
    """Return True if two structures of shapes have the same sizes, as far as they are known, but for the first axis.

    Example:
        >>> (
        ...     is_compatible((32, 8), (None, 8)),
        ...     is_compatible((32, 8), (32, 9)),
        ...     is_compatible((2, 8), (3, 8)),
        ...     is_compatible((2,), (3,)),
        ... )
        (True, False, True, False)
    """
    if first is None or second is None:
        return first is second
    if is_shape(first) and is_shape(second):
        pairs = list(zip(first, second, strict=False))[1 if len(first) > 1 else 0 :]
        return len(first) == len(second) and all(a == b for a, b in pairs if a is not None and b is not None)
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(is_compatible(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple) and isinstance(second, list | tuple) and len(first) == len(second):
        return all(is_compatible(a, b) for a, b in zip(first, second, strict=True))
    return False


def require_compatible(title: str, kind: type[object], built_for: object, input_shape: object) -> None:
    """Raise if a built layer is to be built for another shape; the size of the batch may be another one.

    Args:
        title: The layer.
        kind: Its class.
        built_for: The shape, or structure of shapes, that it was built for.
        input_shape: The one that it is to be built for.

    Raises:
        StateError: they differ.
    """
    if not is_compatible(built_for, input_shape):
        raise StateError(
            f"{title}.build({input_shape!r:.80}), and it is built for {built_for!r:.80}",
            "new weights in place of those that it has would be unknown to optimizers, and what was learnt would be "
            "lost",
            f"a new {kind.__name__} for another shape; leave the build out where the layer takes such inputs, too",
        )


def is_shape(value: object) -> bool:
    """Return True for one shape, False for a structure of shapes."""
    return isinstance(value, tuple | list) and all(
        size is None or isinstance(size, int) or is_free(size) for size in value
    )


def map_shapes(function: Callable[[Any], Any], structure: Any) -> Any:
    """Apply a function to each shape of a structure."""
    if is_shape(structure):
        return function(tuple(structure))
    if isinstance(structure, dict):
        return {key: map_shapes(function, shape) for key, shape in structure.items()}
    return type(structure)(map_shapes(function, shape) for shape in structure)


def fill_unknown(structure: object, size: int) -> Any:
    """Return the structure with every unknown size replaced."""
    return map_shapes(lambda shape: tuple(size if n is None else n for n in shape), structure)
