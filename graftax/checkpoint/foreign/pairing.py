"""Pairing groups of a file with layers: by name if both sides agree, else by order and shape if that is unambiguous."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias, TypeVar

from graftax.checkpoint.foreign.naming import Components, is_order_known, natural_key
from graftax.checkpoint.foreign.unit import Group, Made, Unit, fit_unit

T = TypeVar("T")
Units: TypeAlias = list[tuple[Components, Unit]]
Groups: TypeAlias = list[tuple[Components, Group]]
"""Units or groups, with the rest of their names."""


@dataclass
class Pairs:
    """The pairs that were found, and the rest of both sides."""

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


class Pairing:
    """The search for pairs.

    Args:
        keeps_order: Whether groups are in the order in which their layers were defined.
        by_name: Whether only names are compared.
    """

    def __init__(self, keeps_order: bool, by_name: bool = False) -> None:
        self._keeps_order = keeps_order
        self._by_name = by_name

    def pair(self, units: Sequence[tuple[Components, Unit]], groups: Sequence[tuple[Components, Group]]) -> Pairs:
        """Return the pairs of units and groups.

        Args:
            units: The units, with the rest of their paths, in the order of definition.
            groups: The groups, with the rest of their names.
        """
        pairs = Pairs()
        if len(units) == len(groups) == 1 and not units[0][0] and not groups[0][0]:  # a name map says just these two
            pairs.add(units[0][1], groups[0][1])
        left, free = ([], []) if pairs.made else (list(units), list(groups))
        rest_units, rest_groups = self._pair_by_names(pairs, left, free)
        if not self._by_name:
            rest_units, rest_groups = self._pair_by_labels(pairs, rest_units, rest_groups)
            for by_kind in (True, False):
                rest_units, rest_groups = self._pair_by_order(pairs, rest_units, rest_groups, by_kind)
        pairs.units = [unit for _, unit in rest_units]
        pairs.groups = [group for _, group in rest_groups]
        return pairs

    # --- names --------------------------------------------------------------------------------------------------------

    def _pair_by_names(self, pairs: Pairs, units: Units, groups: Groups) -> tuple[Units, Groups]:
        units, groups = _unwrap(units, groups)
        ours, theirs = _group_by_first(units), _group_by_first(groups)
        common = [name for name in ours if name in theirs and name != ""]
        numbers = [name for name in common if name.isdecimal()]
        all_numbers = {name for name in (*ours, *theirs) if name.isdecimal()}
        if set(numbers) != all_numbers:  # the other library may also count layers without weights
            common = [name for name in common if not name.isdecimal()]
        paired: set[int] = set()
        for name in common:
            inside = self._pair_within(ours[name], theirs[name])
            pairs.made |= inside.made
            paired |= {id(unit) for unit, _, _ in inside.made.values()}
            paired |= {id(group) for _, group, _ in inside.made.values()}
        return _remove_paired(units, paired), _remove_paired(groups, paired)

    def _pair_within(self, units: Units, groups: Groups) -> Pairs:
        found = Pairs()
        if len(units) == len(groups) == 1 and len(units[0][0]) == len(groups[0][0]) == 1:
            found.add(units[0][1], groups[0][1])
            return found
        return self.pair([(p[1:], u) for p, u in units], [(p[1:], g) for p, g in groups])

    def _pair_by_labels(self, pairs: Pairs, units: Units, groups: Groups) -> tuple[Units, Groups]:
        """Pair layers with the same given name."""
        paired: set[int] = set()
        for _, unit in units:
            same = [group for _, group in groups if unit.label and group.label == unit.label]
            if len(same) == 1 and pairs.add(unit, same[0]):
                paired |= {id(unit), id(same[0])}
        return _remove_paired(units, paired), _remove_paired(groups, paired)

    # --- order and shapes ---------------------------------------------------------------------------------------------

    def _pair_by_order(
        self,
        pairs: Pairs,
        units: Units,
        groups: Groups,
        by_kind: bool,
    ) -> tuple[Units, Groups]:
        groups = sorted(groups, key=lambda g: g[1].position if self._keeps_order else natural_key(g[0]))
        paired: set[int] = set()
        if self._is_ordered([parts for parts, _ in groups]):
            paired = self._pair_in_order(pairs, units, groups)
        kinds = {kind for _, unit in units for kind in unit.kind[:1]}
        able = {
            id(unit): [
                (parts, group)
                for parts, group in groups
                if not (by_kind and _is_other_kind(unit, parts, kinds)) and fit_unit(unit, group)
            ]
            for _, unit in units
        }
        waiting = [unit for _, unit in units if id(unit) not in paired]
        progress = True
        while progress:
            progress = False
            for unit in waiting:
                candidates = [entry for entry in able[id(unit)] if id(entry[1]) not in paired]
                rivals = [u for u in waiting if any(e[1] is g for e in able[id(u)] for _, g in candidates)]
                chosen = self._choose(unit, rivals, candidates, able, paired)
                for one, group in chosen:
                    pairs.add(one, group)
                    paired |= {id(one), id(group)}
                if chosen:
                    waiting = [u for u in waiting if id(u) not in paired]
                    progress = True
                    break
        return _remove_paired(units, paired), _remove_paired(groups, paired)

    def _choose(
        self,
        unit: Unit,
        rivals: list[Unit],
        candidates: Groups,
        able: dict[int, Groups],
        paired: set[int],
    ) -> list[tuple[Unit, Group]]:
        """Return unambiguous pairs: one group for one unit, or equally many of both in a known order."""
        if len(candidates) == 1 and len(rivals) == 1:
            return [(unit, candidates[0][1])]
        same = [{id(g) for _, g in able[id(u)] if id(g) not in paired} for u in rivals]
        is_class = len(candidates) == len(rivals) and all(one == same[0] for one in same)
        if candidates and is_class and self._is_ordered([parts for parts, _ in candidates]):
            return [(u, group) for u, (_, group) in zip(rivals, candidates, strict=True)]
        return []

    def _is_ordered(self, names: list[Components]) -> bool:
        if self._keeps_order:
            return True
        return all(is_order_known(a, b) for a, b in pairwise(names))

    def _pair_in_order(self, pairs: Pairs, units: Units, groups: Groups) -> set[int]:
        """Pair them in order if all match (units that are not selected need not match), and return the pairs."""
        if len(units) != len(groups):
            return set()
        fits = [fit_unit(unit, group) for (_, unit), (_, group) in zip(units, groups, strict=True)]
        if not all(made or not unit.is_wanted for made, (_, unit) in zip(fits, units, strict=True)):
            return set()
        paired = set()
        for (_, unit), (_, group), made in zip(units, groups, fits, strict=True):
            if made is not None:
                pairs.made[id(unit)] = unit, group, made
                paired |= {id(unit), id(group)}
        return paired


def _is_other_kind(unit: Unit, parts: Components, kinds: set[str]) -> bool:
    """Return True if the name of a group is that of another class of layers."""
    stem = natural_key(parts[-1:])[0][0] if parts else ""
    return stem in kinds and bool(unit.kind) and stem not in unit.kind


def _unwrap(units: Units, groups: Groups) -> tuple[Units, Groups]:
    """Drop a first component that all names of one side have and none of the other, such as ``module.``."""
    changed = True
    while changed:
        changed = False
        ours, theirs = _group_by_first(units), _group_by_first(groups)
        if len(theirs) == 1 and len(ours) > 1 and not set(ours) & set(theirs) and _are_inner(groups):
            groups, changed = [(parts[1:], group) for parts, group in groups], True
        elif len(ours) == 1 and len(theirs) > 1 and not set(ours) & set(theirs) and _are_inner(units):
            units, changed = [(parts[1:], unit) for parts, unit in units], True
    return units, groups


def _are_inner(sides: Sequence[tuple[Components, object]]) -> bool:
    return all(len(parts) > 1 for parts, _ in sides)


def _group_by_first(sides: Sequence[tuple[Components, T]]) -> dict[str, list[tuple[Components, T]]]:
    found: dict[str, list[tuple[Components, T]]] = {}
    for parts, side in sides:
        found.setdefault(parts[0] if parts else "", []).append((parts, side))
    return found


def _remove_paired(sides: Sequence[tuple[Components, T]], paired: set[int]) -> list[tuple[Components, T]]:
    return [(parts, side) for parts, side in sides if id(side) not in paired]
