"""Settings of expressions and metrics that differ from the saved ones: the same values would mean another thing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from graftax.checkpoint.graph import Place, leaves_of
from graftax.checkpoint.index import Index, NodeRecord
from graftax.checkpoint.matching import Match
from graftax.checkpoint.report import Conflict, Settings
from graftax.core.errors import SettingsMismatch
from graftax.reparam.has_settings import HasSettings
from graftax.reparam.live_settings import live_setting
from graftax.reparam.settings import is_same, text_of
from graftax.variables.graph.module import Module


class Differing(NamedTuple):
    """An expression or metric of the program, and its line of the report."""

    expression: Module
    line: Settings


def read_saved_settings(record: NodeRecord) -> Mapping[str, Any]:
    """Return the settings that a node was saved with; none for files, and objects, without them."""
    found = record.facts.get("settings")
    return found if isinstance(found, dict) else {}


def different_settings(match: Match) -> list[Differing]:
    """Return what has something restored, or waiting to be, and settings that differ from the saved ones."""
    found: dict[int, Differing] = {}
    for node, places in match.objects.items():
        saved = read_saved_settings(match.index.nodes[node])
        for place in places if saved else ():
            line = line_of(place.path, place.thing, saved)
            if line is not None and _takes_values(place, match):
                found.setdefault(id(place.thing), Differing(place.thing, line))
    for one in _of_renamed_parts(match) if match.renames.places else ():
        found.setdefault(id(one.expression), one)
    return list(found.values())


def _takes_values(place: Place, match: Match) -> bool:
    """Tell whether values are restored into an object, or wait for it; an expression compares when these come."""
    if any(leaf in match.pairs for leaf in leaves_of(place)):
        return True
    waits = not isinstance(place.thing, HasSettings)
    return waits and any(path.startswith(f"{place.path}/") for path in match.awaited)


def _of_renamed_parts(match: Match) -> Iterator[Differing]:
    """Yield expressions whose parts take their values one by one from those of another, by ``map=``."""
    paired = {place for places in match.objects.values() for place in places}
    for place in match.graph.places:
        if isinstance(place.thing, HasSettings) and place not in paired:
            sources = [match.pairs.get(child) for child in place.edges.values() if child in match.pairs]
            holder = common_holder(match.index, sources)
            saved = {} if holder is None else read_saved_settings(match.index.nodes[holder])
            line = line_of(place.path, place.thing, saved)
            if line is not None:
                yield Differing(place.thing, line)


def common_holder(index: Index, parts: Iterable[int | None]) -> int | None:
    """Return the saved expression that all of these nodes are parts of; None if they are of several, or of none."""
    wanted = {part for part in parts if part is not None}
    found = [n for n, node in enumerate(index.nodes) if wanted and wanted <= {child for _, child in node.edges}]
    return next((node for node in found if read_saved_settings(index.nodes[node])), None)


def line_of(path: str, expression: object, saved: Mapping[str, Any]) -> Settings | None:
    """Return the line of the report for an expression or metric; None if it has no setting that differs.

    A setting that only one side has is not compared: another version of a class may have more of them.

    Args:
        path: Its path.
        expression: The object of the program.
        saved: The saved settings.
    """
    now = expression._gx_facts().get("settings", {}) if isinstance(expression, Module) else {}
    names = [name for name, value in saved.items() if name in now and not is_same(value, now[name])]
    return Settings(path, {n: saved[n] for n in names}, {n: now[n] for n in names}) if names else None


def conflict_of(line: Settings) -> Conflict:
    """Return the conflict for an expression or a metric with other settings."""
    reason = f"was saved with {text_of(line.saved)}, and has {text_of(line.now)} in the program"
    return Conflict(SettingsMismatch, line.path, reason)


def values_to_set(differing: Differing) -> dict[str, Any] | Conflict:
    """Return the saved settings as values of attributes; a conflict if a file cannot have one of them.

    Args:
        differing: The expression or metric, and what differs.
    """
    found = {}
    for name, saved in differing.line.saved.items():
        made = live_setting(saved, vars(differing.expression)[name])
        if made is None:
            line = differing.line
            one = Settings(line.path, {name: saved}, {name: line.now[name]})
            reason = f"{conflict_of(one).reason}; a checkpoint has no functions, and no settings of another kind"
            return Conflict(SettingsMismatch, line.path, reason)
        found[name] = made[0]
    return found


def set_line(line: Settings) -> Settings:
    """Return the line of the report once the saved settings are those of the program."""
    return line._replace(now=line.saved)
