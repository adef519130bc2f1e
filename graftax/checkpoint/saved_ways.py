"""Paths of what a program or a checkpoint holds several times, compared between the two."""

from __future__ import annotations

from graftax.checkpoint.expression_records import is_expression
from graftax.checkpoint.graph import Place
from graftax.checkpoint.index import Index
from graftax.checkpoint.paths import find_edge


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
    """Return True if the checkpoint has an expression above a path."""
    parts = path.split("/")
    found = (find_edge(index, "/".join(parts[:i])) for i in range(1, len(parts)))
    return any(one is not None and is_expression(index.nodes[one[0]]) for one in found)
