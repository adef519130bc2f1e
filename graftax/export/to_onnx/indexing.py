"""Elements and rows at indices that are known at the call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graftax.export.to_onnx import blocks
from graftax.export.to_onnx.sizes import size_of
from graftax.export.to_onnx.step import Step, reshape, rule, squeeze, transpose
from graftax.export.to_onnx.unwritable import Unwritable
from graftax.export.to_onnx.values import Operand, is_fixed, is_same

_WINDOWS = "it reads blocks of several elements at several places, and ONNX has no operator for this"
_ROWS = "ops.take, one index for each element or row"


@rule("gather")
def gather(step: Step) -> Operand:
    """Write what lies at indices: rows, elements along an axis, or one block."""
    sizes, have = step.parameters["slice_sizes"], step.inputs[0].shape
    numbers = step.parameters["dimension_numbers"]
    indexed = [int(axis) for axis in numbers.start_index_map]
    batching = [int(axis) for axis in numbers.operand_batching_dims]
    others = [axis for axis in range(len(have)) if axis not in indexed and axis not in batching]
    one_each = all(is_fixed(sizes[axis]) and sizes[axis] == 1 for axis in indexed)
    if one_each and all(is_same(sizes[axis], have[axis]) for axis in others):
        return step.result(_rows(step, numbers, indexed, batching, others))
    if len(step.inputs[1].shape) == 1 and not batching:
        return step.result(_block(step, numbers, indexed))
    raise Unwritable(_WINDOWS, _ROWS)


def _block(step: Step, numbers: Any, indexed: Sequence[int]) -> str:
    """Return ``x[:, a:b]``, whose start is an array."""
    graph, have, want = step.graph, step.inputs[0].shape, step.parameters["slice_sizes"]
    at: list[blocks.Start] = [0] * len(have)
    known = step.known_operand(1)
    for k, axis in enumerate(indexed):
        if known is not None and is_fixed(have[axis]):
            at[axis] = max(0, min(int(known[k]), int(have[axis]) - int(want[axis])))
        else:
            at[axis] = blocks.clip_start(
                graph, blocks.parts(graph, step.full_operand(1), len(indexed))[k], have[axis], want[axis]
            )
    return blocks.drop_axes(
        graph, blocks.read(graph, step.full_operand(), at, have, want), numbers.collapsed_slice_dims
    )


def _rows(step: Step, numbers: Any, indexed: Sequence[int], batching: Sequence[int], others: Sequence[int]) -> str:
    have = step.inputs[0].shape
    collapsed = {int(axis) for axis in numbers.collapsed_slice_dims}
    plain = len(indexed) == 1 and collapsed == set(indexed)
    rank = len(step.inputs[1].shape) - 1
    if plain and not batching:
        axis = indexed[0]
        if list(numbers.offset_dims) == [*range(axis), *range(axis + rank, len(have) - 1 + rank)]:
            return _take(step, axis)
    everything_else = [axis for axis in range(len(have)) if axis not in indexed]
    along = plain and list(batching) == everything_else == list(numbers.start_indices_batching_dims)
    if along and all(is_same(have[axis], step.inputs[1].shape[axis]) for axis in everything_else):
        places = squeeze(step.graph, indices(step, indexed), [rank])
        return step.graph.add("GatherElements", step.full_operand(), places, axis=indexed[0])
    return _gather_general(step, numbers, indexed, batching, others)


def _take(step: Step, axis: int) -> str:
    graph = step.graph
    places = squeeze(graph, indices(step, [axis]), [len(step.inputs[1].shape) - 1])
    weights = step.known_operand(0)
    kept = None if weights is None else step.translator.integers.table(graph, weights)
    if kept is None:
        return graph.add("Gather", step.full_operand(), places, axis=axis)
    codes, scales, _ = kept
    found = graph.cast(graph.add("Gather", graph.array(codes), places, axis=axis), step.dtype())
    if scales.ndim and axis == len(step.inputs[0].shape) - 1:
        return graph.add("Mul", found, graph.add("Gather", graph.array(scales), places, axis=0))
    return graph.add("Mul", found, graph.array(scales))


def indices(step: Step, indexed: Sequence[int]) -> str:
    """Return the indices, moved into the range where the program says so."""
    places = step.full_operand(1)
    if "CLIP" not in str(step.parameters["mode"]):
        return places
    graph, have = step.graph, step.inputs[0].shape
    places = graph.cast(places, "int64")
    sizes = [size_of(graph, have[axis]) for axis in indexed]
    most = graph.add("Sub", graph.add("Concat", *sizes, axis=0) if len(sizes) > 1 else sizes[0], graph.integers([1]))
    return graph.add("Min", graph.add("Max", places, graph.integers([0])), most)


def _gather_general(
    step: Step, numbers: Any, indexed: Sequence[int], batching: Sequence[int], others: Sequence[int]
) -> str:
    """Return rows by several indices each, with axes that both sides have in common."""
    graph = step.graph
    x = transpose(graph, step.full_operand(), [*batching, *indexed, *others])
    common = [int(axis) for axis in numbers.start_indices_batching_dims]
    rank = len(step.inputs[1].shape) - 1
    rest = [axis for axis in range(rank) if axis not in common]
    places = graph.cast(transpose(graph, indices(step, indexed), [*common, *rest, rank]), "int64")
    found = graph.add("GatherND", x, places, batch_dims=len(batching))
    # as it is: common axes, other axes of the indices, axes of the rows; then axes of size 1 that stay are put in
    offsets = [int(axis) for axis in numbers.offset_dims]
    of_indices = [axis for axis in range(len(step.shape)) if axis not in offsets]
    now = [of_indices[axis] for axis in (*common, *rest)]
    gone = {int(axis) for axis in numbers.collapsed_slice_dims} | set(batching)
    staying = [axis for axis in range(len(step.inputs[0].shape)) if axis not in gone]
    place_of = dict(zip(staying, offsets, strict=True))
    now += [place_of[axis] for axis in others]
    kept = sorted(now)
    found = transpose(graph, found, [now.index(axis) for axis in kept])
    return found if len(kept) == len(step.shape) else reshape(graph, found, step.shape)


_REDUCTIONS = {
    "scatter": "none",
    "scatter-add": "add",
    "scatter-sub": "sub",
    "scatter-mul": "mul",
    "scatter-min": "min",
    "scatter-max": "max",
}
_COMBINE = {"add": "Add", "sub": "Sub", "mul": "Mul", "min": "Min", "max": "Max"}


@rule(*_REDUCTIONS)
def scatter(step: Step) -> Operand:
    """Write rows, or one block, put in or combined with what is there."""
    numbers, how = step.parameters["dimension_numbers"], _REDUCTIONS[step.operation]
    have, new = step.inputs[0].shape, step.inputs[2].shape
    indexed = [int(axis) for axis in numbers.scatter_dims_to_operand_dims]
    inserted = [int(axis) for axis in numbers.inserted_window_dims]
    batching = [int(axis) for axis in numbers.operand_batching_dims]
    window = [int(axis) for axis in numbers.update_window_dims]
    staying = [axis for axis in range(len(have)) if axis not in inserted and axis not in batching]
    wanted: list[Any] = [1] * len(have)
    for axis, place in zip(staying, window, strict=True):
        wanted[axis] = new[place]
    if len(step.inputs[1].shape) == 1 and not batching:
        return step.result(_one_block(step, indexed, inserted, wanted, how))
    others = [axis for axis in staying if axis not in indexed]
    whole = all(is_same(wanted[axis], have[axis]) for axis in others)
    ones = all(is_fixed(wanted[axis]) and wanted[axis] == 1 for axis in indexed)
    if batching or not whole or not ones or set(inserted) != set(indexed):
        raise Unwritable(
            "it writes blocks of several elements at several places, and ONNX has no operator for this", _ROWS
        )
    if how in ("min", "max") and step.graph.file.opset < 18:
        raise Unwritable(f"ONNX has '{step.operation}' from opset 18 on", "opset=18")
    return step.result(_rows_put(step, indexed, others, window, how))


def _one_block(
    step: Step, indexed: Sequence[int], inserted: Sequence[int], sizes: Sequence[Any], reduction: str
) -> str:
    graph, have = step.graph, step.inputs[0].shape
    at: list[blocks.Start] = [0] * len(have)
    for axis, start in zip(indexed, blocks.parts(graph, step.full_operand(1), len(indexed)), strict=True):
        at[axis] = blocks.clip_start(graph, start, have[axis], sizes[axis])
    new = step.full_operand(2)
    if inserted:
        new = graph.add("Unsqueeze", new, graph.integers(inserted))
    if reduction != "none":
        new = graph.add(_COMBINE[reduction], blocks.read(graph, step.full_operand(), at, have, sizes), new)
    return blocks.put(graph, step.full_operand(), new, at, have, sizes)


def _rows_put(step: Step, indexed: Sequence[int], others: Sequence[int], window: Sequence[int], reduction: str) -> str:
    """Return the array with rows put in; rows at places that there are not are left out."""
    graph, have = step.graph, step.inputs[0].shape
    order = [*indexed, *others]
    x = transpose(graph, step.full_operand(), order)
    rank = len(step.inputs[2].shape)
    new = transpose(graph, step.full_operand(2), [*(axis for axis in range(rank) if axis not in window), *window])
    places = graph.cast(step.full_operand(1), "int64")
    sizes = [size_of(graph, have[axis]) for axis in indexed]
    limits = graph.add("Concat", *sizes, axis=0) if len(sizes) > 1 else sizes[0]
    mode = str(step.parameters["mode"])
    if "FILL" in mode or "DROP" in mode:
        # one place more along each axis takes what belongs nowhere, and is cut off
        outside = graph.add("Or", graph.add("Less", places, graph.integers([0])), graph.add("Less", limits, places))
        places = graph.add("Where", outside, limits, places)
        ends = [0] * len(have) + [1] * len(indexed) + [0] * len(others)
        x = graph.add("Pad", x, graph.integers(ends))
    elif "CLIP" in mode:
        most = graph.add("Sub", limits, graph.integers([1]))
        places = graph.add("Min", graph.add("Max", places, graph.integers([0])), most)
    if reduction == "sub":
        new, reduction = graph.add("Neg", new), "add"
    settings = {} if reduction == "none" else {"reduction": reduction}
    x = graph.add("ScatterND", x, places, new, **settings)
    if "FILL" in mode or "DROP" in mode:
        axes = list(range(len(indexed)))
        x = graph.add("Slice", x, graph.integers([0] * len(axes)), limits, graph.integers(axes))
    return transpose(graph, x, [int(i) for i in np.argsort(order)])
