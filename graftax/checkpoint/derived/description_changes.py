"""What two checkpoints say differently of objects besides values, and of themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graftax.checkpoint.derived.difference import Change
from graftax.checkpoint.derived.node_descriptions import aliases, describe_node, is_told_alike
from graftax.checkpoint.index import Index, Kind
from graftax.checkpoint.paths import node_paths
from graftax.checkpoint.subset import RANDOM, RANDOM_SPOT, Spot, Subset


def compare_descriptions(first: Index, second: Index, subset: Subset) -> list[Change]:
    """Return what two checkpoints say differently, besides values, of what is selected.

    Args:
        first: The index of the first.
        second: The index of the second.
        subset: The paths to compare.
    """
    found = [_change(RANDOM, {"": first.random}, {"": second.random})] if RANDOM_SPOT in subset else []
    ways = [node_paths(index) for index in (first, second)]
    here, there = ({path: node for node, path in way.items()} for way in ways)
    tied = [dict(aliases(index, way)) for index, way in zip((first, second), ways, strict=True)]
    for path in dict.fromkeys([*here, *there, *tied[0], *tied[1]]):
        nodes = here.get(path), there.get(path)
        records = [None if n is None else i.nodes[n] for n, i in zip(nodes, (first, second), strict=True)]
        one, other = records
        if one is not None and other is not None and is_told_alike(one, other):
            continue  # as nearly all of them
        some = one or other
        role = some.payload[2] if some is not None and some.kind is Kind.VARIABLE else ""
        if Spot(path, role) not in subset:
            continue
        if path in tied[0] or path in tied[1]:
            ties = [{"": _how_tied(path, *side)} for side in zip(tied, (here, there), strict=True)]
            found.append(_change(path, ties[0], ties[1]))
        elif one is not None and other is not None:
            found.append(_change(path, describe_node(one), describe_node(other)))
        elif some is not None and not some.edges and not some.kind.is_leaf:  # which no array below it tells of
            sides = [
                "not there" if record is None else _format_named(describe_node(record), ["class"]) for record in records
            ]
            found.append(Change(path, sides[0], sides[1], None))
    return [change for change in found if change is not None]


def labels_that_differ(first: Index, second: Index) -> list[Change]:
    """Return the differences of what no restore sets: the step, and the user's own values."""
    found = [_change("step", {"": repr(first.step)}, {"": repr(second.step)})]
    for name in {**first.meta, **second.meta}:
        sides = ({"": repr(one.meta[name])} if name in one.meta else {"": "nothing"} for one in (first, second))
        found.append(_change(f"meta {name}", *sides))
    return [change for change in found if change is not None]


def _how_tied(path: str, tied: Mapping[str, str], nodes: Mapping[str, int]) -> str:
    if path in tied:
        return f"tied to {tied[path]}"
    return "on its own" if path in nodes else "not there"


def _change(path: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> Change | None:
    """Return what differs between two descriptions by name; None if nothing does."""
    names = [name for name in {**first, **second} if _text(first, name) != _text(second, name)]
    return Change(path, _format_named(first, names), _format_named(second, names), None) if names else None


def _format_named(said: Mapping[str, Any], names: Iterable[str]) -> str:
    return ", ".join(f"{name}={_text(said, name)}" if name else _text(said, name) for name in names)


def _text(said: Mapping[str, Any], name: str) -> str:
    value = said.get(name)
    return value if not name and isinstance(value, str) else repr(value) if name in said else "nothing"
