"""Loops and branches: the bodies are graphs that see the values around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graftax.export.to_onnx import messages
from graftax.export.to_onnx.graph import Graph
from graftax.export.to_onnx.sizes import message_sizes, size_of
from graftax.export.to_onnx.step import Step, full_value, rule, squeeze
from graftax.export.to_onnx.values import Computed, Known, Operand


def _full_operands(step: Step, first: int, last: int) -> list[Operand]:
    """Return operands that a body sees, in their full shape."""
    return [
        one if isinstance(one, Known) else Computed(step.full_operand(first + i), tuple(step.inputs[first + i].shape))
        for i, one in enumerate(step.operands[first:last])
    ]


def _arguments(graph: Graph, kinds: Sequence[Any]) -> tuple[list[bytes], list[Computed]]:
    values = [Computed(graph.file.fresh_name("given"), tuple(kind.shape)) for kind in kinds]
    said = [
        messages.value(one.name, str(kind.dtype), message_sizes(kind.shape))
        for one, kind in zip(values, kinds, strict=True)
    ]
    return said, values


def _results(graph: Graph, operands: Sequence[Operand], kinds: Sequence[Any]) -> list[bytes]:
    """Return what a body gives; each is a value of the body itself."""
    said = []
    for one, kind in zip(operands, kinds, strict=True):
        name = graph.add("Identity", full_value(graph, one, kind.shape))
        said.append(messages.value(name, str(kind.dtype), message_sizes(kind.shape)))
    return said


def _content(graph: Graph, inputs: Sequence[bytes], outputs: Sequence[bytes]) -> bytes:
    return messages.graph(graph.nodes, "body", [], inputs, outputs)


def _kinds(program: Any) -> tuple[list[Any], list[Any]]:
    jaxpr = getattr(program, "jaxpr", program)
    return [one.aval for one in jaxpr.invars], [one.aval for one in jaxpr.outvars]


@rule("scan")
def scan(step: Step) -> list[Operand]:
    """Write a loop over rows; one without rows counts."""
    said, graph = step.parameters, step.graph
    constants, carried = step.translator.counts(said)
    held = _full_operands(step, 0, constants)
    body = Graph(graph.file, graph, graph.within)
    given, gives = _kinds(said["jaxpr"])
    inputs, values = _arguments(body, given[constants:])
    outs = step.translator.write(body, said["jaxpr"], [*held, *values])
    rows = len(step.operands) - constants - carried
    if not rows:
        return _write_counted_loop(step, body, inputs, outs, gives, constants, carried)
    content = _content(body, inputs, _results(body, outs, gives))
    backwards = int(said["reverse"])
    settings: dict[str, Any] = {"num_scan_inputs": rows, "scan_input_directions": [backwards] * rows}
    if len(gives) > carried:
        settings["scan_output_directions"] = [backwards] * (len(gives) - carried)
    outer = [step.full_operand(constants + i) for i in range(carried + rows)]
    names = graph.add_several(len(gives), "Scan", *outer, body=content, **settings)
    return [step.result(name, i) for i, name in enumerate(names)]


def _write_counted_loop(
    step: Step,
    body: Graph,
    inputs: list[bytes],
    outs: Sequence[Operand],
    gives: Sequence[Any],
    first: int,
    carried: int,
) -> list[Operand]:
    graph = step.graph
    number, go_on = (graph.file.fresh_name(name) for name in ("number", "go_on"))
    on = body.add("Identity", go_on)
    control = [messages.value(number, "int64", []), messages.value(go_on, "bool", [])]
    results = [messages.value(on, "bool", []), *_results(body, outs, gives)]
    content = _content(body, [*control, *inputs], results)
    times = squeeze(graph, size_of(graph, step.parameters["length"]), [0])
    outer = [step.full_operand(first + i) for i in range(carried)]
    always = graph.array(np.array(True))
    names = graph.add_several(len(gives), "Loop", times, always, *outer, body=content)
    if step.parameters["reverse"]:
        for i in range(carried, len(gives)):
            back, far = graph.integers([-1]), graph.integers([-(2**63) + 1])
            names[i] = graph.add("Slice", names[i], back, far, graph.integers([0]), back)
    return [step.result(name, i) for i, name in enumerate(names)]


@rule("while")
def repeat(step: Step) -> list[Operand]:
    """Write a loop that goes on as long as a condition holds; the body asks it again for what it has made."""
    said, graph = step.parameters, step.graph
    asks, does = int(said["cond_nconsts"]), int(said["body_nconsts"])
    asked, held = _full_operands(step, 0, asks), _full_operands(step, asks, asks + does)
    state = _full_operands(step, asks + does, len(step.operands))
    (start,) = step.translator.write(graph, said["cond_jaxpr"], [*asked, *state])
    body = Graph(graph.file, graph, graph.within)
    given, gives = _kinds(said["body_jaxpr"])
    inputs, values = _arguments(body, given[does:])
    number, go_on = (graph.file.fresh_name(name) for name in ("number", "go_on"))
    control = [messages.value(number, "int64", []), messages.value(go_on, "bool", [])]
    outs = step.translator.write(body, said["body_jaxpr"], [*held, *values])
    now = [
        Computed(full_value(body, one, kind.shape), tuple(kind.shape)) for one, kind in zip(outs, gives, strict=True)
    ]
    (again,) = step.translator.write(body, said["cond_jaxpr"], [*asked, *now])
    results = [
        messages.value(body.add("Identity", full_value(body, again, ())), "bool", []),
        *_results(body, now, gives),
    ]
    content = _content(body, [*control, *inputs], results)
    outer = [step.full_operand(asks + does + i) for i in range(len(gives))]
    names = graph.add_several(len(gives), "Loop", "", full_value(graph, start, ()), *outer, body=content)
    return [step.result(name, i) for i, name in enumerate(names)]


@rule("cond")
def branch(step: Step) -> list[Operand]:
    """Write a branch; of several, one inside of the other."""
    held = _full_operands(step, 1, len(step.operands))
    which = step.graph.cast(step.full_operand(), "int64")
    return _chosen(step, step.graph, which, list(step.parameters["branches"]), held)


def _chosen(step: Step, graph: Graph, which: str, branches: list[Any], operands: Sequence[Operand]) -> list[Operand]:
    _, gives = _kinds(branches[0])
    if len(branches) == 1:
        return step.translator.write(graph, branches[0], operands)
    contents = []
    for programs in (branches[:1], branches[1:]):
        body = Graph(graph.file, graph, graph.within)
        less = body.add("Sub", which, body.array(np.array(1, "int64"))) if len(programs) > 1 else which
        outs = _chosen(step, body, less, programs, operands)
        contents.append(_content(body, [], _results(body, outs, gives)))
    first = graph.add("LessOrEqual", which, graph.array(np.array(0, "int64")))
    names = graph.add_several(len(gives), "If", first, then_branch=contents[0], else_branch=contents[1])
    return [Computed(name, tuple(kind.shape)) for name, kind in zip(names, gives, strict=True)]
