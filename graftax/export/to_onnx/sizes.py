"""Sizes that are known at the call, as nodes over rows of one integer."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from graftax.export.to_onnx.graph import Graph
from graftax.export.to_onnx.unwritable import Unwritable
from graftax.export.to_onnx.values import Sizes, are_fixed, is_fixed

_SIGNS: dict[type[ast.operator], tuple[str, Callable[[int, int], int]]] = {
    ast.Add: ("Add", operator.add),
    ast.Sub: ("Sub", operator.sub),
    ast.Mult: ("Mul", operator.mul),
}
_CALLS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "max": ("Max", max),
    "min": ("Min", min),
    "floordiv": ("Div", operator.floordiv),
    "mod": ("Mod", operator.mod),
}


def size_of(graph: Graph, size: object) -> str:
    """Return the name of a row that has just this size."""
    if is_fixed(size):
        return graph.integers([int(size)])  # type: ignore[call-overload]
    written = str(size)
    at: Graph | None = graph
    while at is not None:  # what a graph around computes may be used
        if written in at.sizes:
            return at.sizes[written]
        at = at.outer
    # as the backend writes it: "2*batch + floordiv(time, 2)", with ^ for powers
    found = _value(graph, ast.parse(written.replace("^", "**"), mode="eval").body)
    graph.sizes[written] = found if isinstance(found, str) else graph.integers([found])
    return graph.sizes[written]


def _value(graph: Graph, tree: ast.expr) -> str | int:
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int):
        return tree.value
    if isinstance(tree, ast.Name):
        root = graph.root
        if tree.id not in root.sizes:
            name, axis = graph.file.sizes[tree.id]
            root.sizes[tree.id] = root.add("Shape", name, start=axis, end=axis + 1)
        return root.sizes[tree.id]
    if isinstance(tree, ast.UnaryOp):
        return _combine(graph, *_SIGNS[ast.Mult], -1, _value(graph, tree.operand))
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Pow):
        base, times = _value(graph, tree.left), _value(graph, tree.right)
        found: str | int = 1
        for _ in range(int(times)):
            found = _combine(graph, *_SIGNS[ast.Mult], found, base)
        return found
    if isinstance(tree, ast.BinOp):
        return _combine(graph, *_SIGNS[type(tree.op)], _value(graph, tree.left), _value(graph, tree.right))
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        one, other = (_value(graph, part) for part in tree.args)
        return _combine(graph, *_CALLS[tree.func.id], one, other)
    raise Unwritable(
        f"it has the size {ast.unparse(tree)}, and a size is written with +, -, *, floordiv, mod, max and min only",
        'a number for one of these sizes, gx.export.Spec("8 4"); or gx.export.save',
    )


def _combine(graph: Graph, name: str, now: Callable[[int, int], int], one: str | int, other: str | int) -> str | int:
    if isinstance(one, int) and isinstance(other, int):
        return now(one, other)
    row, by = (part if isinstance(part, str) else graph.integers([part]) for part in (one, other))
    if (
        name == "Div"
    ):  # that of ONNX cuts toward zero, and -(-height // 2) divides a negative number; Mod goes by floors
        row = graph.add("Sub", row, graph.add("Mod", row, by))
    return graph.add(name, row, by)


def shape_of(graph: Graph, sizes: Sizes) -> str:
    """Return the name of a row of these sizes."""
    if are_fixed(sizes):
        return graph.integers([int(size) for size in sizes])
    if len(sizes) == 1:
        return size_of(graph, sizes[0])
    return graph.add("Concat", *(size_of(graph, size) for size in sizes), axis=0)


def scalar_of(graph: Graph, size: object) -> str:
    """Return the name of the size as one number, int64."""
    return graph.add("Squeeze", size_of(graph, size), graph.integers([0]))


def message_sizes(sizes: Sizes) -> list[int | str]:
    """Return sizes as a file says them."""
    return [int(size) if is_fixed(size) else str(size) for size in sizes]
