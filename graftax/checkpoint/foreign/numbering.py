"""Numbers in names: whether both sides count the same things, so that equal numbers are equal names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from graftax.checkpoint.foreign.naming import Components, natural_key


class Siblings:
    """The names beside each other on one side, of all that there is, whether it has a partner yet or not.

    Args:
        names: The names, as components.
    """

    def __init__(self, names: Iterable[Components]) -> None:
        self._below: dict[Components, dict[str, None]] = {}
        for parts in names:
            for i, part in enumerate(parts):
                self._below.setdefault(parts[:i], {})[part] = None

    def below(self, prefix: Components) -> list[str]:
        """Return the names below a prefix, each once."""
        return list(self._below.get(prefix, ()))


class Counting:
    """Whether a name that both sides have means the same, at each of its levels.

    Args:
        ours: All names of the program, as components.
        theirs: All names of the file, likewise.
    """

    def __init__(self, ours: Iterable[Components], theirs: Iterable[Components]) -> None:
        self._ours, self._theirs = Siblings(ours), Siblings(theirs)

    def is_same(self, name: Components) -> bool:
        """Return False if a number in a name counts other things on both sides."""
        levels = [(part, self._ours.below(name[:i]), self._theirs.below(name[:i])) for i, part in enumerate(name)]
        return all(names_that_count([part], here, there) for part, here, there in levels)


def names_that_count(common: Iterable[str], ours: Iterable[str], theirs: Iterable[str]) -> list[str]:
    """Return those of the common names that mean the same on both sides.

    Numbers may count layers without weights as well, or begin with another one. So they mean the same only where both
    sides have the same ones; and those behind a word, as in ``dense_1``, also where one side has more of them.

    Args:
        common: The names that both sides have.
        ours: All names of the program beside each other.
        theirs: All names of the file beside each other.
    """
    here, there = _by_stem(ours), _by_stem(theirs)
    return [name for name in common if _is_alike(stem_of(name), here, there)]


def do_numbers_fall(names: Iterable[Components]) -> bool:
    """Return True if of two names that differ in a number, the larger one comes first.

    Args:
        names: Names one after the other.
    """
    last: dict[tuple[Components, str], int] = {}
    for name in names:
        for i, (word, number, _) in enumerate(natural_key(name)):
            if number < last.setdefault((name[:i], word), number):
                return True
            last[name[:i], word] = number
    return False


def _is_alike(stem: str, ours: dict[str, set[str]], theirs: dict[str, set[str]]) -> bool:
    here, there = ours.get(stem, set()), theirs.get(stem, set())
    return here == there or (stem != "" and len(here) != len(there))


def _by_stem(names: Iterable[str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name in names:
        found.setdefault(stem_of(name), set()).add(name)
    return found


def stem_of(name: str) -> str:
    """Return a name without the number at its end: ``dense`` for ``dense_1``, nothing for ``12``."""
    return re.sub(r"_?\d+$", "", name)
