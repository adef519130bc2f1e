"""Operations that move elements and compute none: shapes, axes, joins, blocks."""

from __future__ import annotations

import numpy as np

from graftax.export.to_onnx.graph import Graph
from graftax.export.to_onnx.sizes import scalar_of, shape_of, size_of
from graftax.export.to_onnx.step import Step, rule, transpose, unsqueeze
from graftax.export.to_onnx.step import reshape as reshaped
from graftax.export.to_onnx.values import Computed, Known, Operand, are_fixed, are_same, is_fixed, is_same

FIRST, LAST = -(2**63) + 1, 2**63 - 1
"""Beyond every position."""


@rule("broadcast_in_dim")
def broadcast_in_dim(step: Step) -> Operand:
    """Put axes in; they become larger where that is needed."""
    operand, shape, places = step.operands[0], step.parameters["shape"], step.parameters["broadcast_dimensions"]
    sizes = [1] * len(shape)
    for i, place in enumerate(places):
        sizes[place] = operand.shape[i]
    if isinstance(operand, Known):
        return Known(operand.array.reshape([int(size) for size in sizes]))
    return Computed(
        unsqueeze(step.graph, operand.name, [i for i in range(len(shape)) if i not in places]), tuple(sizes)
    )


@rule("reshape")
def reshape(step: Step) -> Operand:
    """Write the elements in another shape."""
    if are_same(step.inputs[0].shape, step.shape):
        return step.operands[0]
    return step.result(reshaped(step.graph, step.full_operand(), step.shape))


@rule("squeeze")
def squeeze(step: Step) -> Operand:
    """Take axes of size 1 away."""
    axes = [int(axis) for axis in step.parameters["dimensions"]]
    shape = [size for i, size in enumerate(step.operands[0].shape) if i not in axes]
    return Computed(step.graph.add("Squeeze", step.name(), step.graph.integers(axes)), tuple(shape))


@rule("transpose")
def permute(step: Step) -> Operand:
    """Write axes in another order."""
    order = step.parameters["permutation"]
    return Computed(transpose(step.graph, step.name(), order), tuple(step.operands[0].shape[i] for i in order))


@rule("concatenate")
def concatenate(step: Step) -> Operand:
    """Join along an axis."""
    parts = [step.full_operand(i) for i in range(len(step.operands))]
    return step.result(step.graph.add("Concat", *parts, axis=int(step.parameters["dimension"])))


@rule("split")
def split(step: Step) -> list[Operand]:
    """Cut along an axis."""
    graph = step.graph
    sizes = shape_of(graph, step.parameters["sizes"])
    names = graph.add_several(len(step.outputs), "Split", step.full_operand(), sizes, axis=int(step.parameters["axis"]))
    return [step.result(name, i) for i, name in enumerate(names)]


@rule("pad")
def pad(step: Step) -> Operand:
    """Put numbers around, or between; less than none cuts."""
    graph, settings = step.graph, step.parameters["padding_config"]
    x, fill = step.full_operand(), step.name(1)
    for axis, (_, _, between) in enumerate(settings):
        if between:
            x = spread_out(graph, x, fill, axis, int(between), step.inputs[0].shape[axis])
    lows, highs = [low for low, _, _ in settings], [high for _, high, _ in settings]
    if any(not (is_fixed(size) and size == 0) for size in (*lows, *highs)):
        kind = step.dtype()
        odd = kind not in ("float32", "float64", "int32", "int64", "int8", "uint8", "bool")
        x, fill = (graph.cast(x, "float32"), graph.cast(fill, "float32")) if odd else (x, fill)
        x = graph.add("Pad", x, shape_of(graph, (*lows, *highs)), fill)
        x = graph.cast(x, kind) if odd else x
    return step.result(x)


def spread_out(graph: Graph, x: str, fill: str, axis: int, between: int, size: object) -> str:
    """Return ``x`` with fillers after each element but the last, along an axis."""
    apart = unsqueeze(graph, x, [axis + 1])
    rank = graph.add("Shape", graph.add("Shape", apart))
    zeros = graph.add("Expand", graph.integers([0]), rank)
    after = graph.add("ScatterElements", zeros, graph.integers([axis + 1]), graph.integers([between]))
    wide = graph.add("Pad", apart, graph.add("Concat", zeros, after, axis=0), fill)
    shape = graph.add("Shape", x)
    count = graph.add("Mul", size_of(graph, size), graph.integers([between + 1]))
    joined = graph.add("ScatterElements", shape, graph.integers([axis]), count)
    flat = graph.add("Reshape", wide, joined, allowzero=1)
    end = graph.add("Sub", count, graph.integers([between]))
    return graph.add("Slice", flat, graph.integers([0]), end, graph.integers([axis]))


@rule("slice")
def cut(step: Step) -> Operand:
    """Cut a block, or every n-th."""
    graph, full = step.graph, step.inputs[0].shape
    starts, ends = step.parameters["start_indices"], step.parameters["limit_indices"]
    strides = step.parameters["strides"] or [1] * len(starts)
    whole = [
        is_fixed(starts[i]) and starts[i] == 0 and is_same(ends[i], full[i]) and strides[i] == 1
        for i in range(len(full))
    ]
    axes = [i for i, same in enumerate(whole) if not same]
    if not axes:
        return step.operands[0]
    first, last = ([row[i] for i in axes] for row in (starts, ends))
    steps = graph.integers([int(strides[i]) for i in axes])
    return step.result(
        graph.add(
            "Slice", step.full_operand(), shape_of(graph, first), shape_of(graph, last), graph.integers(axes), steps
        )
    )


@rule("rev")
def reverse(step: Step) -> Operand:
    """Turn axes around."""
    graph, axes = step.graph, [int(axis) for axis in step.parameters["dimensions"]]
    if not axes:
        return step.operands[0]
    back, far = graph.integers([-1] * len(axes)), graph.integers([FIRST] * len(axes))
    return step.result(graph.add("Slice", step.full_operand(), back, far, graph.integers(axes), back))


@rule("iota")
def count(step: Step) -> Operand:
    """Write 0, 1, 2 … along an axis."""
    shape, axis, kind = step.parameters["shape"], int(step.parameters["dimension"]), str(step.parameters["dtype"])
    if are_fixed(shape):
        numbers = np.arange(int(shape[axis])).astype(kind)
        return Known(numbers.reshape([-1 if i == axis else 1 for i in range(len(shape))]))
    graph = step.graph
    zero, one = (graph.array(np.array(n, "int64")) for n in (0, 1))
    row = graph.add("Range", zero, scalar_of(graph, shape[axis]), one)
    row = row if kind == "int64" else graph.cast(row, kind)
    row = unsqueeze(graph, row, [i for i in range(len(shape)) if i != axis])
    return Computed(row, tuple(shape[axis] if i == axis else 1 for i in range(len(shape))))


@rule("dim_as_value")
def size_as_value(step: Step) -> Operand:
    """Write a free size as a number."""
    return step.result(step.graph.cast(scalar_of(step.graph, step.parameters["dim"]), step.out_dtype))


@rule("tile")
def tile(step: Step) -> Operand:
    """Write the array several times along axes."""
    return step.result(step.graph.add("Tile", step.full_operand(), shape_of(step.graph, step.parameters["reps"])))


@rule("stack")
def stack(step: Step) -> Operand:
    """Join along an axis that is put in."""
    axis = int(step.parameters.get("axis", step.parameters.get("dimension", 0)))
    parts = [unsqueeze(step.graph, step.full_operand(i), [axis]) for i in range(len(step.operands))]
    return step.result(step.graph.add("Concat", *parts, axis=axis))
