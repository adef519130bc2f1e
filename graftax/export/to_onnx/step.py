"""One equation on its way into the file, and the rules that write equations, by the names of their operations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from graftax.export.to_onnx.graph import Graph
from graftax.export.to_onnx.integers import Integers
from graftax.export.to_onnx.messages import Attribute, Numbers
from graftax.export.to_onnx.sizes import shape_of
from graftax.export.to_onnx.values import Computed, Known, Operand, Sizes, are_fixed, are_same, broadcast, is_fixed


class Translator(Protocol):
    """Writes whole programs, for the bodies of loops, and knows which products are of integers."""

    integers: Integers

    def write(self, graph: Graph, program: Any, operands: Sequence[Operand]) -> list[Operand]:
        """Write a program with its constants into a graph, and return its results."""
        ...

    def counts(self, parameters: dict[str, Any]) -> tuple[int, int]:
        """Return how many constants and how much carry a loop over rows has."""
        ...


class Step:
    """One equation: what it gets, what it is to give, and the graph to write it into.

    Args:
        graph: Where the nodes go.
        equation: The equation, as the backend has it.
        operands: What it gets.
        translator: Writes the programs in it.
    """

    def __init__(self, graph: Graph, equation: Any, operands: Sequence[Operand], translator: Translator) -> None:
        self.graph = graph
        self.operands = list(operands)
        self.parameters: dict[str, Any] = equation.params
        self.translator = translator
        self.operation: str = equation.primitive.name
        self.inputs = [atom.aval for atom in equation.invars]
        self.outputs = [atom.aval for atom in equation.outvars]

    @property
    def shape(self) -> tuple[Any, ...]:
        """Return the sizes of the first result."""
        return tuple(self.outputs[0].shape)

    def dtype(self, i: int = 0) -> str:
        """Return the dtype of an operand."""
        return str(self.inputs[i].dtype)

    @property
    def out_dtype(self) -> str:
        """Return the dtype of the first result."""
        return str(self.outputs[0].dtype)

    def name(self, i: int = 0) -> str:
        """Return the name of an operand, which may have 1 for larger sizes."""
        operand = self.operands[i]
        return self.graph.array(operand.array) if isinstance(operand, Known) else operand.name

    def known_operand(self, i: int) -> Numbers | None:
        """Return an operand that is known, broadcast; else None."""
        operand = self.operands[i]
        if not isinstance(operand, Known) or not are_fixed(self.inputs[i].shape):
            return None
        shape = tuple(self.inputs[i].shape)
        return operand.array if operand.array.shape == shape else np.broadcast_to(operand.array, shape)

    def full_operand(self, i: int = 0) -> str:
        """Return the name of an operand in its full shape."""
        return full_value(self.graph, self.operands[i], self.inputs[i].shape)

    def elementwise(self, operator: str, *operands: Operand, **settings: Attribute) -> Computed:
        """Return the result of a node that broadcasts; of all operands if none are named."""
        given = operands or tuple(self.operands)
        names = [self.graph.array(one.array) if isinstance(one, Known) else one.name for one in given]
        shape = broadcast([one.shape for one in given], self.shape)
        return Computed(self.graph.add(operator, *names, **settings), shape)

    def result(self, name: str, number: int = 0) -> Computed:
        """Return a value as a result in its full shape."""
        return Computed(name, tuple(self.outputs[number].shape))

    def like_first(self, name: str) -> Computed:
        """Return a value computed element by element from the first operand."""
        return Computed(name, tuple(self.operands[0].shape))


Rule: TypeAlias = Callable[[Step], "Operand | list[Operand]"]
RULES: dict[str, Rule] = {}
"""How equations are written, by the names of their operations."""


def rule(*operations: str) -> Callable[[Rule], Rule]:
    """Return a decorator for the function that writes these operations."""

    def register(function: Rule) -> Rule:
        for operation in operations:
            RULES[operation] = function
        return function

    return register


def full_value(graph: Graph, operand: Operand, sizes: Sizes) -> str:
    """Return the name of a value in its full shape."""
    if isinstance(operand, Known):
        if are_fixed(sizes):
            full = np.broadcast_to(operand.array, [int(size) for size in sizes])
            same = full.shape == operand.array.shape
            return graph.array(operand.array if same else np.ascontiguousarray(full))
        operand = Computed(graph.array(operand.array), operand.shape)
    if are_same(operand.shape, sizes):
        return operand.name
    return graph.add("Expand", operand.name, shape_of(graph, sizes))


def reshape(graph: Graph, name: str, sizes: Sizes) -> str:
    """Return a value in another shape; one size that is free follows from the others."""
    free = [i for i, size in enumerate(sizes) if not is_fixed(size)]
    empty = math.prod(int(size) for size in sizes if is_fixed(size)) == 0
    if len(free) <= 1 and not empty:
        return graph.add("Reshape", name, graph.integers([-1 if i in free else int(s) for i, s in enumerate(sizes)]))
    return graph.add("Reshape", name, shape_of(graph, sizes), allowzero=1)


def transpose(graph: Graph, name: str, order: Sequence[int]) -> str:
    """Return a value with its axes in another order."""
    return (
        name if list(order) == list(range(len(order))) else graph.add("Transpose", name, perm=[int(i) for i in order])
    )


def unsqueeze(graph: Graph, name: str, axes: Sequence[int]) -> str:
    """Return a value with axes of size 1 put in."""
    return graph.add("Unsqueeze", name, graph.integers(axes)) if axes else name


def squeeze(graph: Graph, name: str, axes: Sequence[int]) -> str:
    """Return a value without these axes of size 1."""
    return graph.add("Squeeze", name, graph.integers(axes)) if axes else name
