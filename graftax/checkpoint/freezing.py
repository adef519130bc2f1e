"""Differences between the ``trainable`` flags of a checkpoint and those of the program."""

from __future__ import annotations

from typing import NamedTuple

from graftax.checkpoint.graph import Place
from graftax.checkpoint.index import Kind
from graftax.checkpoint.matching import Match
from graftax.checkpoint.report import Trainable
from graftax.checkpoint.trained_as_saved import is_different
from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable


class Flag(NamedTuple):
    """A Variable or Module whose ``trainable`` differs from what was saved."""

    thing: Variable | Module
    path: str
    saved: bool
    is_applied: bool

    @property
    def report_line(self) -> Trainable:
        """Return the line of the report."""
        return Trainable(self.path, self.saved, self.saved == self.is_applied)


def flags(match: Match, as_saved: bool) -> list[Flag]:
    """Return the places whose ``trainable`` flags differ, in the selected parts.

    Args:
        match: The pairs of objects and nodes.
        as_saved: Whether the flags of the checkpoint are restored.
    """
    found: list[Flag] = []
    nodes = match.index.nodes
    for place, node in match.pairs.items():
        if place.kind is not Kind.VARIABLE or place.role == "slot":
            continue
        if is_different(nodes[node], place.thing.trainability):
            found.append(Flag(place.thing, place.path, nodes[node].payload[1], as_saved))
    for node, places in match.objects.items():
        frozen = bool((nodes[node].payload or {}).get("frozen"))
        found += [
            Flag(place.thing, place.path, not frozen, as_saved)
            for place in places
            if isinstance(place.thing, Module) and place.thing._gx_frozen != frozen and _is_asked_for(place, match)
        ]
    return found


def _is_asked_for(place: Place, match: Match) -> bool:
    return not match.subset.is_narrow or any(match.is_selected(child) for child in place.edges.values())
