"""Layers that fit each other's arrays, and that nothing in their names tells apart: the order alone has paired them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from math import prod
from typing import NamedTuple, TypeAlias

from graftax.checkpoint.foreign.naming import Components, are_common, components_of_names, with_synonyms, words_of
from graftax.checkpoint.foreign.unit import Group, Unit, fit_unit

Numbers: TypeAlias = tuple[int, ...]


class _Named(NamedTuple):
    """A pair with its names on both sides: whole, without numbers, and the numbers."""

    unit: Unit
    group: Group
    here: Components
    there: Components
    stems: tuple[Components, Components]
    numbers: tuple[Numbers, Numbers]


_Kin: TypeAlias = "list[_Named]"
"""Pairs of one shape whose names differ in numbers only."""

_OF_ANY_LAYER = frozenset("conv dense fc layer lin linear proj to".split())
"""Words that two names may have by chance: they count if both of two pairs have one of their own."""


def paired_by_order(pairs: Iterable[tuple[Unit, Group]], part_of: Mapping[int, str]) -> list[Unit]:
    """Return the units that could have the arrays of each other, where no name says who gets which.

    Names say so if they have a word in common with those of their partner that the other pair does not have, or if they
    differ in numbers that rise on both sides.

    Args:
        pairs: Units, and what they got.
        part_of: By the id of a unit, the part of the program, of those that a name map tells apart, that it is in.
    """
    found = [(unit, group) for unit, group in pairs if not _has_its_label(unit, group)]
    here = _without_root(with_synonyms([unit.components() for unit, _ in found]))
    there = _without_root(components_of_names([group.name for _, group in found]))
    kin: dict[object, _Kin] = {}
    sizes: dict[object, list[object]] = {}
    for (unit, group), ours, theirs in zip(found, here, there, strict=True):
        if ours == theirs:
            continue
        (our_stems, our_numbers), (their_stems, their_numbers) = _parts_of(ours), _parts_of(theirs)
        shapes = tuple((name, array.shape) for name, array in group.arrays.items())
        part = part_of.get(id(unit), "")
        stems = our_stems, their_stems
        key = part, stems, unit.kind, shapes, tuple(tuple(p.variable.shape) for p in unit.parts)
        if key not in kin:
            sizes.setdefault((part, sum(prod(tuple(p.variable.shape)) for p in unit.parts)), []).append(key)
        kin.setdefault(key, []).append(_Named(unit, group, ours, theirs, stems, (our_numbers, their_numbers)))
    unsure: set[int] = set()
    for keys in sizes.values():
        entries = [kin[key] for key in keys]
        for one in entries:
            if not _do_numbers_rise(one):
                unsure |= {id(named.unit) for named in one}
        for one, other in combinations(entries, 2):
            both = one + other
            is_counted = one[0].stems == other[0].stems and _do_numbers_rise(both)
            if _are_mistakable(one[0], other[0]) and not is_counted:
                unsure |= {id(named.unit) for named in both}
    return [unit for unit, _ in found if id(unit) in unsure]


def _has_its_label(unit: Unit, group: Group) -> bool:
    return group.is_named and group.label in (unit.label, unit.path.rpartition("/")[2])


def _without_root(names: Sequence[Components]) -> list[Components]:
    """Return names without the first components that all of them have."""
    found = list(names)
    while found and all(len(name) > 1 and name[0] == found[0][0] for name in found):
        found = [name[1:] for name in found]
    return found


def _parts_of(name: Components) -> tuple[Components, Numbers]:
    """Return a name without its numbers, and these; a component without a number at its end is before the first."""
    whole = [part if part[-1:].isdigit() else f"{part}_-1" for part in name]
    stems = tuple(re.sub(r"_?-?\d+$", "", part) for part in whole)
    numbers = tuple(int(number) for part in whole for number in re.findall(r"-?\d+$|\d+", part))
    return tuple(re.sub(r"\d+", "#", stem) for stem in stems), numbers


def _do_numbers_rise(kin: _Kin) -> bool:
    numbers = sorted(named.numbers for named in kin)
    return all(one[1] < other[1] for one, other in pairwise(numbers)) or all(a == b for a, b in numbers)


def _are_mistakable(one: _Named, other: _Named) -> bool:
    """Return True if two layers fit each other's arrays, and no word says who gets which."""
    if one.group is other.group or not (fit_unit(one.unit, other.group) and fit_unit(other.unit, one.group)):
        return False
    if _tell_directions(one, other) or _are_at_other_depths(one, other):
        return False
    words = [_own_words(one, other), _own_words(other, one)]
    if all(are_common(*both) for both in words):
        return False
    return not any(are_common(here - _OF_ANY_LAYER, there - _OF_ANY_LAYER) for here, there in words)


def _tell_directions(one: _Named, other: _Named) -> bool:
    """Return True if one of two recurrent layers goes backwards on both sides."""
    ways = one.unit.goes_backwards, other.unit.goes_backwards
    return set(ways) == {True, False} and ways == tuple(p.group.name.endswith("_reverse") for p in (one, other))


def _are_at_other_depths(one: _Named, other: _Named) -> bool:
    """Return True if both sides have one of the two deeper, as blocks of a list and what is behind it."""
    depths = [tuple((len(name), sum(map(str.isdecimal, name))) for name in (p.here, p.there)) for p in (one, other)]
    return all(here == there for here, there in depths) and depths[0] != depths[1]


def _own_words(one: _Named, other: _Named) -> list[set[str]]:
    """Return the words of a pair on both sides, without those of another pair on the same side."""
    ours = [words_of("_".join((*pair.here, pair.unit.label))) for pair in (one, other)]
    theirs = [words_of("_".join((*pair.there, pair.group.label))) for pair in (one, other)]
    return [ours[0] - ours[1], theirs[0] - theirs[1]]
