"""Grouping the arrays of a Flax file by module; the gates of a recurrent cell become one group."""

from __future__ import annotations

import re

from graftax.checkpoint.foreign.foreign_array import ForeignFile
from graftax.checkpoint.foreign.unit import Group

_COLLECTIONS = ("params", "batch_stats")
_OF_LAYERS = {"kernel", "bias", "scale", "embedding", "mean", "var"}
_GATE = re.compile(r"[ih][ifgorzn]")
_OTHERS = "no collection of weights"


def flax_groups(file: ForeignFile) -> tuple[list[Group], dict[str, str]]:
    """Return the arrays of a file grouped by module, and those that no module needs, with the reason.

    Args:
        file: The file.
    """
    ignored: dict[str, str] = {}
    groups: dict[str, Group] = {}
    has_collections = any(name.split("/")[0] in _COLLECTIONS for name in file.arrays)
    for position, (name, array) in enumerate(file.arrays.items()):
        parts = name.split("/")
        if has_collections:
            if parts[0] not in _COLLECTIONS:
                ignored[name] = _OTHERS
                continue
            parts = [part for i, part in enumerate(parts) if i > 1 or part not in _COLLECTIONS]
        *prefix, last = parts
        if last not in _OF_LAYERS or not prefix:
            prefix, key = parts, ""
        elif _GATE.fullmatch(prefix[-1]):
            key = f"{prefix.pop()}.{last}"
        else:
            key = last
        where = "/".join(prefix)
        groups.setdefault(where, Group(where, {}, position)).arrays[key] = array
    return list(groups.values()), ignored
