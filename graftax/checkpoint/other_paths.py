"""Other paths than the first one: of what is held several times, and of the expressions around a part of a weight."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeVar

from graftax.checkpoint.expression_records import adapters_among, is_expression
from graftax.checkpoint.index import Edge
from graftax.checkpoint.paths import HasNodes, join, prefixes, slot_path

T = TypeVar("T")

_MOST = 64
"""Paths of one object: where shared parts hold shared parts, their number doubles at each level."""


def further_paths(
    first: Mapping[T, str], edges: Iterable[tuple[T, Edge, T]], below: Callable[[T], Iterable[tuple[Edge, T]]]
) -> dict[T, list[str]]:
    """Return the further paths of what is held several times, and of all below it.

    Ways around a cycle are left out, and of very many paths of one object, most.

    Args:
        first: The first path of everything.
        edges: Those that do not belong to first paths, each with what it begins and ends at.
        below: Returns what hangs below something.
    """
    found: dict[T, list[str]] = {}
    there = {path: node for node, path in first.items()}
    waiting = [
        (join(first[parent], edge), child, frozenset(there[path] for path in prefixes(first[parent])))
        for parent, edge, child in edges
    ]
    for path, node, above in waiting:  # the list grows during the loop
        known = found.setdefault(node, [])
        if node not in above and path != first[node] and path not in known and len(known) < _MOST:
            known.append(path)
            waiting += [(join(path, edge), child, above | {node}) for edge, child in below(node)]
    return {node: known for node, known in found.items() if known}


def other_node_paths(graph: HasNodes, paths: Mapping[int, str]) -> dict[int, tuple[str, ...]]:
    """Return the other paths by which selectors know the nodes of a checkpoint.

    Args:
        graph: The graph of a checkpoint.
        paths: A result of `node_paths`.
    """
    edges = [
        (node, edge, child)
        for node, path in paths.items()
        for edge, child in graph.nodes[node].edges
        if paths[child] != join(path, edge)
    ]
    found = further_paths(paths, edges, lambda node: graph.nodes[node].edges)
    adapters = adapters_among(graph.nodes, graph.nodes)
    wholes = {
        path
        for node, first in paths.items()
        if graph.nodes[node].edges and is_expression(graph.nodes[node]) and node not in adapters
        for path in (first, *found.get(node, ()))
    }
    if wholes:
        for node, path in paths.items():
            above = [whole for way in (path, *found.get(node, ())) for whole in wholes_above(way, wholes)]
            if above:
                found.setdefault(node, []).extend(above)
    slots = {
        slot.slot: slot_ways(slot.name, paths, found, slot.optimizer, slot.variable)
        for slot in graph.slots
        if slot.optimizer in paths and slot.variable in paths
    }
    found |= {slot: ways for slot, ways in slots.items() if ways}
    return {node: tuple(dict.fromkeys(ways)) for node, ways in found.items()}


def slot_ways(name: str, first: Mapping[T, str], found: Mapping[T, list[str]], optimizer: T, variable: T) -> list[str]:
    """Return the further paths of a slot, whose optimizer or Variable has further ones.

    Args:
        name: The name of the slot.
        first: The first path of everything.
        found: A result of `further_paths`.
        optimizer: The optimizer.
        variable: The Variable.
    """
    here, there = ([first[one], *found.get(one, ())] for one in (optimizer, variable))
    return [slot_path(one, name, other) for one in here for other in there][1 : _MOST + 1]


def wholes_above(path: str, wholes: Collection[str]) -> list[str]:
    """Return the paths of the expressions that something at a path is a part of, the innermost first."""
    return [above for above in reversed(prefixes(path)[:-1]) if above in wholes]
