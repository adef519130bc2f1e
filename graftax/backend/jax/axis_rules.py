"""What becomes of single axes in the operations of JAX: where a position of the input is one of the output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Axes: TypeAlias = tuple[int | None, ...]
"""For each axis of an array, the number of the axis that it is in another one; None for none of these."""
Sizes: TypeAlias = tuple[int, ...]


def carry_axes(name: str, params: dict[str, Any], place: int, axes: Axes, given: Sizes, result: Sizes) -> Axes:
    """Return the axes of a result.

    Args:
        name: The operation.
        params: Its parameters.
        place: Which of its operands has these axes.
        axes: Those of the operand.
        given: The sizes of the operand.
        result: The sizes of the result.
    """
    if name.startswith(("reduce_", "arg")) and "axes" in params and len(given) == len(result) + len(params["axes"]):
        return _without(axes, params["axes"])
    rule = _RULES.get(name)
    return _keep(axes, given, result) if rule is None else rule(params, place, axes, given, result)


def _keep(axes: Axes, given: Sizes, result: Sizes) -> Axes:
    """Return the axes of an operation that computes position by position, where the sizes say so."""
    if len(given) != len(result):
        return (None,) * len(result)
    return tuple(axis if old == new else None for axis, old, new in zip(axes, given, result, strict=True))


def _without(axes: Axes, gone: Any) -> Axes:
    return tuple(axis for i, axis in enumerate(axes) if i not in gone)


def _squeeze(params: dict[str, Any], place: int, axes: Axes, given: Sizes, result: Sizes) -> Axes:
    return _without(axes, params["dimensions"])


def _transpose(params: dict[str, Any], place: int, axes: Axes, given: Sizes, result: Sizes) -> Axes:
    return tuple(axes[i] for i in params["permutation"])


def _broadcast(params: dict[str, Any], place: int, axes: Axes, given: Sizes, result: Sizes) -> Axes:
    out: list[int | None] = [None] * len(result)
    if place == 0:
        for i, j in enumerate(params["broadcast_dimensions"]):
            out[j] = axes[i] if given[i] == result[j] else None
    return tuple(out)


def _reshape(params: dict[str, Any], place: int, axes: Axes, given: Sizes, result: Sizes) -> Axes:
    """Return the axes that are whole on both sides: as many elements come before them, and their sizes are equal."""
    out: list[int | None] = [None] * len(result)
    starts: dict[tuple[int, int], int] = {}
    before = 1
    for i, size in enumerate(given):
        if axes[i] is not None:
            starts[before, size] = i
        before *= size
    before = 1
    for j, size in enumerate(result):
        i = starts.pop((before, size), -1)
        out[j] = axes[i] if i >= 0 else None
        before *= size
    return tuple(out)


def _concatenate(params: dict[str, Any], place: int, axes: Axes, given: Sizes, result: Sizes) -> Axes:
    joined = params["dimension"]
    kept = tuple(None if i == joined and given[i] != result[i] else axis for i, axis in enumerate(axes))
    return _keep(kept, given, result)


def _stack(params: dict[str, Any], place: int, axes: Axes, given: Sizes, result: Sizes) -> Axes:
    return (*axes[: params["axis"]], None, *axes[params["axis"] :])


def _unstack(params: dict[str, Any], place: int, axes: Axes, given: Sizes, result: Sizes) -> Axes:
    return _without(axes, (params["axis"],))


def _dot(params: dict[str, Any], place: int, axes: Axes, given: Sizes, result: Sizes) -> Axes:
    contracted, batch = (one[place] for one in params["dimension_numbers"])
    own = [axis for i, axis in enumerate(axes) if i not in contracted and i not in batch]
    shared = [axes[i] for i in batch]
    rest: list[int | None] = [None] * (len(result) - len(shared) - len(own))
    return (*shared, *own, *rest) if place == 0 else (*shared, *rest, *own)


def _convolve(params: dict[str, Any], place: int, axes: Axes, given: Sizes, result: Sizes) -> Axes:
    numbers = params["dimension_numbers"]
    out: list[int | None] = [None] * len(result)
    if place == 0:
        for number, (i, j) in enumerate(zip(numbers.lhs_spec, numbers.out_spec, strict=True)):
            if number != 1:  # the features
                out[j] = axes[i] if given[i] == result[j] else None
    return tuple(out)


def _gather(params: dict[str, Any], place: int, axes: Axes, given: Sizes, result: Sizes) -> Axes:
    numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
    out: list[int | None] = [None] * len(result)
    rows = [j for j in range(len(result)) if j not in numbers.offset_dims]
    of_operand = tuple(numbers.operand_batching_dims)
    of_indices = tuple(numbers.start_indices_batching_dims)
    if place == 0:
        whole = [i for i in range(len(given)) if i not in (*numbers.collapsed_slice_dims, *of_operand)]
        for i, j in zip(whole, numbers.offset_dims, strict=True):
            out[j] = axes[i] if sizes[i] == given[i] else None
        for i, k in zip(of_operand, of_indices, strict=True):
            out[rows[k]] = axes[i]
    else:
        for k, j in enumerate(rows):
            out[j] = axes[k]
    return tuple(out)


def _update(params: dict[str, Any], place: int, axes: Axes, given: Sizes, result: Sizes) -> Axes:
    return _keep(axes, given, result) if place < 2 else (None,) * len(result)


def _first(params: dict[str, Any], place: int, axes: Axes, given: Sizes, result: Sizes) -> Axes:
    return _keep(axes, given, result) if place == 0 else (None,) * len(result)


_RULES: dict[str, Callable[[dict[str, Any], int, Axes, Sizes, Sizes], Axes]] = {
    "squeeze": _squeeze,
    "transpose": _transpose,
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "concatenate": _concatenate,
    "stack": _stack,
    "unstack": _unstack,
    "dot_general": _dot,
    "conv_general_dilated": _convolve,
    "gather": _gather,
    "dynamic_slice": _first,
    "dynamic_update_slice": _update,
    **dict.fromkeys(("scatter", "scatter-add", "scatter_add", "scatter_mul", "scatter_min", "scatter_max"), _first),
}
