"""Settings of expressions and metrics that differ from the saved ones: the same values would mean another thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graftax.checkpoint.graph import Place, leaves_of
from graftax.checkpoint.index import NodeRecord
from graftax.checkpoint.matching import Match
from graftax.checkpoint.report import Conflict, Settings
from graftax.core.errors import SettingsMismatch
from graftax.reparam.adapted import Adapter
from graftax.reparam.base import Reparam
from graftax.reparam.settings import is_same
from graftax.variables.graph.module import Module


def saved_settings(record: NodeRecord) -> Mapping[str, Any]:
    """Return the settings that a node was saved with; none for files, and objects, without them."""
    found = record.facts.get("settings")
    return found if isinstance(found, dict) else {}


def different_settings(match: Match) -> list[Settings]:
    """Return what has something restored, or waiting to be, and settings that differ from the saved ones."""
    found: dict[int, Settings] = {}
    for node, places in match.objects.items():
        saved = saved_settings(match.index.nodes[node])
        for place in places if saved else ():
            line = line_of(place.path, place.thing, saved)
            if line is not None and _takes_values(place, match):
                found.setdefault(id(place.thing), line)
    return list(found.values())


def _takes_values(place: Place, match: Match) -> bool:
    """Tell whether values are restored into an object, or wait for it; an expression compares when these come."""
    if any(leaf in match.pairs for leaf in leaves_of(place)):
        return True
    waits = not isinstance(place.thing, Reparam | Adapter)
    return waits and any(path.startswith(f"{place.path}/") for path in match.awaited)


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
    saved, now = (", ".join(f"{n}={value!r:.60}" for n, value in one.items()) for one in line[1:])
    return Conflict(SettingsMismatch, line.path, f"was saved with {saved}, and has {now} in the program")
