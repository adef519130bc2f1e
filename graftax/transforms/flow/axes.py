"""Which axis of each array a map runs along: `in_axes` and `out_axes`, said for all, by argument, or by leaf."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from graftax.backend import registry
from graftax.core.errors import ArgumentError, ArgumentTypeError, ShapeError
from graftax.core.typedefs import Array

Axes: TypeAlias = "int | Sequence[Any] | Mapping[Any, Any] | None"


def by_argument(axes: Axes, count: int) -> list[Any]:
    """Return what ``in_axes`` says of each argument.

    Raises:
        ArgumentTypeError: it is a dict, and so says nothing of arguments.
        ArgumentError: it says something of more or fewer arguments than there are.
    """
    if isinstance(axes, Mapping):
        raise ArgumentTypeError(
            f"vectorized_map got in_axes={axes!r:.100}",
            "it has an entry for each argument",
            "in_axes=({...},)",
        )
    if not isinstance(axes, list | tuple):
        return [axes] * count
    if len(axes) != count:
        raise ArgumentError(
            f"vectorized_map got in_axes={axes!r:.100} for {count} argument{'s' if count > 1 else ''}",
            "it has an entry for each argument: an axis, None, or a structure of these",
            f"in_axes=({', '.join(['0'] * count)}{',' if count == 1 else ''})",
        )
    return list(axes)


def argument_names(fn: Callable[..., Any], count: int) -> list[str]:
    """Return what the arguments are called in messages."""
    if count == 1:
        return ["elems"]
    try:
        named = [p.name for p in inspect.signature(fn).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    except (TypeError, ValueError):
        named = []
    return named[:count] if len(named) >= count else [f"argument {i}" for i in range(count)]


def axes_of_leaves(argument: str, axes: object, value: object, path: str) -> list[int | None]:
    """Return the axis of each leaf of a structure, in order; what is said of a part holds for all in it.

    Raises:
        ArgumentError: the structure is another one.
        ArgumentTypeError: there is something else than an integer or None.
    """
    transforms = registry.current().tracing
    if axes is None or (isinstance(axes, int) and not isinstance(axes, bool)):
        return [axes] * len(transforms.flatten(value)[0])
    if isinstance(axes, Mapping):
        if not isinstance(value, Mapping) or set(axes) != set(value):
            raise _unlike(argument, axes, value, path)
        parts = [(axes[key], below, f"{path}[{key!r}]") for key, below in value.items()]
    elif isinstance(axes, list | tuple):
        if not isinstance(value, list | tuple) or len(axes) != len(value):
            raise _unlike(argument, axes, value, path)
        parts = [(one, below, f"{path}[{i}]") for i, (one, below) in enumerate(zip(axes, value, strict=True))]
    else:
        raise ArgumentTypeError(
            f"vectorized_map got {argument}={axes!r:.60} for {path!r}", "an axis is an integer", f"{argument}=0"
        )
    return [axis for part in parts for axis in axes_of_leaves(argument, *part)]


def _unlike(argument: str, axes: object, value: object, path: str) -> ArgumentError:
    has = sorted(map(str, value)) if isinstance(value, Mapping) else f"a {type(value).__name__}"
    size = f" of {len(value)}" if isinstance(value, list | tuple) else ""
    return ArgumentError(
        f"vectorized_map got {argument}={axes!r:.100} for {path!r}, which is {has}{size}",
        "it has the structure of what it is said of, or of its upper part",
        f"{argument}=0, for all of it",
    )


def rows_first(paths: Sequence[str], leaves: Sequence[Array], axes: Sequence[int | None]) -> tuple[list[Array], int]:
    """Return the arrays with the axis along which they are mapped first, and its size; a size of 1 goes with any.

    Raises:
        ShapeError: an array has no such axis, or the sizes differ.
        ArgumentError: no array is mapped.
    """
    moved: list[Array] = []
    known: tuple[str, int, str] | None = None
    for path, leaf, axis in zip(paths, leaves, axes, strict=True):
        if axis is None:
            moved.append(leaf)
            continue
        moved.append(_move_to_front(path, leaf, axis))
        size, where = moved[-1].shape[0], "" if axis == 0 else f" along axis {axis} of its shape {tuple(leaf.shape)}"
        if known is None or known[1] == 1:
            known = path, size, where
        elif size not in (1, known[1]):
            raise ShapeError(
                f"vectorized_map: {known[0]!r} has {known[1]} rows{known[2]}, {path!r} has {size}{where}",
                "all need the same number of rows on their first axis, or one row"
                if not known[2] + where
                else "all arrays that are mapped have as many rows, or one",
                "arrays with the same number of rows; a constant in a closure, or with None in in_axes",
            )
    if known is None:
        raise ArgumentError("vectorized_map got no array", "there is nothing to run over", "an array of rows")
    return moved, known[1]


def _move_to_front(path: str, leaf: Array, axis: int) -> Array:
    if not leaf.shape:
        raise ShapeError(
            f"vectorized_map: {path!r} is a scalar",
            "it runs over the first axis, and a scalar has none",
            "an array of rows; None in in_axes for what is the same in each; chunk_size=64, by its name",
        )
    _check_axis("in_axes", axis, leaf, path)
    return leaf if axis == 0 else registry.current().arrays.numpy.moveaxis(leaf, axis, 0)


def move_rows(result: Array, axis: int | None, path: str) -> Array:
    """Return a stacked result with its rows along that axis.

    Raises:
        ShapeError: it has no such axis.
        ArgumentError: the axis is None.
    """
    if axis is None:
        raise ArgumentError(
            f"vectorized_map got out_axes=None for {path!r}",
            "each row has a result, and which one is meant cannot be told",
            "out_axes=0, and the first row of what comes back",
        )
    _check_axis("out_axes", axis, result, path, " with its rows")
    return result if axis == 0 else registry.current().arrays.numpy.moveaxis(result, 0, axis)


def _check_axis(argument: str, axis: int, array: Array, path: str, shown: str = "") -> None:
    if not -array.ndim <= axis < array.ndim:
        raise ShapeError(
            f"vectorized_map: {argument} has axis {axis} for {path!r} of shape {tuple(array.shape)}{shown}",
            f"its axes are 0 to {array.ndim - 1}, or -{array.ndim} to -1",
            f"{argument}=0",
        )
