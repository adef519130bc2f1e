"""Other paths of a variable: of weights that it is a part of, and with given names for edges that lead to Modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any, cast

from graftax.core.scopes import ScopeStack
from graftax.core.typedefs import VariableLike

_MOST = 4  # names in one path of which each may be there or not; of more, the innermost


seen_at: ScopeStack[tuple[object, str]] = ScopeStack("selector")
"""A variable that a predicate is asked about, and its path from where paths begin there: ``path`` says that one."""


class Reached(tuple[str, ...]):
    """All paths of a variable from one Module, those with given names in them, too; its own first.

    Args:
        paths: The paths.
        owners: What is passed on the ways from that Module to the variable, and the Module itself.
    """

    owners: tuple[object, ...]

    def __new__(cls, paths: Iterable[str], owners: tuple[object, ...]) -> Reached:
        """Make one."""
        made = super().__new__(cls, paths)
        made.owners = owners
        return made


def owners_of(item: object) -> Iterator[Any]:
    """Yield what a variable hangs in, from the inside out."""
    owner = getattr(item, "_gx_owner", getattr(item, "owner", None))
    while owner is not None:
        yield owner
        owner = owner._gx_owner


def wholes(item: object) -> Iterator[str]:
    """Yield the paths of the expressions that a variable is a part of."""
    for owner in owners_of(item):
        if isinstance(cast(object, owner), VariableLike):
            yield owner._gx_path


def owners_along(paths: Sequence[str], item: object) -> Iterable[Any]:
    """Return what a variable hangs in, from the inside out: on the ways of these paths, if those are known."""
    return paths.owners if isinstance(paths, Reached) else owners_of(item)


def spellings(paths: Sequence[str], item: object) -> list[str]:
    """Return the paths of a variable, and of the weights it is a part of, with names that users gave in them.

    Args:
        paths: Its path, from some Module, and those of the weights that it is a part of, which begin alike.
        item: The variable, or its spec.
    """
    if isinstance(paths, Reached) or not any(getattr(owner, "_gx_name", None) for owner in owners_of(item)):
        return []
    parts = paths[0].split("/")
    found = spell(parts, _names(parts, item), [path.count("/") + 1 for path in paths])
    return [path for path in found if path not in paths]


def spell(parts: list[str], names: list[tuple[int, str]], lengths: Iterable[int]) -> list[str]:
    """Return a path with each choice of names in it.

    Args:
        parts: The path.
        names: Places in it, from the inside out, and the names of what stands there.
        lengths: How many parts to take: all, and fewer for each weight that it is a part of.
    """
    found: dict[str, None] = {}
    names, lengths = names[:_MOST], list(lengths)
    for chosen in product((False, True), repeat=len(names)):
        spelt = list(parts)
        for take, (place, name) in zip(chosen, names, strict=True):
            if take:
                spelt[place] = name
        found |= dict.fromkeys("/".join(spelt[:length]) for length in lengths)
    return list(found)


def _names(parts: list[str], item: object) -> list[tuple[int, str]]:
    """Return places in a path, and the names of what stands there, as far as the path is that of the first owners."""
    way = _edges_of(item) or parts  # a spec has its path alone
    cut = len(way) - len(parts)
    found: list[tuple[int, str]] = []
    for owner in owners_of(item):
        place = len(_edges_of(owner)) - 1 - cut
        if place < 0 or way[place + cut + 1 :] != parts[place + 1 :]:
            break
        if (name := getattr(owner, "_gx_name", None)) is not None:
            found.append((place, name))
    return found


def _edges_of(node: Any) -> list[str]:
    return list(map(str, node._gx_way())) if hasattr(node, "_gx_way") else []
