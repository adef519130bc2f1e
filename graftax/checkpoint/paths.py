"""Paths of nodes of the object graph, in programs, in checkpoints and on the command line."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Protocol, TypeVar

from graftax.checkpoint.index import Edge, Index, NodeRecord, SlotRecord

T = TypeVar("T")

STATE = "get_state()"
"""The edge to the Python state of an object; no attribute can have this name."""


def escape(edge: Edge) -> str:
    """Return an edge as a component of a path: never empty, with ``%``, ``/`` and control characters escaped.

    Example:
        >>> escape("a/b"), escape(3), escape("")
        ('a%2Fb', '3', '%')
    """
    text = str(edge)
    if text.isidentifier() or text.isdecimal():
        return text
    return "".join(f"%{ord(c):02X}" if c in "%/" or ord(c) < 32 or ord(c) == 127 else c for c in text) or "%"


def unescape(text: str) -> str:
    """Return the edge that a component of a path stands for, as text.

    Example:
        >>> unescape("a%2Fb"), unescape("%")
        ('a/b', '')
    """
    return "" if text == "%" else re.sub("%([0-9A-F]{2})", lambda found: chr(int(found[1], 16)), text)


def join(path: str, edge: Edge) -> str:
    """Return the path of a child."""
    return f"{path}/{escape(edge)}" if path else escape(edge)


def with_keys_of(held: Collection[Edge], edges: dict[Edge, T]) -> dict[Edge, T]:
    """Return edges by the keys of a list or dict that read the same: a file of arrays does not tell 3 from "3".

    Args:
        held: The keys.
        edges: The edges.
    """
    if all(edge in held for edge in edges):
        return edges
    keys = {str(key): key for key in held}
    return {keys.get(str(edge), edge): found for edge, found in edges.items()}


def slot_path(optimizer: str, slot: str, variable: str) -> str:
    """Return the path of a slot, which is below its optimizer: ``optimizer/slots(momentum)/model/kernel``."""
    return f"{optimizer}/slots({escape(slot)})/{variable}"


def prefixes(path: str) -> list[str]:
    """Return the paths of what is above, from the root on, and the path itself."""
    parts = path.split("/")
    return ["/".join(parts[:i]) for i in range(1, len(parts) + 1)]


class HasNodes(Protocol):
    """The graph of a checkpoint: an `Index`, or a form of it that can be changed."""

    @property
    def roots(self) -> Mapping[str, int]:
        """Return the nodes of the roots by name."""
        ...

    @property
    def nodes(self) -> Sequence[NodeRecord]:
        """Return all nodes."""
        ...

    @property
    def slots(self) -> Sequence[SlotRecord]:
        """Return all slots."""
        ...


def node_paths(graph: HasNodes) -> dict[int, str]:
    """Return the canonical path of every node that can be reached: the shortest, found breadth-first; slots last."""
    paths: dict[int, str] = {}
    level = [(escape(name), node) for name, node in graph.roots.items()]
    while level:
        deeper = []
        for path, node in level:
            if node not in paths:
                paths[node] = path
                deeper += [(join(path, edge), child) for edge, child in graph.nodes[node].edges]
        level = deeper
    for slot in graph.slots:
        if slot.slot not in paths and slot.optimizer in paths and slot.variable in paths:
            paths[slot.slot] = slot_path(paths[slot.optimizer], slot.name, paths[slot.variable])
    return paths


def with_ancestors(chosen: Iterable[T], edges: Iterable[tuple[T, T]]) -> set[T]:
    """Return the chosen nodes and all nodes above them.

    Args:
        chosen: Some nodes.
        edges: Each node with each of its children.
    """
    parents: dict[T, list[T]] = {}
    for parent, child in edges:
        parents.setdefault(child, []).append(parent)
    found = set(chosen)
    waiting = list(found)
    while waiting:
        new = [parent for parent in parents.get(waiting.pop(), ()) if parent not in found]
        found.update(new)
        waiting += new
    return found


class NodePaths(Mapping[int, str]):
    """The same as `node_paths`, computed at the first access, since most restores do not need these paths.

    Args:
        index: The index.
    """

    def __init__(self, index: Index) -> None:
        self._index = index

    @cached_property
    def _all_paths(self) -> dict[int, str]:
        return node_paths(self._index)

    def __getitem__(self, node: int) -> str:
        return self._all_paths[node]

    def __iter__(self) -> Iterator[int]:
        return iter(self._all_paths)

    def __len__(self) -> int:
        return len(self._all_paths)


def find_edge(index: Index, path: str) -> tuple[int, tuple[int | None, Edge]] | None:
    """Return the node at any of its paths, and the last edge of the path; None if there is none."""
    first, *rest = path.split("/")
    parent: int | None = None
    found: tuple[Edge, int] | None
    found = next(((name, n) for name, n in index.roots.items() if escape(name) == first), None)
    for component in rest:
        if found is None:
            return None
        parent = found[1]
        found = next(((edge, child) for edge, child in index.nodes[parent].edges if escape(edge) == component), None)
    return None if found is None else (found[1], (parent, found[0]))
