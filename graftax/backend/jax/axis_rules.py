"""What becomes of single axes in the operations of JAX: where a position of the input is one of the output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

Axis: TypeAlias = tuple[tuple[int | None, int], ...]
"""The axes of another array that one axis is made of, each with its size; None stands for none of these.

There are several where a reshape has made one axis of them.
"""
Axes: TypeAlias = tuple[Axis, ...]
Sizes: TypeAlias = tuple[int, ...]
_Rule: TypeAlias = Callable[[dict[str, Any], int, Axes, Sizes], Axes]


def first_axes(sizes: Sizes, count: int) -> Axes:
    """Return the axes of an array of which the first ones count."""
    return tuple(((i if i < count else None, size),) for i, size in enumerate(sizes))


def strange(size: int) -> Axis:
    """Return an axis that has nothing of the other array."""
    return ((None, size),)


def has_any(axes: Iterable[Axis]) -> int:
    """Return how many axes of the other array are there."""
    return sum(number is not None for axis in axes for number, _ in axis)


def carry_axes(name: str, params: dict[str, Any], place: int, axes: Axes, result: Sizes) -> Axes:
    """Return the axes of a result.

    Args:
        name: The operation.
        params: Its parameters.
        place: Which of its operands has these axes.
        axes: Those of the operand.
        result: The sizes of the result.
    """
    if name.startswith(("reduce_", "arg")) and "axes" in params and len(axes) == len(result) + len(params["axes"]):
        return _without(axes, params["axes"])
    return _RULES.get(name, _keep)(params, place, axes, result)


def _size(axis: Axis) -> int:
    size = 1
    for _, one in axis:
        size *= one
    return size


def _none(result: Sizes) -> list[Axis]:
    return [strange(size) for size in result]


def _same(axis: Axis, size: int) -> Axis:
    return axis if _size(axis) == size else strange(size)


def _keep(params: dict[str, Any], place: int, axes: Axes, result: Sizes) -> Axes:
    """Return the axes of an operation that computes position by position, where the sizes say so."""
    if len(axes) != len(result):
        return tuple(_none(result))
    return tuple(_same(axis, size) for axis, size in zip(axes, result, strict=True))


def _without(axes: Axes, gone: Sequence[int]) -> Axes:
    return tuple(axis for i, axis in enumerate(axes) if i not in gone)


def _squeeze(params: dict[str, Any], place: int, axes: Axes, result: Sizes) -> Axes:
    return _without(axes, params["dimensions"])


def _transpose(params: dict[str, Any], place: int, axes: Axes, result: Sizes) -> Axes:
    return tuple(axes[i] for i in params["permutation"])


def _broadcast(params: dict[str, Any], place: int, axes: Axes, result: Sizes) -> Axes:
    out = _none(result)
    if place == 0:
        for axis, j in zip(axes, params["broadcast_dimensions"], strict=True):
            out[j] = _same(axis, result[j])
    return tuple(out)


def _reshape(params: dict[str, Any], place: int, axes: Axes, result: Sizes) -> Axes:
    """Return the axes where whole ones are joined, or taken apart again."""
    waiting = [part for axis in axes for part in axis if part != (None, 1)][::-1]
    out = []
    for size in result:
        found, reached = [], 1
        if size == 1 and waiting and waiting[-1][1] == 1:
            found.append(waiting.pop())
        while reached < size and waiting:
            number, one = waiting.pop()
            missing = size // reached
            if one > missing:  # the axis is cut in pieces
                number = None
                waiting.append((None, -(-one // missing)))
                one = missing
            found.append((number, one))
            reached *= one
        out.append(tuple(found) if found and reached == size else strange(size))
    return tuple(out)


def _stack(params: dict[str, Any], place: int, axes: Axes, result: Sizes) -> Axes:
    axis = params["axis"]
    return (*axes[:axis], strange(result[axis]), *axes[axis:])


def _unstack(params: dict[str, Any], place: int, axes: Axes, result: Sizes) -> Axes:
    return _without(axes, (params["axis"],))


def _dot(params: dict[str, Any], place: int, axes: Axes, result: Sizes) -> Axes:
    (left, right), (shared_left, shared_right) = params["dimension_numbers"]
    contracted, batch = ((left, shared_left), (right, shared_right))[place]
    own = [axis for i, axis in enumerate(axes) if i not in contracted and i not in batch]
    shared = [axes[i] for i in batch]
    others = len(result) - len(shared) - len(own)
    start = len(shared) + (0 if place == 0 else others)
    out = _none(result)
    out[: len(shared)] = shared
    out[start : start + len(own)] = own
    return tuple(out)


def _convolve(params: dict[str, Any], place: int, axes: Axes, result: Sizes) -> Axes:
    numbers = params["dimension_numbers"]
    out = _none(result)
    if place == 0:
        for number, (i, j) in enumerate(zip(numbers.lhs_spec, numbers.out_spec, strict=True)):
            if number != 1:  # the features
                out[j] = _same(axes[i], result[j])
    return tuple(out)


def _gather(params: dict[str, Any], place: int, axes: Axes, result: Sizes) -> Axes:
    numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
    out = _none(result)
    rows = [j for j in range(len(result)) if j not in numbers.offset_dims]
    if place > 0:
        for axis, j in zip(axes, rows, strict=False):
            out[j] = axis
        return tuple(out)
    together = tuple(numbers.operand_batching_dims)
    whole = [i for i in range(len(axes)) if i not in (*numbers.collapsed_slice_dims, *together)]
    for i, j in zip(whole, numbers.offset_dims, strict=True):
        out[j] = _same(axes[i], sizes[i])
    for i, k in zip(together, numbers.start_indices_batching_dims, strict=True):
        out[rows[k]] = axes[i]
    return tuple(out)


def _first(params: dict[str, Any], place: int, axes: Axes, result: Sizes) -> Axes:
    return _keep(params, place, axes, result) if place == 0 else tuple(_none(result))


def _first_two(params: dict[str, Any], place: int, axes: Axes, result: Sizes) -> Axes:
    return _keep(params, place, axes, result) if place < 2 else tuple(_none(result))


_RULES: dict[str, _Rule] = {
    "squeeze": _squeeze,
    "transpose": _transpose,
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "stack": _stack,
    "unstack": _unstack,
    "dot_general": _dot,
    "conv_general_dilated": _convolve,
    "gather": _gather,
    "dynamic_slice": _first,
    "dynamic_update_slice": _first_two,
    **dict.fromkeys(("scatter", "scatter-add", "scatter_add", "scatter_mul", "scatter_min", "scatter_max"), _first),
}
