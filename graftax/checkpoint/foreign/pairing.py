"""Pairing groups of a file with layers: by name if both sides agree, else by order and shape if that is unambiguous."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

from graftax.checkpoint.foreign.naming import Components, do_names_deny, natural_key
from graftax.checkpoint.foreign.numbering import Siblings, names_that_count
from graftax.checkpoint.foreign.order import Orders, Pair
from graftax.checkpoint.foreign.pairs import Groups, Pairs, Units, group_by_first, without
from graftax.checkpoint.foreign.unit import Group, Unit, fit_unit

T = TypeVar("T")


class Pairing:
    """The search for pairs.

    Args:
        units: All units, with their paths.
        groups: All groups, with their names.
        keeps_order: Whether groups are in the order in which their layers were defined.
        by_name: Whether only names are compared. Defaults to False.
        given_away: Groups, by id, that a name map gives to other units: only equal names give them to one more.
            Defaults to none.
        named: The pairs that a name map has made. Defaults to none.
    """

    def __init__(
        self,
        units: Units,
        groups: Groups,
        keeps_order: bool,
        by_name: bool = False,
        given_away: frozenset[int] = frozenset(),
        named: Sequence[Pair] = (),
    ) -> None:
        self._ours = {id(unit): parts for parts, unit in units}
        self._theirs = {id(group): parts for parts, group in groups}
        self._beside_ours = Siblings(self._ours.values())
        self._beside_theirs = Siblings(self._theirs.values())
        self._orders = Orders([unit for _, unit in units], keeps_order, named)
        self._by_name = by_name
        self._given_away = given_away

    def pair(self, units: Units, groups: Groups) -> Pairs:
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
        rest_groups = [(parts, group) for parts, group in rest_groups if id(group) not in self._given_away]
        if not self._by_name:
            rest_units, rest_groups = self._pair_by_labels(pairs, rest_units, rest_groups)
            rest_units, rest_groups = self._pair_by_names_inside(pairs, rest_units, rest_groups)
            by_order = _ByOrder(self._orders, pairs)
            for by_kind in (True, False):
                rest_units, rest_groups = by_order.pair(rest_units, rest_groups, by_kind)
        pairs.units = [unit for _, unit in rest_units]
        pairs.groups = [group for _, group in rest_groups]
        return pairs

    # --- names --------------------------------------------------------------------------------------------------------

    def _pair_by_names(self, pairs: Pairs, units: Units, groups: Groups) -> tuple[Units, Groups]:
        units, groups = _unwrap(units, groups)
        ours, theirs = group_by_first(units), group_by_first(groups)
        common = [name for name in ours if name in theirs and name != ""]
        if common and not self._by_name:
            beside = self._names_beside(units, groups)
            common = names_that_count(common, *beside)
        for name in common:
            pairs.made |= self._pair_within(ours[name], theirs[name]).made
        return without(units, pairs), without(groups, pairs)

    def _names_beside(self, units: Units, groups: Groups) -> tuple[list[str], list[str]]:
        """Return the names beside those that come first in the rest of the names, also of what has a partner."""
        (parts, unit), (name, group) = units[0], groups[0]
        here, there = self._ours[id(unit)], self._theirs[id(group)]
        here, there = here[: len(here) - len(parts)], there[: len(there) - len(name)]
        return self._beside_ours.below(here), self._beside_theirs.below(there)

    def _pair_within(self, units: Units, groups: Groups) -> Pairs:
        found = Pairs()
        if len(units) == len(groups) == 1 and len(units[0][0]) == len(groups[0][0]) == 1:
            found.add(units[0][1], groups[0][1])
            return found
        return self.pair([(p[1:], u) for p, u in units], [(p[1:], g) for p, g in groups])

    def _pair_by_labels(self, pairs: Pairs, units: Units, groups: Groups) -> tuple[Units, Groups]:
        """Pair layers with the same given name, which may be that of an attribute, here or in the file."""
        counts = Counter(unit.label for _, unit in units)
        for parts, unit in units:
            names = {unit.label, *parts[-1:]} - {""}
            attribute = unit.label if counts[unit.label] == 1 else ""
            same = [
                group
                for there, group in groups
                if (group.label in names and (group.label == unit.label or group.is_named))
                or (attribute and not group.label and there[-1:] == (attribute,))
            ]
            if len(same) == 1 and id(same[0]) not in pairs.taken():
                pairs.add(unit, same[0])
        return without(units, pairs), without(groups, pairs)

    def _pair_by_names_inside(self, pairs: Pairs, units: Units, groups: Groups) -> tuple[Units, Groups]:
        """Pair parts of another name if the same names are inside, in their order: `blocks/0/fc2`, `layer.0.fc2`."""
        ours = _parts_by_names_inside(units)
        theirs = _parts_by_names_inside(sorted(groups, key=lambda entry: self._orders.key(*entry)))
        for inside, here in ours.items():
            there = theirs.get(inside, {})
            if len(here) != len(there) or not self._orders.are_known([(name,) for name in there]):
                continue
            if do_names_deny(list(zip(here, there, strict=True))):
                continue
            found = [self._pair_within(*both) for both in zip(here.values(), there.values(), strict=True)]
            if all(len(one.made) == len(part) for one, part in zip(found, here.values(), strict=True)):
                for one in found:
                    pairs.made |= one.made
        return without(units, pairs), without(groups, pairs)


# --- order and shapes -------------------------------------------------------------------------------------------------


class _ByOrder:
    """The search for pairs by shapes, and by the order of definition where several fit."""

    def __init__(self, orders: Orders, pairs: Pairs) -> None:
        self._orders = orders
        self._pairs = pairs
        self._disproved: set[int] = set()  # units of which the order on both sides is not the same

    def pair(self, units: Units, groups: Groups, by_kind: bool) -> tuple[Units, Groups]:
        """Pair what is unambiguous, and return the rest of both sides.

        Args:
            units: The units.
            groups: The groups.
            by_kind: Whether a name that is that of a class of layers excludes other classes, and one that tells the
                direction of a recurrent layer the other direction.
        """
        groups = sorted(groups, key=lambda entry: self._orders.key(*entry))
        before = dict(self._pairs.made)
        while True:
            classes = self._pair_once(units, groups, by_kind)
            unsure = set().union(*classes)
            wrong = [ids for ids in classes if not self._orders.agree(units, groups, ids, unsure, self._pairs)]
            if not wrong:
                return without(units, self._pairs), without(groups, self._pairs)
            self._disproved |= set().union(*wrong)
            self._pairs.made = dict(before)

    def _pair_once(self, units: Units, groups: Groups, by_kind: bool) -> list[set[int]]:
        """Add pairs, and return the units that were paired by order, by id, in classes."""
        pairs = self._pairs
        backwards = _backwards_among(units, groups) if by_kind else None
        classes = [self._pair_in_order(units, groups, backwards)]
        kinds = {kind for _, unit in units for kind in unit.kind[:1]}
        able = {
            id(unit): [
                (parts, group)
                for parts, group in groups
                if not (by_kind and _is_other_kind(unit, parts, kinds))
                and not _is_other_way(unit, group, backwards)
                and fit_unit(unit, group)
            ]
            for _, unit in units
        }
        paired = pairs.taken()
        waiting = [unit for _, unit in units if id(unit) not in pairs.made]
        progress = True
        while progress:
            progress = False
            for unit in waiting:
                candidates = [entry for entry in able[id(unit)] if id(entry[1]) not in paired]
                rivals = [u for u in waiting if any(e[1] is g for e in able[id(u)] for _, g in candidates)]
                chosen = self._choose(unit, rivals, candidates, able, paired)
                for one, group in chosen:
                    pairs.add(one, group)
                    paired.add(id(group))
                if chosen:
                    classes += [{id(one) for one, _ in chosen}] if len(chosen) > 1 else []
                    waiting = [u for u in waiting if id(u) not in pairs.made]
                    progress = True
                    break
        return classes

    def _choose(
        self,
        unit: Unit,
        rivals: list[Unit],
        candidates: Groups,
        able: Mapping[int, Groups],
        paired: set[int],
    ) -> list[tuple[Unit, Group]]:
        """Return unambiguous pairs: one group for one unit, or equally many of both in a known order."""
        if len(candidates) == 1 and len(rivals) == 1:
            return [(unit, candidates[0][1])]
        same = [{id(g) for _, g in able[id(u)] if id(g) not in paired} for u in rivals]
        is_class = len(candidates) == len(rivals) and all(one == same[0] for one in same)
        if any(id(one) in self._disproved for one in rivals):
            return []
        if candidates and is_class and self._orders.are_known([parts for parts, _ in candidates]):
            return [(u, group) for u, (_, group) in zip(rivals, candidates, strict=True)]
        return []

    def _pair_in_order(self, units: Units, groups: Groups, backwards: set[int] | None) -> set[int]:
        """Pair them in order if all match (units that are not selected need not match), and return the units."""
        if len(units) != len(groups) or not self._orders.are_known([parts for parts, _ in groups]):
            return set()
        if any(id(unit) in self._disproved for _, unit in units):
            return set()
        if any(_is_other_way(unit, group, backwards) for (_, unit), (_, group) in zip(units, groups, strict=True)):
            return set()
        fits = [fit_unit(unit, group) for (_, unit), (_, group) in zip(units, groups, strict=True)]
        if not all(made or not unit.is_wanted for made, (_, unit) in zip(fits, units, strict=True)):
            return set()
        found = set()
        for (_, unit), (_, group), made in zip(units, groups, fits, strict=True):
            if made is not None:
                self._pairs.made[id(unit)] = unit, group, made
                found.add(id(unit))
        return found


def _is_other_kind(unit: Unit, parts: Components, kinds: set[str]) -> bool:
    """Return True if the name of a group is that of another class of layers."""
    stem = natural_key(parts[-1:])[0][0] if parts else ""
    return stem in kinds and bool(unit.kind) and stem not in unit.kind


def _backwards_among(units: Units, groups: Groups) -> set[int] | None:
    """Return the groups of recurrent layers that go backwards, by id; None if one of the sides does not tell."""
    found = {id(group) for _, group in groups if group.name.endswith("_reverse")}
    return found if found and any(unit.goes_backwards for _, unit in units) else None


def _is_other_way(unit: Unit, group: Group, backwards: set[int] | None) -> bool:
    told = backwards is not None and unit.goes_backwards is not None
    return told and unit.goes_backwards != (id(group) in (backwards or ()))


def _parts_by_names_inside(
    entries: Sequence[tuple[Components, T]],
) -> dict[object, dict[str, list[tuple[Components, T]]]]:
    """Return the parts of one side with several layers, by the names of these, which tell them apart."""
    found: dict[object, dict[str, list[tuple[Components, T]]]] = {}
    for first, inside in group_by_first(entries).items():
        words = Counter("" if parts[-1].isdecimal() else parts[-1] for parts, _ in inside if len(parts) > 1)
        if words.total() == len(inside) and len(words) > 1:
            found.setdefault(frozenset(words.items()), {})[first] = inside
    return found


def _unwrap(units: Units, groups: Groups) -> tuple[Units, Groups]:
    """Drop a first component that all names of a side have and none of the other, such as ``module.``."""
    changed = True
    while changed:
        changed = False
        ours, theirs = group_by_first(units), group_by_first(groups)
        drop_ours, drop_theirs = (len(side) == 1 for side in (ours, theirs))
        if set(ours) & set(theirs) or (drop_ours and not _are_inner(units)) or (drop_theirs and not _are_inner(groups)):
            break
        if drop_theirs:
            groups, changed = [(parts[1:], group) for parts, group in groups], True
        if drop_ours:
            units, changed = [(parts[1:], unit) for parts, unit in units], True
    return units, groups


def _are_inner(sides: Sequence[tuple[Components, object]]) -> bool:
    return all(len(parts) > 1 for parts, _ in sides)
