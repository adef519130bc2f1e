"""Grouping arrays that graftax exported or saved: each is a group of its own, named by its path; slots are left out."""

from __future__ import annotations

from graftax.checkpoint.foreign.foreign_array import ForeignFile
from graftax.checkpoint.foreign.unit import Group

_KEPT = "the state of a random stream or a count, which is not loaded: Checkpoint(model=...).restore loads it"
_SLOTS = "a slot of an optimizer, which is not loaded: Checkpoint(model=..., optimizer=...).restore loads it"


def own_groups(file: ForeignFile) -> tuple[list[Group], dict[str, str]]:
    """Return each array as a group, and those that are not weights, with the reason.

    Args:
        file: The file.
    """
    groups = []
    ignored = {}
    for position, (name, array) in enumerate(file.arrays.items()):
        if "/slots(" in f"/{name}":
            ignored[name] = _SLOTS
        elif name in file.facts.variables and file.facts.variables[name].payload[2] not in ("weight", "state"):
            ignored[name] = _KEPT
        elif (holder := file.facts.holder_of(name)) is not None:
            ignored[name] = f"a part of {holder[0]}, an expression, which makes a weight of it with other parts"
        else:
            groups.append(Group(name, {"": array}, position))
    return groups, ignored
