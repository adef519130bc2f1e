"""Products of matrices and their relatives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graftax.export.to_onnx.step import Step, reshape, rule, squeeze, transpose, unsqueeze
from graftax.export.to_onnx.values import Known, Operand, are_fixed


@rule("dot_general")
def product(step: Step) -> Operand:
    """Write a product: of values with weights, of two values row by row, or a sum over any axes."""
    (left, right), (left_batch, right_batch) = step.parameters["dimension_numbers"]
    if not left_batch and isinstance(step.operands[1], Known):
        name = _with_weights(step, 0, 1, left, right)
    elif not left_batch and isinstance(step.operands[0], Known):  # weights first: the axes of the result turn
        name = _with_weights(step, 1, 0, right, left)
        first = len(step.inputs[1].shape) - len(right)
        rank = len(step.shape)
        name = transpose(step.graph, name, [*range(first, rank), *range(first)])
    else:
        name = _of_values(step, left, right, left_batch, right_batch)
    kind = step.dtype() if step.dtype() in ("float32", "float16", "float64") else step.out_dtype
    return step.result(name if kind == step.out_dtype else step.graph.cast(name, step.out_dtype))


def _with_weights(step: Step, values: int, weights: int, summed: Sequence[int], over: Sequence[int]) -> str:
    """Return a product with an array that is known, as one with a matrix."""
    graph, source = step.graph, step.known_operand(weights)
    assert source is not None
    kept = [axis for axis in range(source.ndim) if axis not in over]
    order = [int(axis) for axis in (*over, *kept)]
    shape = step.inputs[values].shape
    staying = [axis for axis in range(len(shape)) if axis not in summed]
    x = transpose(graph, step.full_operand(values), [*staying, *summed])
    depth = math.prod(source.shape[axis] for axis in over)
    free = [shape[axis] for axis in staying]
    if len(summed) != 1:
        x = reshape(graph, x, [*free, depth])
    found = step.translator.integers.matrix(graph, x, source, order, len(over))
    if len(kept) == 1:
        return found
    return reshape(graph, found, [*free, *(source.shape[axis] for axis in kept)])


def _of_values(
    step: Step, left: Sequence[int], right: Sequence[int], left_batch: Sequence[int], right_batch: Sequence[int]
) -> str:
    graph = step.graph
    x, y = step.full_operand(0), step.full_operand(1)
    shapes = [len(one.shape) for one in step.inputs]
    x_free = [axis for axis in range(shapes[0]) if axis not in (*left, *left_batch)]
    y_free = [axis for axis in range(shapes[1]) if axis not in (*right, *right_batch)]
    if len(left) == 1 and len(x_free) <= 1 and len(y_free) <= 1:
        x = transpose(graph, x, [*left_batch, *x_free, *left])
        y = transpose(graph, y, [*right_batch, *right, *y_free])
        x = x if x_free else unsqueeze(graph, x, [-2])
        y = y if y_free else unsqueeze(graph, y, [-1])
        found = graph.add("MatMul", x, y)
        found = found if y_free else squeeze(graph, found, [-1])
        return found if x_free else squeeze(graph, found, [-2 if y_free else -1])
    return _group_axes(step, x, y, (left_batch, left, x_free), (right_batch, right, y_free))


def _group_axes(step: Step, x: str, y: str, of_x: Sequence[Sequence[int]], of_y: Sequence[Sequence[int]]) -> str:
    """Return a product whose axes of a kind become one, where one free size at most is among each; else a sum."""
    graph = step.graph
    sizes: list[list[list[Any]]] = [
        [[one.shape[axis] for axis in axes] for axes in kinds]
        for one, kinds in zip(step.inputs, (of_x, of_y), strict=True)
    ]
    if all(are_fixed(row) or len(row) == 1 for row in (sizes[0][1], sizes[0][2], sizes[1][2])):
        batch = sizes[0][0]
        depth, rows, columns = (
            [row[0] if len(row) == 1 else math.prod(row)] for row in (sizes[0][1], sizes[0][2], sizes[1][2])
        )
        x = transpose(graph, x, [*of_x[0], *of_x[2], *of_x[1]])
        y = transpose(graph, y, [*of_y[0], *of_y[1], *of_y[2]])
        x = reshape(graph, x, [*batch, *rows, *depth])
        y = reshape(graph, y, [*batch, *depth, *columns])
        return reshape(graph, graph.add("MatMul", x, y), step.shape)
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    left, right = ([""] * len(one.shape) for one in step.inputs)
    for kind in (0, 1):
        for i, j in zip(of_x[kind], of_y[kind], strict=True):
            left[i] = right[j] = next(letters)
    for axes, names in ((of_x[2], left), (of_y[2], right)):
        for axis in axes:
            names[axis] = next(letters)
    out = [*(left[i] for i in (*of_x[0], *of_x[2])), *(right[j] for j in of_y[2])]
    return graph.add("Einsum", x, y, equation=f"{''.join(left)},{''.join(right)}->{''.join(out)}")
