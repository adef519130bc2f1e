"""Sums, extremes and running sums along axes."""

from __future__ import annotations

import numpy as np

from graftax.core.dtypes import is_floating
from graftax.export.to_onnx import messages
from graftax.export.to_onnx.graph import Graph
from graftax.export.to_onnx.step import Step, rule, squeeze, transpose
from graftax.export.to_onnx.unwritable import Unwritable
from graftax.export.to_onnx.values import Operand

_REDUCE = {
    "reduce_sum": "ReduceSum",
    "reduce_max": "ReduceMax",
    "reduce_min": "ReduceMin",
    "reduce_prod": "ReduceProd",
    "reduce_and": "ReduceMin",
    "reduce_or": "ReduceMax",
}


@rule(*_REDUCE)
def reduce(step: Step) -> Operand:
    """Write a reduction."""
    graph, kind = step.graph, step.dtype()
    axes = [int(axis) for axis in step.parameters["axes"]]
    x = step.full_operand()
    if not axes:
        return step.result(x)
    foreign = kind not in ("float32", "float16", "float64", "int32", "int64")
    wide = ("int32" if kind == "bool" else "int64") if foreign else kind
    x = graph.cast(x, wide) if foreign else x
    name = add_reduction(graph, _REDUCE[step.operation], x, axes)
    return step.result(graph.cast(name, step.out_dtype) if wide != step.out_dtype else name)


def add_reduction(graph: Graph, operator: str, x: str, axes: list[int], keepdims: int = 0) -> str:
    """Return a reduction along axes, which became an input of one after the other of these operators."""
    if operator == "ReduceSum" or graph.file.opset >= 18:
        return graph.add(operator, x, graph.integers(axes), keepdims=keepdims)
    return graph.add(operator, x, axes=axes, keepdims=keepdims)


@rule("argmax", "argmin")
def position(step: Step) -> Operand:
    """Write where the extreme is; the first of several."""
    graph = step.graph
    (axis,) = step.parameters["axes"]
    operator = "ArgMax" if step.operation == "argmax" else "ArgMin"
    x = step.full_operand()
    x = x if step.dtype() in ("float32", "int32", "float64") else graph.cast(x, _of_order(step.dtype()))
    return step.result(graph.cast(graph.add(operator, x, axis=int(axis), keepdims=0), step.out_dtype))


def _of_order(kind: str) -> str:
    return "float32" if is_floating(kind) else "int32"


@rule("cumsum")
def running_sum(step: Step) -> Operand:
    """Write a running sum."""
    graph, kind = step.graph, step.dtype()
    wide = kind if kind in ("float32", "float64", "int32", "int64") else "float32" if is_floating(kind) else "int64"
    x = step.full_operand() if wide == kind else graph.cast(step.full_operand(), wide)
    axis = graph.array(np.array(step.parameters["axis"], "int64"))
    found = graph.add("CumSum", x, axis, reverse=int(step.parameters["reverse"]))
    return step.result(found if wide == kind else graph.cast(found, kind))


@rule("cumprod", "cummax", "cummin")
def write_running(step: Step) -> Operand:
    """Write a running product or extreme, as a loop along the axis."""
    graph, axis, rank = step.graph, int(step.parameters["axis"]), len(step.shape)
    operator = {"cumprod": "Mul", "cummax": "Max", "cummin": "Min"}[step.operation]
    order = [axis, *(i for i in range(rank) if i != axis)]
    rows = transpose(graph, step.full_operand(), order)
    backwards = int(step.parameters["reverse"])
    end = graph.integers([-1 if backwards else 0])
    start = squeeze(graph, graph.add("Gather", rows, end, axis=0), [0])
    body = Graph(graph.file, graph)
    sizes: list[int | str] = [f"size{i}" for i in order[1:]]
    so_far, row = graph.file.fresh_name("so_far"), graph.file.fresh_name("row")
    now = body.add(operator, so_far, row)
    shown = body.add("Identity", now)
    start = _neutral_row(step, start, operator)
    inputs = [messages.value(one, step.dtype(), sizes) for one in (so_far, row)]
    outputs = [messages.value(one, step.dtype(), sizes) for one in (now, shown)]
    content = messages.graph(body.nodes, "running", [], inputs, outputs)
    _, found = graph.add_several(
        2, "Scan", start, rows, body=content, num_scan_inputs=1,
        scan_input_directions=[backwards], scan_output_directions=[backwards],
    )  # fmt: skip
    return step.result(transpose(graph, found, list(np.argsort(order))))


def _neutral_row(step: Step, row: str, operator: str) -> str:
    if operator != "Mul":  # an extreme with the first row is that row
        return row
    zero = step.graph.number(0, step.dtype())
    return step.graph.add("Add", step.graph.add("Mul", row, zero), step.graph.number(1, step.dtype()))


@rule("top_k")
def largest(step: Step) -> list[Operand]:
    """Write the largest numbers with their positions."""
    graph = step.graph
    axis = int(step.parameters.get("axis", -1))
    k = graph.integers([int(step.parameters["k"])])
    values, places = graph.add_several(2, "TopK", step.full_operand(), k, axis=axis)
    return [step.result(values), step.result(graph.cast(places, str(step.outputs[1].dtype)), 1)]


@rule("sort")
def sort(step: Step) -> list[Operand]:
    """Write one array in order, and others in the order of that one; equal numbers stay in theirs."""
    if step.parameters["num_keys"] != 1:
        raise Unwritable(
            "ONNX has no operator that sorts by several keys",
            "ops.argsort, once for each key, from the last to the first",
        )
    graph, axis = step.graph, int(step.parameters["dimension"])
    size = graph.add("Shape", step.full_operand(), start=axis, end=axis + 1)
    kind = step.dtype()
    key = (
        step.full_operand()
        if kind in ("float32", "float64", "int32", "int64")
        else graph.cast(step.full_operand(), "int64")
    )
    values, places = graph.add_several(2, "TopK", key, size, axis=axis, largest=0)
    out: list[Operand] = [
        step.result(values if kind in ("float32", "float64", "int32", "int64") else graph.cast(values, kind))
    ]
    others = range(1, len(step.operands))
    return out + [step.result(graph.add("GatherElements", step.full_operand(i), places, axis=axis), i) for i in others]
