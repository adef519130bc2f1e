"""What a checkpoint keeps of Modules besides their contents, such as the columns of tables; a file may lack it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graftax.checkpoint.graph import Place, leaves_of
from graftax.checkpoint.index import Index
from graftax.checkpoint.matching import Match
from graftax.variables.graph.module import Module


def facts_of_root(index: Index, name: str) -> Mapping[str, Any]:
    """Return what the file keeps of a root besides its contents; nothing for a root that it lacks."""
    node = index.roots.get(name)
    return {} if node is None else index.nodes[node].facts


def facts_to_take(match: Match) -> Iterator[tuple[Module, Mapping[str, Any]]]:
    """Yield the Modules that take what the checkpoint keeps of them, each with that.

    It belongs to the first weights, which compute with the inputs: a Module takes it if these are restored, too, or
    wait for the Module to be built.

    Args:
        match: The pairs of objects and nodes.
    """
    for node, places in match.objects.items():
        for place in places:
            module = place.thing
            if not isinstance(module, Module) or type(module)._gx_take_facts is Module._gx_take_facts:
                continue
            facts = match.index.nodes[node].facts
            if facts and _takes_first_weights(module, place, match):
                yield module, facts


def _takes_first_weights(module: Module, place: Place, match: Match) -> bool:
    first = next((v for v in module.variables if v.role in ("weight", "state")), None)
    if first is None:
        return any(path.startswith(f"{place.path}/") for path in match.awaited)
    return any(leaf.thing is first for pair in match.pairs for leaf in leaves_of(pair))
