"""Optimizers that rules name: found again by their rules, whose order may be another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graftax.checkpoint.graph import Place
from graftax.checkpoint.index import Edge, NodeRecord
from graftax.variables.graph.module import Module


def in_order_of_rules(
    places: Mapping[Edge, Place], edges: Mapping[Edge, int], nodes: Sequence[NodeRecord]
) -> Mapping[Edge, int]:
    """Return saved edges in the order of the program, if both have the same optimizers with the same rules.

    Args:
        places: The objects of a list of the program.
        edges: The nodes of the list in the checkpoint.
        nodes: All nodes of the checkpoint.
    """
    if len(places) < 2 or places.keys() != edges.keys():
        return edges
    there = {_key(nodes[node].facts): node for node in edges.values()}
    things = [(edge, place.thing) for edge, place in places.items()]
    here = {_key(thing._gx_facts()): edge for edge, thing in things if isinstance(thing, Module)}
    if len(here) < len(places) or here.keys() != there.keys() or None in here:
        return edges
    return {edge: there[key] for key, edge in here.items()}


def _key(facts: Mapping[str, object]) -> tuple[str, ...] | None:
    rules = facts.get("rules")
    if not isinstance(rules, list) or not all(isinstance(one, str) for one in rules):
        return None
    return tuple(rules)
