"""Grouping the arrays of a Keras HDF5 file by layer."""

from __future__ import annotations

from graftax.checkpoint.foreign.foreign_array import ForeignFile
from graftax.checkpoint.foreign.unit import Group

_SEEDS = "the state of a random stream, which is not loaded: the stream starts from its seed"
_OPTIMIZER = "the state of the optimizer, which is not loaded: training goes on with a new one"


def keras_groups(file: ForeignFile) -> tuple[list[Group], dict[str, str]]:
    """Return the arrays of a file grouped by layer, and those that no layer needs, with the reason.

    Args:
        file: The file.
    """
    ignored: dict[str, str] = {}
    groups: dict[str, Group] = {}
    for position, (name, array) in enumerate(file.arrays.items()):
        prefix, _, number = name.rpartition("/")
        parts = prefix.split("/")
        if parts[0] == "optimizer":
            ignored[name] = _OPTIMIZER
        elif "seed_generator" in parts:
            ignored[name] = _SEEDS
        else:
            if parts[-1] == "vars":
                parts.pop()
            label = file.labels.get("/".join(parts), "")
            if parts and parts[-1] == "cell":
                parts.pop()
                label = file.labels.get("/".join(parts), "")
            kept = [part for part in parts if part != "layers"] or parts
            group = groups.setdefault("/".join(parts), Group("/".join(kept), {}, position, label))
            group.arrays[number] = array
    return list(groups.values()), ignored
