"""The Modules and Variables of a run, and their paths in its checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graftax.checkpoint.graph import Graph
from graftax.checkpoint.index import Kind
from graftax.variables.graph.module import Module, walk_with_edges
from graftax.variables.variable import Variable


def nodes_of(roots: Mapping[str, Any]) -> Iterator[Variable | Module]:
    """Yield each Module and Variable once, also those in lists, tuples and dicts of roots."""
    seen: set[int] = set()
    waiting = list(roots.values())
    for root in waiting:  # the list grows during the loop
        if isinstance(root, list | tuple):
            waiting += root
        elif isinstance(root, dict):
            waiting += root.values()
        elif isinstance(root, Module | Variable):
            for _, node in walk_with_edges(root):
                if isinstance(node, Variable | Module) and id(node) not in seen:
                    seen.add(id(node))
                    yield node


def paths_of(roots: Mapping[str, Any]) -> dict[int, str]:
    """Return the paths that Modules and Variables have in a checkpoint of these roots, by id."""
    places = Graph(roots, settles=False).places
    return {id(place.thing): place.path for place in places if place.kind in (Kind.OBJECT, Kind.VARIABLE)}
