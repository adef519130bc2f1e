"""Merging several checkpoints into one. Where two have the same path, one of them is preferred."""

from __future__ import annotations

import numpy as np

from graftax.checkpoint.derived.sheet import Sheet
from graftax.checkpoint.index import Edge, Kind, NodeRecord, SlotRecord
from graftax.checkpoint.state import renumber_arrays
from graftax.core.errors import RenameConflict

PREFERENCES = ("first", "last")


def merge(first: Sheet, other: Sheet, prefer: str | None) -> None:
    """Merge another checkpoint into the first.

    Args:
        first: The checkpoint to add to; its step, meta and random state are kept.
        other: The checkpoint to add.
        prefer: Whose values are kept at paths that both have: ``"first"``, ``"last"``, None to allow equal ones only.

    Raises:
        RenameConflict: both have different values at one path, and ``prefer`` is None.
    """
    _Merge(first, other, prefer).run()


class _Merge:
    def __init__(self, first: Sheet, other: Sheet, prefer: str | None) -> None:
        self._first, self._prefer = first, prefer
        self._other = other
        self._nodes = len(first.nodes)
        self._tensors = len(first.tensors)
        self._same: dict[int, int] = {}

    def run(self) -> None:
        first, other = self._first, self._other
        shift = {number: number + self._tensors for number in range(len(other.tensors))}
        first.tensors += other.tensors
        first.nodes += [self._shifted(node, shift) for node in other.nodes]
        for name, node in other.roots.items():
            if name in first.roots:
                first.roots[name] = self._joined(name, first.roots[name], node + self._nodes)
            else:
                first.roots[name] = node + self._nodes
        for number in range(len(first.nodes)):
            edges = [(edge, self._same.get(child, child)) for edge, child in first.nodes[number].edges]
            first.set_edges(number, edges)
        known = {(slot.optimizer, slot.name, slot.variable): slot for slot in first.slots}
        for slot in other.slots:
            optimizer, variable, place = (
                self._same.get(n + self._nodes, n + self._nodes) for n in (slot.optimizer, slot.variable, slot.slot)
            )
            if (optimizer, slot.name, variable) not in known:
                first.slots.append(SlotRecord(optimizer, slot.name, variable, place))

    def _shifted(self, node: NodeRecord, tensors: dict[int, int]) -> NodeRecord:
        edges = tuple([(edge, child + self._nodes) for edge, child in node.edges])
        payload = node.payload
        if node.kind is Kind.VARIABLE and payload[0] is not None:
            payload = (tensors[payload[0]], *payload[1:])
        elif node.kind is Kind.VALUE:
            payload = renumber_arrays(payload, tensors)
        elif node.tensor is not None:
            payload = (payload[0], tensors[node.tensor])
        return node._replace(edges=edges, payload=payload)

    def _joined(self, path: str, mine: int, theirs: int) -> int:
        """Return the node that merges both."""
        if theirs in self._same or mine == theirs:
            return self._same.get(theirs, mine)
        self._same[theirs] = mine
        one, other = self._first.nodes[mine], self._first.nodes[theirs]
        if one.kind.is_leaf or other.kind.is_leaf:
            if not self._are_equal(one, other):
                if self._prefer is None:
                    raise RenameConflict(
                        f"both have {path!r:.200}, with other values", "one path has one value", "--prefer first"
                    )
                if self._prefer == "last":
                    self._first.nodes[mine] = other
            return mine
        edges: dict[Edge, int] = dict(one.edges)
        for edge, child in other.edges:
            edges[edge] = self._joined(f"{path}/{edge}", edges[edge], child) if edge in edges else child
        self._first.set_edges(mine, list(edges.items()))
        return mine

    def _are_equal(self, one: NodeRecord, other: NodeRecord) -> bool:
        if one.kind is not other.kind:
            return False
        if one.tensor is None or other.tensor is None:
            return bool(one.payload == other.payload)
        x, y = self._first.tensors[one.tensor], self._first.tensors[other.tensor]
        return (x.dtype, x.shape) == (y.dtype, y.shape) and np.array_equal(x.array(), y.array())
