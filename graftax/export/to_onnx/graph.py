"""A graph under construction: its nodes, the arrays of the file, and a name for each value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from graftax.export.to_onnx import messages
from graftax.export.to_onnx.messages import Attribute, Numbers

_SHARED = 4096
"""Elements up to which equal arrays are kept once; larger ones are told apart by identity, which takes no time."""


class File:
    """What all graphs of a file share: names, arrays, the sizes that are free, the version of the operators.

    Args:
        opset: The version of the operators.
        names: Those of inputs and results.
    """

    def __init__(self, opset: int, names: Iterable[str]) -> None:
        self.opset = opset
        self.arrays: list[tuple[str, Numbers]] = []
        self.sizes: dict[str, tuple[str, int]] = {}
        """Of each free size, an input that has it, and along which axis."""
        self.operators: Counter[str] = Counter()
        self.uses: Counter[str] = Counter()
        """How often nodes take what has a name."""
        self.at_most_zero: dict[str, str] = {}
        """Truth values that say whether the number of another name is at most 0, by which a choice may be a `Relu`."""
        self.halves = False
        """Whether something is computed in half precision, whose rounding is seen in results of any dtype."""
        self._names: dict[object, str] = {}
        self._taken = set(names)
        self._said: dict[int, tuple[Numbers, str]] = {}
        self._count = 0

    def call(self, array: Numbers, name: str) -> None:
        """Note what an array is called that may become one of the file."""
        self._said[id(array)] = array, name  # which keeps it, and so its identity, alive

    def call_like(self, array: Numbers, source: Numbers) -> Numbers:
        """Return an array made of another one, which is called like that."""
        if id(source) in self._said:
            self.call(array, self._said[id(source)][1])
        return array

    def fresh_name(self, hint: str) -> str:
        """Return a name that nothing has."""
        self._count += 1
        name = f"{hint}_{self._count}"
        return name if name not in self._taken else self.fresh_name(hint)

    def keep(self, array: Numbers) -> str:
        """Return the name of an array of the file."""
        small = array.size <= _SHARED
        key = (str(array.dtype), array.shape, array.tobytes()) if small else id(array)
        if key not in self._names:
            name = self._said[id(array)][1] if id(array) in self._said else self.fresh_name("array")
            self._names[key] = self.fresh_name(name) if name in self._taken else name
            self._taken.add(self._names[key])
            self.arrays.append((self._names[key], array))
        return self._names[key]


class _Node(NamedTuple):
    """A node that is written, and what it takes and gives."""

    message: bytes
    operator: str
    inputs: Sequence[str]
    outputs: Sequence[str]


class Graph:
    """The nodes of the model, or of the body of a loop or branch in it.

    Args:
        file: What it shares with others.
        outer: The graph that it is a part of.
        within: The path of the layer that is being written.
    """

    def __init__(self, file: File, outer: Graph | None = None, within: str = "") -> None:
        self.file = file
        self.outer = outer
        self.within = within
        self._nodes: list[_Node] = []
        self.sizes: dict[str, str] = {}
        """Sizes computed here, by how they are written."""

    @property
    def nodes(self) -> list[bytes]:
        """Return the nodes, in order."""
        return [one.message for one in self._nodes]

    def prune(self) -> None:
        """Take away nodes of which nothing is used."""
        kept = []
        for one in reversed(self._nodes):
            if any(self.file.uses[name] > 0 for name in one.outputs):
                kept.append(one)
                continue
            self.file.uses.subtract(one.inputs)
            self.file.operators[one.operator] -= 1
        self._nodes = kept[::-1]
        self.file.operators += Counter()  # without those that are 0

    @property
    def root(self) -> Graph:
        """Return the graph of the model."""
        return self if self.outer is None else self.outer.root

    def add(self, operator: str, *inputs: str, **settings: Attribute) -> str:
        """Add a node with one result, and return the name of that."""
        return self.add_several(1, operator, *inputs, **settings)[0]

    def add_several(self, count: int, operator: str, *inputs: str, **settings: Attribute) -> list[str]:
        """Add a node, and return the names of its results."""
        names = [self.file.fresh_name(operator.lower()) for _ in range(count)]
        name = self.file.fresh_name(f"{self.within}/{operator}" if self.within else operator)
        self._nodes.append(_Node(messages.node(operator, inputs, names, name, settings), operator, inputs, names))
        self.file.uses.update(inputs)
        self.file.operators[operator] += 1
        return names

    def rename(self, name: str, public: str) -> None:
        """Give a value a name of the caller's choice."""
        message = messages.node("Identity", [name], [public], self.file.fresh_name("Identity"), {})
        self._nodes.append(_Node(message, "Identity", (name,), [public]))
        self.file.uses.update([name, public])

    def array(self, array: Numbers) -> str:
        """Return the name of an array that is known."""
        return self.file.keep(np.asarray(array))

    def integers(self, numbers: Sequence[int]) -> str:
        """Return the name of a row of integers, such as axes."""
        return self.array(np.array(list(numbers), "int64"))

    def number(self, value: float, dtype: str) -> str:
        """Return the name of one number."""
        return self.array(np.array(value, dtype))

    def cast(self, name: str, dtype: str) -> str:
        """Return a value in another dtype."""
        return self.add("Cast", name, to=messages.KINDS[dtype])
