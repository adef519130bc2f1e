"""Pairs of units of a program and groups of a file, and lists of both with the rest of their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from graftax.checkpoint.foreign.naming import Components
from graftax.checkpoint.foreign.unit import Group, Made, Unit, fit_unit

T = TypeVar("T")
Units: TypeAlias = Sequence[tuple[Components, Unit]]
Groups: TypeAlias = Sequence[tuple[Components, Group]]
"""Units or groups, with the rest of their names."""


@dataclass
class Pairs:
    """The pairs that were found, by the id of the unit, and the rest of both sides."""

    made: dict[int, tuple[Unit, Group, list[Made]]] = field(default_factory=dict)
    units: list[Unit] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)

    def add(self, unit: Unit, group: Group) -> bool:
        """Pair the two if they match, and return whether they do."""
        made = fit_unit(unit, group)
        if made is None:
            return False
        self.made[id(unit)] = unit, group, made
        return True

    def taken(self) -> set[int]:
        """Return the groups that have a partner, by id."""
        return {id(group) for _, group, _ in self.made.values()}


def without(sides: Sequence[tuple[Components, T]], pairs: Pairs) -> list[tuple[Components, T]]:
    """Return the units or groups that have no partner."""
    paired = {*pairs.made, *pairs.taken()}
    return [(parts, side) for parts, side in sides if id(side) not in paired]


def group_by_first(sides: Sequence[tuple[Components, T]]) -> dict[str, list[tuple[Components, T]]]:
    """Return the units or groups by the first component of their names."""
    found: dict[str, list[tuple[Components, T]]] = {}
    for parts, side in sides:
        found.setdefault(parts[0] if parts else "", []).append((parts, side))
    return found
