"""Blocks at places that are known at the call: read, and put in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from graftax.export.to_onnx.graph import Graph
from graftax.export.to_onnx.shapes import LAST
from graftax.export.to_onnx.sizes import size_of
from graftax.export.to_onnx.step import Step, rule, squeeze
from graftax.export.to_onnx.values import Known, Operand, Sizes, is_fixed, is_same

Start: TypeAlias = int | str
"""Where a block begins: a number, or the name of a row of one."""


def block_starts(step: Step, first: int, have: Sizes, want: Sizes) -> list[Start]:
    """Return where the block begins along each axis, moved so that it fits in."""
    graph = step.graph
    found: list[Start] = []
    for i, operand in enumerate(step.operands[first:]):
        if isinstance(operand, Known) and is_fixed(have[i]) and is_fixed(want[i]):
            found.append(max(0, min(int(operand.array.reshape(())), int(have[i]) - int(want[i]))))
        else:
            row = graph.add("Reshape", step.name(first + i), graph.integers([1]))
            found.append(clip_start(graph, graph.cast(row, "int64"), have[i], want[i]))
    return found


def clip_start(graph: Graph, start: str, have: object, want: object) -> str:
    """Return a start moved so that the block lies inside."""
    most = graph.add("Sub", size_of(graph, have), size_of(graph, want))
    return graph.add("Min", graph.add("Max", start, graph.integers([0])), most)


def block(graph: Graph, x: str, axis: int, start: Start, size: object) -> str:
    """Return a block along an axis; all that follows where there is no size."""
    begin = start if isinstance(start, str) else graph.integers([start])
    end = graph.integers([LAST]) if size is None else graph.add("Add", begin, size_of(graph, size))
    return graph.add("Slice", x, begin, end, graph.integers([axis]))


def read(graph: Graph, x: str, at: Sequence[Start], have: Sizes, want: Sizes) -> str:
    """Return a block along all axes."""
    for axis, start in enumerate(at):
        if not is_same(have[axis], want[axis]):
            x = block(graph, x, axis, start, want[axis])
    return x


def put(graph: Graph, x: str, new: str, at: Sequence[Start], have: Sizes, want: Sizes) -> str:
    """Return ``x`` with a block replaced: what is before it, the block, and what is after it, joined axis by axis."""
    axes = [axis for axis in range(len(have)) if not is_same(have[axis], want[axis])]

    def put_within(x: str, left: Sequence[int]) -> str:
        if not left:
            return new
        axis = left[0]
        start = at[axis]
        begin = start if isinstance(start, str) else graph.integers([start])
        before = graph.add("Slice", x, graph.integers([0]), begin, graph.integers([axis]))
        middle = put_within(block(graph, x, axis, begin, want[axis]), left[1:]) if len(left) > 1 else new
        after = block(graph, x, axis, graph.add("Add", begin, size_of(graph, want[axis])), None)
        return graph.add("Concat", before, middle, after, axis=axis)

    return put_within(x, axes)


@rule("dynamic_slice")
def dynamic_slice(step: Step) -> Operand:
    """Write a block that is read."""
    have, want = step.inputs[0].shape, step.parameters["slice_sizes"]
    return step.result(read(step.graph, step.full_operand(), block_starts(step, 1, have, want), have, want))


@rule("dynamic_update_slice")
def dynamic_update_slice(step: Step) -> Operand:
    """Write a block that is put in."""
    have, want = step.inputs[0].shape, step.inputs[1].shape
    return step.result(
        put(step.graph, step.full_operand(), step.full_operand(1), block_starts(step, 2, have, want), have, want)
    )


def parts(graph: Graph, row: str, count: int) -> list[str]:
    """Return the numbers of a row, each as a row of one, int64."""
    row = graph.cast(row, "int64")
    return [graph.add("Slice", row, graph.integers([k]), graph.integers([k + 1])) for k in range(count)]


def drop_axes(graph: Graph, x: str, axes: Sequence[int]) -> str:
    """Return a block without axes of size 1."""
    return squeeze(graph, x, [int(axis) for axis in axes])
