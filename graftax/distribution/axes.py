"""The axes of a mesh that split each dimension of an array: parsing and checking what users write."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from graftax.backend.meshes import Axes, Mesh
from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.typedefs import Shape


def names_in(axes: Sequence[Any]) -> Iterator[str]:
    """Yield the names of axes, in order.

    Example:
        >>> list(names_in((None, ("data", "model"))))
        ['data', 'model']
    """
    for entry in axes:
        if entry is not None:
            yield from (entry,) if isinstance(entry, str) else entry


def size_of(mesh: Mesh, entry: str | tuple[str, ...] | None) -> int:
    """Return the number of parts into which one dimension is split."""
    return math.prod(mesh.shape[name] for name in names_in((entry,)))


def parts(mesh: Mesh, axes: Axes) -> int:
    """Return the number of parts into which an array is split."""
    return math.prod(size_of(mesh, entry) for entry in axes)


def check_axes(axes: object, mesh: Mesh, label: str) -> Axes:
    """Return the axes of each dimension, after a check that the mesh has them and that none occurs twice.

    Raises:
        ArgumentTypeError: it is not a tuple of names, tuples of names, and None.
        ArgumentError: the mesh has no axis of that name, or an axis occurs twice.
    """
    if not isinstance(axes, tuple | list) or not all(map(_is_entry, axes)):
        raise ArgumentTypeError(
            f"{label}: axes {axes!r:.80}",
            "there is one entry for each dimension: the name of an axis, a tuple of names, or None",
            '(None, "model")',
        )
    found = tuple(tuple(entry) if isinstance(entry, list) else entry for entry in axes)
    names = list(names_in(found))
    known = list(mesh.shape)
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1, cutoff=0.3) or known
            raise ArgumentError(f"{label}: axes {found}", f"the mesh has the axes {', '.join(known)}", f"{near[0]!r}")
        if names.count(name) > 1:
            raise ArgumentError(
                f"{label}: axes {found}",
                f"{name!r} splits two dimensions, and a device is at one place of each axis",
                "each axis once",
            )
    return found


def _is_entry(entry: object) -> bool:
    if isinstance(entry, tuple | list):
        return bool(entry) and all(isinstance(name, str) for name in entry)
    return entry is None or isinstance(entry, str)


def misfit(axes: Axes, shape: Shape, mesh: Mesh) -> tuple[str, str] | None:
    """Return why axes do not fit a shape, and what to write instead; None if they fit."""
    if len(axes) != len(shape):
        right = (*axes[: len(shape)], *(None,) * (len(shape) - len(axes)))
        return f"{len(axes)} entries for {len(shape)} dimensions: there is one for each", f"{right}"
    for place, (size, entry) in enumerate(zip(shape, axes, strict=True)):
        if size % (count := size_of(mesh, entry)):
            near = [n for n in (size // count * count, -(-size // count) * count) if n]
            sizes = " or ".join(str(n) for n in dict.fromkeys(near))
            return (
                f"{size}, the size of dimension {place}, is not divisible by {count}, the devices of {entry!r}",
                f"a size of {sizes}, or None for that dimension",
            )
    return None
