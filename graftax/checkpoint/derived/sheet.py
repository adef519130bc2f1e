"""The class Sheet: the graph of a checkpoint in a form that can be changed, before it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graftax.checkpoint.arrays import HostArray, from_bytes, to_bytes
from graftax.checkpoint.commit import Draft
from graftax.checkpoint.index import Edge, Kind, NodeRecord, SlotRecord
from graftax.checkpoint.layout import Item
from graftax.checkpoint.paths import escape, node_paths
from graftax.checkpoint.state import renumber_arrays
from graftax.core.typedefs import Shape


@dataclass
class Tensor:
    """An array, as the pieces in which it was saved.

    Args:
        dtype: Its name.
        shape: Its shape.
        items: Its pieces.
    """

    dtype: str
    shape: Shape
    items: list[Item]

    def array(self) -> HostArray:
        """Return the values of the array."""
        parts = [(item, _array(item)) for item in self.items]
        if len(parts) == 1 and self.items[0].whole is None:
            return parts[0][1]
        whole = np.empty(self.shape, parts[0][1].dtype)
        for item, part in parts:
            start = item.start or (0,) * len(item.shape)
            whole[tuple(slice(s, s + n) for s, n in zip(start, item.shape, strict=True))] = part
        return whole

    @classmethod
    def of(cls, dtype: str, shape: Shape, read: Callable[[], HostArray], path: str) -> Tensor:
        """Return a Tensor that is computed only when it is written.

        Args:
            dtype: Its name.
            shape: Its shape.
            read: Returns its values.
            path: Its path, for messages.
        """
        return cls(dtype, shape, [Item(dtype, shape, path, lambda: to_bytes(read(), path))])


def _array(item: Item) -> HostArray:
    return from_bytes(np.frombuffer(item.data, np.uint8), item.dtype, item.shape)


@dataclass
class Sheet:
    """A graph that can be changed: nodes whose payloads name arrays by their numbers.

    Args:
        nodes: The nodes, as in an index.
        tensors: The arrays.
        roots: The names of the roots and the numbers of their nodes.
        slots: The slots, as in an index.
        step: The training step of the checkpoint.
        meta: The user's own values.
        random: The state of the global seed.
    """

    nodes: list[NodeRecord] = field(default_factory=list)
    tensors: list[Tensor] = field(default_factory=list)
    roots: dict[str, int] = field(default_factory=dict)
    slots: list[SlotRecord] = field(default_factory=list)
    step: int | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    random: Any = None

    @classmethod
    def of(cls, draft: Draft) -> Sheet:
        """Return a draft as a sheet."""
        tensors: dict[str, Tensor] = {}
        for item in draft.items:
            shape = item.shape if item.whole is None else item.whole
            tensors.setdefault(item.name, Tensor(item.dtype, shape, [])).items.append(item)
        return cls(
            list(draft.nodes),
            list(tensors.values()),
            dict(draft.roots),
            list(draft.slots),
            draft.step,
            draft.meta,
            draft.random,
        )

    def paths(self) -> dict[int, str]:
        """Return the shortest path of every node that can be reached. Slots come last."""
        return node_paths(self)

    def draft(self) -> Draft:
        """Return the draft to write: all nodes that can be reached, with arrays named by their paths."""
        paths = self.paths()
        numbers = {node: i for i, node in enumerate(paths)}
        names: dict[int, str] = {}
        taken: set[str] = set()
        for node, path in paths.items():
            for number in self.nodes[node].tensors:
                if number not in names:
                    names[number] = _free_path(path, taken)
                    taken.add(names[number])
        order = {number: i for i, number in enumerate(names)}
        items = [item._replace(name=name) for number, name in names.items() for item in self.tensors[number].items]
        nodes = [renumber(self.nodes[node], numbers.__getitem__, order) for node in paths]
        slots = [
            SlotRecord(numbers[s.optimizer], s.name, numbers[s.variable], numbers[s.slot])
            for s in self.slots
            if {s.optimizer, s.variable, s.slot} <= set(numbers)
        ]
        roots = {name: numbers[node] for name, node in self.roots.items()}
        return Draft(items, nodes, roots, slots, self.step, self.meta, random=self.random)

    # --- changes ------------------------------------------------------------------------------------------------------

    def child(self, node: int, component: str) -> tuple[Edge, int] | None:
        """Return the edge of a node that a path component names, and the node that it leads to."""
        return next(((edge, child) for edge, child in self.nodes[node].edges if escape(edge) == component), None)

    def set_edges(self, node: int, edges: list[tuple[Edge, int]]) -> None:
        """Give a node other edges."""
        self.nodes[node] = self.nodes[node]._replace(edges=tuple(edges))

    def set_tensor(self, node: int, tensor: Tensor) -> None:
        """Give a Variable another array."""
        self.tensors.append(tensor)
        record = self.nodes[node]
        self.nodes[node] = record._replace(payload=(len(self.tensors) - 1, *record.payload[1:]))

    def tensor_of(self, node: int) -> Tensor | None:
        """Return the array of a node, if it has one."""
        number = self.nodes[node].tensor
        return None if number is None else self.tensors[number]

    def facts_of(self, node: int) -> Mapping[str, Any]:
        """Return what is kept of an object besides its contents, such as the columns of a table."""
        return {name: fact for name, fact in self.nodes[node].facts.items() if name != "expression"}

    def variables(self) -> dict[str, int]:
        """Return the Variables that have values, by path."""
        return {
            path: node
            for node, path in self.paths().items()
            if self.nodes[node].kind is Kind.VARIABLE and self.nodes[node].tensor is not None
        }


def _free_path(path: str, taken: set[str]) -> str:
    found, i = path, 1
    while found in taken:
        found, i = f"{path}#{i}", i + 1
    return found


def renumber(node: NodeRecord, number: Callable[[int], int], tensors: Mapping[int, int]) -> NodeRecord:
    """Return a node with other numbers for its children, by a function, and for its arrays."""
    edges = tuple([(edge, number(child)) for edge, child in node.edges])
    payload = node.payload
    if node.kind is Kind.VARIABLE and payload[0] is not None:
        payload = (tensors[payload[0]], *payload[1:])
    elif node.kind is Kind.VALUE:
        payload = renumber_arrays(payload, tensors)
    elif node.tensor is not None:
        payload = (payload[0], tensors[node.tensor])
    return node._replace(edges=edges, payload=payload)
