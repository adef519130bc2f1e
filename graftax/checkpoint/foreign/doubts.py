"""What a load takes although it may be meant otherwise, since neither names nor shapes tell: it is warned of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from graftax.checkpoint.foreign.foreign_array import ForeignFile
from graftax.checkpoint.foreign.naming import natural_key
from graftax.checkpoint.foreign.numbering import do_numbers_fall, stem_of
from graftax.checkpoint.foreign.report import ForeignReport
from graftax.checkpoint.foreign.rules.layouts import identity
from graftax.checkpoint.foreign.unit import Group, Unit, fit_unit
from graftax.core import user_line

_MERGES = {"add", "subtract", "multiply", "average", "maximum", "minimum", "concatenate", "dot"}


def warn_of_doubts(
    report: ForeignReport, file: ForeignFile, pairs: Sequence[tuple[Unit, Group]], is_told: bool
) -> None:
    """Warn of what may be meant otherwise.

    Args:
        report: What is known of the load.
        file: The file.
        pairs: Layers and single Variables, and what they got.
        is_told: Whether a name map, or a graph of layers, tells layers of one shape apart.
    """
    if report.source == "torch":
        _warn_of_square_weights(pairs)
    if report.source == "keras" and not is_told and _warn_of_branches(file, pairs):
        return
    if report.by_order:
        names = {unit.path: group.name for unit, group in pairs if unit.path == report.by_order[0]}
        user_line.warn(
            f"load_foreign: nothing but the order of definition, in {file.path} and in the module, tells apart "
            f"{_some(report.by_order)}, which fit each other's arrays. Compare the outputs with those of the "
            f"other library, or read report.restored, which lists who got what. Instead: names={names!r}, and so on"
        )


def _warn_of_branches(file: ForeignFile, pairs: Iterable[tuple[Unit, Group]]) -> bool:
    """Warn of layers of one shape that only their order tells apart, if the file is of a graph with branches."""
    names = {stem_of(path.rpartition("/")[2]) for path in file.labels}
    if not names & _MERGES and not _are_numbered_otherwise(file.labels):
        return False
    unnamed = [(unit, group) for unit, group in pairs if not _has_its_name(unit, group)]
    unsure = [
        unit.path
        for unit, group in unnamed
        if any(other is not unit and fit_unit(unit, theirs) and fit_unit(other, group) for other, theirs in unnamed)
    ]
    if unsure:
        user_line.warn(
            f"load_foreign: {file.path} is of a graph of Keras with branches, whose layers are numbered by their "
            f"distance from the outputs, and the module is no graph of layers: {_some(unsure)} have the order of their "
            "definition. Compare the outputs with those of Keras. Instead: names={path: name of the layer}, attributes "
            "with the names of the layers, or a model of gx.Input"
        )
    return bool(unsure)


def _are_numbered_otherwise(labels: Mapping[str, str]) -> bool:
    """Return True if layers were made in another order than the file has: Keras numbers names as layers are made."""
    made = []
    for *above, group in sorted((path.split("/") for path in labels), key=lambda parts: natural_key(tuple(parts))):
        label = labels["/".join([*above, group])]
        if stem_of(label) == stem_of(group):  # the name that Keras gives by itself
            made.append((*above, label))
    return do_numbers_fall(made)


def _warn_of_square_weights(pairs: Iterable[tuple[Unit, Group]]) -> None:
    """Warn of square matrices of torch that went into weights of layers which no rule knows, as they are."""
    unsure = [
        unit.path
        for unit, group in pairs
        if not unit.kind and group.name.rpartition(".")[2] == "weight" and _is_square(unit.parts[0].variable.shape)
        if all(choice.convert is identity for choice in unit.parts[0].choices)  # no array of a Dense that names= gives
    ]
    if unsure:
        user_line.warn(
            f"load_foreign: {_some(unsure)} of layers of your own got a square matrix of torch as it is, and a Linear "
            "has (out, in). Compare the outputs with those of torch. Instead, if the layer computes x @ weight: "
            "weight.assign(ops.transpose(weight)) after the load, or a Dense"
        )


def _is_square(shape: Sequence[int]) -> bool:
    return len(shape) == 2 and shape[0] == shape[1] > 1


def _some(paths: Sequence[str]) -> str:
    return ", ".join(paths[:4]) + (", ..." if len(paths) > 4 else "")


def _has_its_name(unit: Unit, group: Group) -> bool:
    last = unit.path.rpartition("/")[2]
    return (group.is_named and group.label in (last, unit.label)) or last == group.name.rpartition("/")[2]
