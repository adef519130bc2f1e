"""A graph under construction: its nodes, the arrays of the file, and a name for each value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from graftax.export.to_onnx import messages
from graftax.export.to_onnx.messages import Attribute, Numbers

_SHARED = 4096
"""Elements up to which equal arrays are kept once; larger ones are told apart by identity, which takes no time."""


class File:
    """What all graphs of a file share: names, arrays, the sizes that are free, the version of the operators.

    Args:
        opset: The version of the operators.
    """

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.arrays: list[tuple[str, Numbers]] = []
        self.sizes: dict[str, str] = {}
        """The value, of shape (1,), of each free size."""
        self.operators: Counter[str] = Counter()
        self._names: dict[object, str] = {}
        self._said: dict[int, tuple[Numbers, str]] = {}
        self._count = 0

    def call(self, array: Numbers, name: str) -> None:
        """Note what an array is called that may become one of the file."""
        self._said[id(array)] = array, name  # which keeps it, and so its identity, alive

    def fresh(self, hint: str) -> str:
        """Return a name that nothing has."""
        self._count += 1
        return f"{hint}_{self._count}"

    def keep(self, array: Numbers) -> str:
        """Return the name of an array of the file."""
        small = array.size <= _SHARED
        key = (str(array.dtype), array.shape, array.tobytes()) if small else id(array)
        if key not in self._names:
            self._names[key] = self._said[id(array)][1] if id(array) in self._said else self.fresh("array")
            self.arrays.append((self._names[key], array))
        return self._names[key]


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
        self.nodes: list[bytes] = []
        self.sizes: dict[str, str] = {}
        """Sizes computed here, by how they are written."""

    def add(self, operator: str, *inputs: str, **settings: Attribute) -> str:
        """Add a node with one result, and return the name of that."""
        return self.add_several(1, operator, *inputs, **settings)[0]

    def add_several(self, count: int, operator: str, *inputs: str, **settings: Attribute) -> list[str]:
        """Add a node, and return the names of its results."""
        names = [self.file.fresh(operator.lower()) for _ in range(count)]
        name = self.file.fresh(f"{self.within}/{operator}" if self.within else operator)
        self.nodes.append(messages.node(operator, inputs, names, name, settings))
        self.file.operators[operator] += 1
        return names

    def rename(self, name: str, public: str) -> None:
        """Give a value a name of the caller's choice."""
        self.nodes.append(messages.node("Identity", [name], [public], self.file.fresh("Identity"), {}))

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
