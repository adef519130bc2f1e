"""Walking: everything that hangs below an object of the graph, each once, depth first, in definition order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graftax.variables.graph.adoption import Adopting, adopt_node
from graftax.variables.graph.node import Edge, Node, own_nodes
from graftax.variables.state import storage


def walk_with_edges(root: Node) -> Iterator[tuple[tuple[Edge, ...], Node]]:
    """Yield the root and every Node below it with its edges from the root, each once, depth first, in definition order.

    On the way, objects that nobody owns (appended to a list, or left by an owner that is gone) are adopted.
    """
    seen = {id(root)}
    yield (), root
    # a stack in place of recursion: a graph may be deeper than Python calls go
    stack: list[tuple[tuple[Edge, ...], Iterator[tuple[tuple[Edge, ...], Node]]]] = []
    owners: list[Any] = [root]
    if isinstance(root, Adopting):
        root._gx_ensure_state()
        storage.touch(root)
        stack.append(((), own_nodes(root)))
    while stack:
        prefix, nodes = stack[-1]
        entry = next(nodes, None)
        if entry is None:
            stack.pop()
            owners.pop()
            continue
        edges, node = entry
        if id(node) in seen:
            continue
        seen.add(id(node))
        # the cheap look first, since it is nearly always right: `_gx_owner` follows the edges
        known = node._gx_owner_ref() if node._gx_owner_ref is not None else None
        if known is not owners[-1] and node._gx_owner is None:
            adopt_node(owners[-1], edges, node)
        yield (*prefix, *edges), node
        if isinstance(node, Adopting):
            node._gx_ensure_state()
            storage.touch(node)
            stack.append(((*prefix, *edges), own_nodes(node)))
            owners.append(node)


def walk(root: Node) -> Iterator[Node]:
    """Yield the root and every Node below it, each once, depth first, in definition order."""
    return (node for _, node in walk_with_edges(root))
