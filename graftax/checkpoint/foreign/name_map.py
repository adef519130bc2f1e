"""The argument ``names=``: parts of the program, and the parts of the file that they take their values from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from graftax.checkpoint.foreign.naming import components_of_names, with_synonyms
from graftax.checkpoint.foreign.pairs import Groups, Units
from graftax.checkpoint.foreign.unit import Group, Part, Unit, fit_unit
from graftax.checkpoint.nearest import nearest
from graftax.core.errors import ArgumentError, ArgumentTypeError, MissingInCheckpoint


class Scope(NamedTuple):
    """A part of the program and the corresponding part of the file, as prefixes of paths and names."""

    path: str
    name: str


class Scoped(NamedTuple):
    """A scope with what is in it and in no narrower one."""

    scope: Scope
    units: list[Unit]
    groups: list[Group]


def scopes_of(names: Mapping[str, str], units: Iterable[Unit], groups: Sequence[Group], file: str) -> list[Scope]:
    """Return the scopes that a name map describes; each ``*`` of a path stands for one component.

    Args:
        names: Paths of the program, and names of the file. A ``*`` in a name stands for the text of that in the path.
        units: The units of the program.
        groups: The groups of the file.
        file: The path of the file, for messages.

    Raises:
        ArgumentError: a path matches nothing, or there are more ``*`` in the name than in the path.
        MissingInCheckpoint: a name is not in the file.
    """
    if not isinstance(names, Mapping):
        raise ArgumentTypeError(
            f"names={names!r:.80}, of type {type(names).__name__}",
            "it is a dict: paths of the program, each with the name in the file that it takes its values from",
            'names={"head": "fc"}',
        )
    paths = {prefix for unit in units for path in _paths(unit) for prefix in _prefixes(path, "/")}
    there = {prefix for group in groups for name in _names(group) for prefix in _prefixes(name, "./")}
    labels = {group.label: group.name for group in groups if group.is_named}
    found: dict[str, Scope] = {}
    for path, name in names.items():
        if not isinstance(path, str) or not isinstance(name, str):
            raise ArgumentTypeError(
                f"names={{{path!r:.60}: {name!r:.60}}}",
                "both are text: a path of the program, and a name in the file",
                'names={"head": "fc"}',
            )
        pattern = re.compile("/".join("([^/]+)" if part == "*" else re.escape(part) for part in path.split("/")))
        hits = [(prefix, match.groups()) for prefix in sorted(paths) if (match := pattern.fullmatch(prefix))]
        if not hits:
            known = sorted(paths - {""})
            if path in there:
                raise ArgumentError(
                    f"names={{{path!r}: {name!r}}}",
                    f"{path!r} is a name in the file; a path of the program comes first, and then the name in the file",
                    f"names={{{name!r}: {path!r}}}",
                )
            raise ArgumentError(
                f"names= has the path {path!r}",
                f"the program has no such path{nearest(path, known)}",
                f"one of {', '.join(known[:6])}{', ...' if len(known) > 6 else ''}",
            )
        for prefix, words in hits:
            if name.count("*") > len(words):
                raise ArgumentError(
                    f"names={{{path!r}: {name!r}}}",
                    "each * in the name of the file stands for the text of a * in the path, and the path has fewer",
                    'as many * in both: names={"blocks/*/attention": "h.*.attn"}',
                )
            meant = name
            for word in words:
                meant = meant.replace("*", word, 1)
            if meant not in there and meant in labels:
                meant = labels[meant]
            if meant not in there:
                raise MissingInCheckpoint(
                    f"names= takes {prefix!r} from {meant!r}",
                    f"{file} has no such name{nearest(meant, sorted(there - {''}))}",
                    f"one of {_some_names(there)}; the command `graftax ckpt show {file}` lists all",
                )
            found[prefix] = Scope(prefix, meant)
    return sorted(found.values(), key=_depth)


def _some_names(names: set[str]) -> str:
    shortest = sorted(names - {""}, key=lambda name: (len(re.findall("[./]", name)), name))
    return ", ".join(shortest[:6]) + (", ..." if len(shortest) > 6 else "")


def with_rests(scopes: list[Scope], units: Iterable[Unit], groups: Sequence[Group]) -> list[Scope]:
    """Return the scopes, and those of the rest of layers of which single Variables take arrays of one other layer.

    The rest follows only where it fits the rest of that layer, which nothing else takes.

    Args:
        scopes: The scopes that a name map describes.
        units: The units of the program.
        groups: The groups of the file.
    """
    meant = {scope.path: scope.name for scope in scopes}
    holders = {a.name: group for group in groups for a in group.arrays.values() if a.name != group.name}
    own = {components for components, _ in named_groups(list(groups))}
    rests: dict[str, list[Scope]] = {}
    for unit in units:
        sources = [holders.get(meant[part.path]) for part in unit.parts if part.path in meant]
        group = sources[0] if sources else None
        if group is None or any(one is not group for one in sources) or unit.components() in own:
            continue
        if unit.path in meant or group.name in meant.values():
            continue
        rest = replace(unit, parts=[part for part in unit.parts if part.path not in meant])
        arrays = {key: array for key, array in group.arrays.items() if array.name not in meant.values()}
        if rest.parts and fit_unit(rest, replace(group, arrays=arrays)) is not None:
            rests.setdefault(group.name, []).append(Scope(unit.path, group.name))
    return sorted([*scopes, *(found[0] for found in rests.values() if len(found) == 1)], key=_depth)


def _depth(scope: Scope) -> int:
    return -len(scope.path.split("/")) if scope.path else 0


def split_units(units: list[Unit], scopes: Iterable[Scope]) -> list[Unit]:
    """Return the units, after splitting those of which single Variables have an entry in the name map."""
    single = {scope.path for scope in scopes}
    found: list[Unit] = []
    for unit in units:
        alone = [part for part in unit.parts if part.path in single and part.path != unit.path]
        apart = {part.path for part in alone}
        rest = [part for part in unit.parts if part.path not in apart]
        found += [
            Unit(part.path, (), "", [_of_one_array(part)], unit.is_wanted, unnamed=unit.unnamed) for part in alone
        ]
        if rest:
            found.append(replace(unit, parts=rest, leaves_some=bool(alone)))
    return found


def split_groups(groups: list[Group], scopes: Iterable[Scope]) -> list[Group]:
    """Return the groups, after splitting off single arrays that the name map names."""
    single = {scope.name for scope in scopes}
    found: list[Group] = []
    for group in groups:
        alone = {key for key, array in group.arrays.items() if array.name in single and array.name != group.name}
        rest = {key: array for key, array in group.arrays.items() if key not in alone}
        found += [Group(group.arrays[key].name, {"": group.arrays[key]}, group.position) for key in alone]
        if rest:
            found.append(Group(group.name, rest, group.position, group.label))
    return found


def is_within(name: str, prefix: str) -> bool:
    """Return True if a path or name equals a prefix or lies below it."""
    return not prefix or name == prefix or (name.startswith(prefix) and name[len(prefix)] in "./")


def rest_of(name: str, prefix: str) -> str:
    """Return the rest of a name after a prefix."""
    return name[len(prefix) :].lstrip("./") if prefix else name


def named_units(units: list[Unit], prefix: str = "") -> Units:
    """Return units with the rest of their paths after a prefix."""
    paths = with_synonyms([unit.components(prefix) for unit in units])
    return list(zip(paths, units, strict=True))


def named_groups(groups: list[Group], prefix: str = "") -> Groups:
    """Return groups with the rest of their names after a prefix."""
    names = components_of_names([rest_of(group.name, prefix) for group in groups])
    return list(zip(names, groups, strict=True))


def _of_one_array(part: Part) -> Part:
    ways = [choice._replace(names=("",)) for choice in part.choices if len(choice.names) == 1]
    return part._replace(choices=tuple(ways))


def _paths(unit: Unit) -> list[str]:
    return [unit.path, *(part.path for part in unit.parts)]


def _names(group: Group) -> list[str]:
    return [group.name, *(array.name for array in group.arrays.values())]


def _prefixes(name: str, separators: str) -> list[str]:
    return ["", *(name[:i] for i, c in enumerate(name) if c in separators), name]


def divide_by_scope(scopes: list[Scope], units: list[Unit], groups: list[Group]) -> list[Scoped]:
    """Return the scopes with their units and groups: each of these is in the narrowest scope that contains it."""
    found = []
    taken: set[int] = set()
    for scope in scopes:
        inside = [unit for unit in units if id(unit) not in taken and is_within(unit.path, scope.path)]
        taken |= {id(unit) for unit in inside}
        narrower = [s.name for s in scopes if scope.path and s.name != scope.name and is_within(s.name, scope.name)]
        there = [
            group
            for group in groups
            if is_within(group.name, scope.name) and not any(is_within(group.name, name) for name in narrower)
        ]
        found.append(Scoped(scope, inside, there))
    return found
