"""Paths of what a program or a checkpoint holds several times, compared between the two."""

from __future__ import annotations

from collections.abc import Iterable

from graftax.checkpoint.expression_records import is_expression
from graftax.checkpoint.graph import Graph, Place
from graftax.checkpoint.index import Edge, Index
from graftax.checkpoint.paths import STATE, find_edge, prefixes
from graftax.variables.graph.module import Module


def ways_below(place: Place, path: str) -> tuple[str, ...]:
    """Return the other paths of what is not there yet, below an object that is held several times."""
    if not path.startswith(f"{place.path}/"):
        return ()
    return tuple([f"{way}{path[len(place.path) :]}" for way in place.further])


def is_saved_there(index: Index, place: Place, path: str) -> bool:
    """Return True if the checkpoint has at both paths one and the same."""
    here, there = find_edge(index, place.path), find_edge(index, path)
    return here is not None and there is not None and here[0] == there[0]


def passes_expression(index: Index, path: str) -> bool:
    """Return True if the checkpoint has an expression at a path, or above it."""
    found = (find_edge(index, above) for above in prefixes(path))
    return any(one is not None and is_expression(index.nodes[one[0]]) for one in found)


def ways_to_come(index: Index, graph: Graph, saved: Iterable[str]) -> list[str]:
    """Return those of some saved paths that pass an expression which a layer of the program will make."""
    found = []
    for path in saved:
        above = graph.parent_of(path) if passes_expression(index, path) and graph.find(path) is None else None
        if above is not None and is_expected(*above):
            found.append(path)
    return found


def is_expected(place: Place, edge: Edge) -> bool:
    """Return True if a Variable will be made under an edge: in a layer that is not built, for an attribute of None."""
    thing = place.thing
    if not isinstance(thing, Module):
        return False
    if thing._gx_lacks_weights or thing._gx_may_get(str(edge)):
        return True
    return edge != STATE and str(edge) in vars(thing) and not vars(thing)[str(edge)]
