"""Whether pairs that were made by the order of definition agree with names, and with the order of other pairs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

from graftax.checkpoint.foreign.naming import Components, do_names_deny, has_cycle, is_order_known, natural_key
from graftax.checkpoint.foreign.numbering import do_numbers_fall, names_that_count, stem_of
from graftax.checkpoint.foreign.pairs import Groups, Pairs, Units
from graftax.checkpoint.foreign.unit import Group, Unit, fit_unit

Pair: TypeAlias = tuple[Unit, Group]


class Orders:
    """The orders of both sides.

    Args:
        units: All units, in the order of definition.
        keeps_order: Whether groups are in the order in which their layers were defined.
        named: The pairs that a name map has made.
    """

    def __init__(self, units: Sequence[Unit], keeps_order: bool, named: Sequence[Pair]) -> None:
        self._named = named
        self._place = {id(unit): place for place, unit in enumerate(units)}
        self._keeps_order = keeps_order

    def key(self, parts: Components, group: Group) -> tuple[object, ...]:
        """Return what groups are sorted by, from the rest of their names."""
        return (group.position,) if self._keeps_order else natural_key(parts)

    def are_known(self, names: Sequence[Components]) -> bool:
        """Return True if groups with these names, one after the other, are in the order of definition."""
        if self._keeps_order:  # where numbers say another one, nobody knows
            return not do_numbers_fall(names)
        return all(is_order_known(a, b) for a, b in pairwise(names))

    def agree(self, units: Units, groups: Groups, by_order: set[int], unsure: set[int], pairs: Pairs) -> bool:
        """Return False if names, or other pairs, say that the order on both sides is not the same.

        Args:
            units: The units that had no partner before.
            groups: The groups that had none.
            by_order: Units of one class that were paired by order, by id.
            unsure: The units of all these classes.
            pairs: All pairs.
        """
        if len(by_order) < 2:
            return True
        names = {id(unit): parts for parts, unit in units} | {id(group): parts for parts, group in groups}
        made = [(unit, group) for unit, group, _ in pairs.made.values()]
        chosen = [pair for pair in made if id(pair[0]) in by_order]
        others = [pair for pair in made if id(pair[0]) not in by_order]
        if any(0 < sum(self._is_crossed(one, other) for one in chosen) < len(chosen) for other in self._named):
            return False
        counts = [(sum(self._is_crossed(one, other) for one in chosen), other) for other in others]
        parting = [other for count, other in counts if 0 < count < len(chosen)]
        return not (
            any(self._is_crossed(one, other) for one in parting for other in others)
            or (not _are_numbered(chosen, names) and self._are_reversed(counts, len(chosen), unsure))
            or _have_other_names(chosen, names)
        )

    def _are_reversed(self, counts: list[tuple[int, Pair]], size: int, unsure: set[int]) -> bool:
        """Return True if layers stand on the other side of a whole class, and no others say that they alone moved.

        torch lists the parameters of a module before its layers, so these say nothing.
        """
        layers = [(count, other) for count, other in counts if other[0].kind]
        certain = [other for _, other in layers if id(other[0]) not in unsure]
        for one in (other for count, other in layers if count == size):
            beside = [other for other in certain if other is not one]
            if not beside or any(self._is_crossed(one, other) for other in beside):
                return True
        return False

    def _is_crossed(self, one: Pair, other: Pair) -> bool:
        there = self._is_before(one[1], other[1])
        return there is not None and there != (self._place[id(one[0])] < self._place[id(other[0])])

    def _is_before(self, one: Group, other: Group) -> bool | None:
        """Return whether a group is before another one; None if nothing tells."""
        if one is other:
            return None
        if self._keeps_order:
            return one.position < other.position
        here, there = (tuple(group.name.replace(".", "/").split("/")) for group in (one, other))
        return natural_key(here) < natural_key(there) if is_order_known(here, there) else None


def _are_numbered(chosen: list[Pair], names: dict[int, Components]) -> bool:
    """Return True if the names of both sides tell the order by numbers."""
    return all(
        is_order_known(names[id(a)], names[id(b)]) for pair in pairwise(chosen) for a, b in zip(*pair, strict=True)
    )


def _have_other_names(chosen: list[Pair], names: dict[int, Components]) -> bool:
    """Return True if a unit has the name of a group that another unit got, and would fit it; or the number of it."""
    words = [(_last(names[id(unit)]), _last(names[id(group)])) for unit, group in chosen]
    if do_names_deny([("_".join(names[id(unit)]), "_".join(names[id(group)])) for unit, group in chosen]):
        return True
    numbers = [(_number(here), _number(there)) for here, there in words]
    if any(here != there for here, there in numbers) and Counter(n for n, _ in numbers) == Counter(
        n for _, n in numbers
    ):
        return True
    if has_cycle([_places_of_number(place, chosen, numbers) for place in range(len(chosen))]):
        return True
    raw = [(_last(unit.components()), _last(tuple(re.split("[./]", group.name)))) for unit, group in chosen]
    return _is_name_elsewhere(chosen, words) or _is_name_elsewhere(chosen, raw)


def _is_name_elsewhere(chosen: list[Pair], words: list[tuple[str, str]]) -> bool:
    """Return True if a unit has the name of a group that another unit got, and would fit it."""
    common = {here for here, _ in words if stem_of(here)} & {there for _, there in words}
    counting = set(names_that_count(sorted(common), [here for here, _ in words], [there for _, there in words]))
    for (unit, _), (here, there) in zip(chosen, words, strict=True):
        if here == there or here not in counting:
            continue
        if any(word == here and fit_unit(unit, group) for (_, group), (_, word) in zip(chosen, words, strict=True)):
            return True
    return False


def _places_of_number(place: int, chosen: list[Pair], numbers: list[tuple[str, str]]) -> list[int]:
    """Return the places of groups with the number of a unit that would fit it, where none of both has it in its own."""
    (unit, _), (mine, own) = chosen[place], numbers[place]
    if not mine or mine == own:
        return []
    return [
        other
        for other, ((_, group), (here, there)) in enumerate(zip(chosen, numbers, strict=True))
        if there == mine != here and fit_unit(unit, group)
    ]


def _number(word: str) -> str:
    return word[len(stem_of(word)) :].lstrip("_")


def _last(parts: Components) -> str:
    return parts[-1] if parts else ""
