"""Tied weights: a file may have one array under two names, of which the program needs only one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graftax.checkpoint.foreign.foreign_array import ForeignArray
from graftax.checkpoint.foreign.unit import Group


def find_twins(group: Group, used: Iterable[ForeignArray]) -> dict[str, str] | None:
    """Return, for each array of a group, the equal array that was used; None unless all have one.

    Args:
        group: A group that no unit uses.
        used: The arrays that Variables use.
    """
    known = list(used)
    found = {}
    for array in group.arrays.values():
        twin = next((other for other in known if _is_same(array, other)), None)
        if twin is None:
            return None
        found[array.name] = twin.name
    return found


def without_twins(groups: Iterable[Group]) -> tuple[list[Group], list[Group]]:
    """Return the groups without duplicates, and the duplicates, which share the memory of an earlier group.

    Args:
        groups: All groups of a file.
    """
    first: list[Group] = []
    twins: list[Group] = []
    known: set[object] = set()
    for group in groups:
        memory = [array.memory for array in group.arrays.values()]
        is_twin = all(one is not None and one in known for one in memory)
        (twins if is_twin else first).append(group)
        known |= set(memory) - {None}
    return first, twins


def mark_tied(groups: Iterable[Group]) -> None:
    """Let layers leave out what shares the memory of an earlier array: the program may tie it, and keep the rest."""
    known: set[object] = set()
    for group in groups:
        group.tied = frozenset(key for key, array in group.arrays.items() if array.memory in known - {None})
        known |= {array.memory for array in group.arrays.values()}


def _is_same(array: ForeignArray, other: ForeignArray) -> bool:
    if array.memory is not None and array.memory == other.memory:
        return True
    if array.shape != other.shape or array.dtype != other.dtype or len(array.shape) < 2:
        return False  # vectors of zeros or ones are often equal by chance
    return np.array_equal(array.read(), other.read())
