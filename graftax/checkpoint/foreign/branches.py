"""Graphs of Keras with branches: files number their layers by depth, and a model that is no graph does not tell it."""

from __future__ import annotations

from collections.abc import Iterable

from graftax.checkpoint.foreign.foreign_array import ForeignFile
from graftax.checkpoint.foreign.numbering import stem_of
from graftax.checkpoint.foreign.unit import Group, Unit, fit_unit
from graftax.core import user_line

_MERGES = {"add", "subtract", "multiply", "average", "maximum", "minimum", "concatenate", "dot"}


def warn_of_branches(file: ForeignFile, pairs: Iterable[tuple[Unit, Group]]) -> None:
    """Warn of layers of one shape that only their order tells apart, if the file is of a graph with branches.

    Args:
        file: A file of Keras, loaded into a module without a graph of layers.
        pairs: The layers, and what they got.
    """
    names = {stem_of(path.rpartition("/")[2]) for path in file.labels}
    if not names & _MERGES:
        return
    unnamed = [(unit, group) for unit, group in pairs if not _has_its_name(unit, group)]
    unsure = [
        unit.path
        for unit, group in unnamed
        if any(other is not unit and fit_unit(unit, theirs) and fit_unit(other, group) for other, theirs in unnamed)
    ]
    if unsure:
        some = ", ".join(unsure[:4]) + (", ..." if len(unsure) > 4 else "")
        user_line.warn(
            f"load_foreign: {file.path} is of a graph of Keras with branches, whose layers are numbered by their "
            f"distance from the outputs, and the module is no graph of layers: {some} have the order of their "
            "definition. Compare the outputs with those of Keras. Instead: names={path: name of the layer}, attributes "
            "with the names of the layers, or a model of gx.Input"
        )


def _has_its_name(unit: Unit, group: Group) -> bool:
    last = unit.path.rpartition("/")[2]
    return (group.is_named and group.label in (last, unit.label)) or last == group.name.rpartition("/")[2]
