"""Objects that nobody had used when they were saved, and that have Variables in the program: a restore resets these."""

from __future__ import annotations

from typing import Any, NamedTuple

from graftax.checkpoint.graph import Place
from graftax.checkpoint.index import Kind
from graftax.checkpoint.matching import Match
from graftax.variables.graph.module import Module


class Start(NamedTuple):
    """A Variable without a saved value, and the array with which it starts."""

    place: Place
    value: Any


def starts(match: Match) -> list[Start]:
    """Return the selected Variables that start anew: those of metrics that had counted nothing, and are restored.

    Some metrics make their Variables with the first batch, which says how many classes there are. In mode
    ``"overlap"``, where what the checkpoint lacks stays as it is, there are none.
    """
    if match.mode == "overlap" or not match.missing:
        return []
    nodes = match.index.nodes
    unused = {
        id(place.thing)
        for node, places in match.objects.items()
        for place in places
        if not any(nodes[below].kind is Kind.VARIABLE for _, below in nodes[node].edges)
    }
    found = []
    for place in match.missing:
        holder: Any = place.module
        if id(holder) in unused and place not in match.reassigned and isinstance(holder, Module):
            value = holder._gx_start_of(place.thing) if place.kind is Kind.VARIABLE else None
            found += [] if value is None else [Start(place, value)]
    return found
