"""Differences between the adapters that were in use when a program was saved, and those that it uses now."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from graftax.checkpoint.graph import Place, leaves_of
from graftax.checkpoint.index import Index, Kind, NodeRecord
from graftax.checkpoint.matching import Match
from graftax.checkpoint.report import Uses
from graftax.reparam.adapted import Adapted
from graftax.variables.state import storage


class Use(NamedTuple):
    """A weight whose adapters in use differ from those that were saved; ``names`` are those by their names here."""

    weight: Adapted
    path: str
    saved: tuple[str, ...]
    names: tuple[str, ...]
    is_applied: bool

    @property
    def report_line(self) -> Uses:
        """Return the line of the report."""
        return Uses(self.path, self.saved, self.names if self.is_applied else tuple(self.weight.active))


def restores_use(trainable: str | None, mode: str) -> bool:
    """Return whether the adapters in use are restored, of weights that are restored as a whole."""
    return trainable == "saved" or (trainable is None and mode != "overlap")


def read_saved_use(record: NodeRecord) -> tuple[str, ...] | None:
    """Return the adapters that were in use; None where that is not recorded, as in older files."""
    if record.kind is not Kind.OBJECT or not isinstance(record.payload, dict):
        return None
    names = record.payload.get("active")
    if not isinstance(names, list | tuple) or not all(type(name) is str for name in names):
        return None
    return tuple(dict.fromkeys(names))


def compare_uses(match: Match, as_saved: bool) -> list[Use]:
    """Return the weights whose adapters in use differ, where the program has each adapter that was in use.

    Args:
        match: The pairs of objects and nodes.
        as_saved: Whether the saved use is restored, of weights that are selected as a whole: where adapters come
            without their base, they are files of their own, and the program says which it uses.
    """
    found: dict[int, Use] = {}
    for node, places in match.objects.items():
        for place in places:
            weight = place.thing
            if not isinstance(weight, Adapted):
                continue
            saved = read_saved_use(match.index.nodes[node])
            names = None if saved is None else _names_here(match, node, place, saved)
            if saved is None or names is None:
                continue
            if names == tuple(weight.active) or not weight.adapters.keys() >= {*names}:
                continue
            chosen = [match.is_selected(leaf) for leaf in leaves_of(place)]
            is_whole = match.graph.narrow is None or id(weight) in match.graph.narrow.inside
            if any(chosen):
                found.setdefault(
                    id(weight), Use(weight, place.path, saved, names, as_saved and is_whole and all(chosen))
                )
    return list(found.values())


def _names_here(match: Match, node: int, place: Place, saved: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return adapters by their names in the program, as ``map=`` may give the values of one to another."""
    if not match.renames.places:
        return saved
    here = place.edges.get("adapters")
    adapters = here.edges.items() if here is not None else ()
    return translate_use(
        match.index,
        node,
        {str(name): {match.pairs.get(leaf) for leaf in leaves_of(adapter)} for name, adapter in adapters},
        saved,
    )


def translate_use(
    index: Index, node: int, sources: Mapping[str, Collection[int | None]], saved: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Return the adapters that were in use by their names in the program.

    None if the values of one have no place there, or several, and its name is that of another.

    Args:
        index: The index of the checkpoint.
        node: The saved weight.
        sources: For each adapter of the program, the nodes that its values come from.
        saved: The adapters that were in use.
    """
    names_of: dict[int | None, str] = {}  # by nodes below the saved adapters
    adapters = dict(index.nodes[node].edges).get("adapters")
    for name, adapter in index.nodes[adapters].edges if adapters is not None else ():
        waiting = [adapter]
        while waiting:
            below = waiting.pop()
            if below not in names_of:
                names_of[below] = str(name)
                waiting += [child for _, child in index.nodes[below].edges]
    origins: dict[str, str] = {}
    for name, nodes in sources.items():
        given = {names_of.get(source) for source in nodes}
        if len(given) == 1 and (origin := given.pop()) is not None:
            origins[name] = origin
    names = []
    for name in saved:
        takers = [taker for taker, origin in origins.items() if origin == name]
        if len(takers) != 1 and origins.get(name, name) != name:
            return None
        names.append(takers[0] if len(takers) == 1 else name)
    return tuple(names)


def set_use(weight: Adapted, names: tuple[str, ...]) -> None:
    """Use these adapters in this order. Compiled functions notice the change."""
    storage.changing(weight, "active")
    weight.switch(names)
