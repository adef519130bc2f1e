"""What the parts of a program must agree in: structures, shapes, dtypes, numbers of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graftax.backend import registry
from graftax.core.errors import ArgumentError, DTypeError, ShapeError
from graftax.core.typedefs import DTypeLike
from graftax.transforms.lifting.outline import Outline

_KINDS = ("bool", "uint", "int", "float", "bfloat", "complex")


def kind(dtype: DTypeLike) -> int:
    """Return the place of a dtype among truth values, integers, real and complex numbers."""
    name = str(dtype)
    return min(3, i) if (i := next(i for i, k in enumerate(_KINDS) if name.startswith(k))) == 4 else i


def common_dtypes(name: str, labels: Sequence[str], outlines: Sequence[Outline], root: str) -> list[str]:
    """Return the dtypes that all outlines can have: Python numbers give way, everything else must agree.

    Args:
        name: What asks, for messages.
        labels: What each outline is that of, for messages.
        outlines: The outlines.
        root: What their leaves are called, for messages.

    Raises:
        ArgumentError: the structures differ.
        ShapeError: shapes differ.
        DTypeError: dtypes differ.
    """
    first = outlines[0]
    for label, other in zip(labels[1:], outlines[1:], strict=True):
        if other.structure != first.structure:
            ours, theirs = first.paths(root), other.paths(root)
            alone = [path for path in ours if path not in theirs], [path for path in theirs if path not in ours]
            raise ArgumentError(
                f"{name}: {labels[0]} has the leaves {ours}, {label} has {theirs}",
                f"the structures must be the same; only the one has {alone[0]}, only the other {alone[1]}"
                if any(alone)
                else "the structures must be the same, down to lists, tuples and dicts",
                "the same nesting, keys and number of leaves",
            )
    return [
        _dtype_of(name, path, labels, leaves)
        for path, *leaves in zip(first.paths(root), *(o.leaves for o in outlines), strict=True)
    ]


def _dtype_of(name: str, path: str, labels: Sequence[str], leaves: Sequence[Any]) -> str:
    is_weak = registry.current().arrays.is_weak
    strong = [str(leaf.dtype) for leaf in leaves if not is_weak(leaf)] or [
        str(max(leaves, key=lambda leaf: kind(leaf.dtype)).dtype)
    ]
    for label, leaf in zip(labels, leaves, strict=True):
        if tuple(leaf.shape) != tuple(leaves[0].shape):
            raise ShapeError(
                f"{name}: {path!r} has shape {tuple(leaves[0].shape)} in {labels[0]}, {tuple(leaf.shape)} in {label}",
                "a compiled program has one shape for each value",
                "ops.reshape, ops.broadcast_to, or a start of the shape that comes out",
            )
        fits = kind(leaf.dtype) <= kind(strong[0]) if is_weak(leaf) else str(leaf.dtype) == strong[0]
        if not fits:
            kinds = " and ".join(f"{one.dtype} in {where}" for one, where in zip(leaves, labels, strict=True))
            raise DTypeError(
                f"{name}: {path!r} is {kinds}",
                "a compiled program has one dtype for each value, and none is converted silently",
                f'ops.cast(x, "{strong[0]}")',
            )
    return strong[0]


def as_dtypes(leaves: Sequence[Any], dtypes: Sequence[str]) -> list[Any]:
    """Return the arrays in these dtypes, none of them weak."""
    is_weak = registry.current().arrays.is_weak
    # of other things than numbers, such as the keys of the library below, there is one dtype alone
    return [
        leaf.astype(dtype) if is_weak(leaf) or str(leaf.dtype) != dtype else leaf
        for leaf, dtype in zip(leaves, dtypes, strict=True)
    ]


def common_length(name: str, paths: Sequence[str], leaves: Sequence[Any]) -> int:
    """Return the size of the first axes of all arrays.

    Args:
        name: What asks, for messages.
        paths: What the arrays are called.
        leaves: The arrays.

    Raises:
        ShapeError: an array has no axis, or the sizes differ.
    """
    known: tuple[str, int] | None = None
    for path, leaf in zip(paths, leaves, strict=True):
        if not leaf.shape:
            raise ShapeError(
                f"{name}: {path!r} is a scalar",
                "it runs over the first axis, and a scalar has none",
                "an array of rows",
            )
        size = leaf.shape[0]
        if known is None:
            known = path, size
        elif size != known[1]:
            raise ShapeError(
                f"{name}: {known[0]!r} has {known[1]} rows, {path!r} has {size}",
                "all need the same number of rows on their first axis",
                "arrays with the same number of rows; a constant in a closure",
            )
    if known is None:
        raise ArgumentError(f"{name} got no array", "there is nothing to run over", "an array of rows")
    return known[1]
