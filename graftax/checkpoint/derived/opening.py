"""Checkpoints, and files of other libraries, as sheets."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from graftax.checkpoint.derived.sheet import Sheet, Tensor
from graftax.checkpoint.extract import part_of
from graftax.checkpoint.foreign.foreign_array import ForeignFile
from graftax.checkpoint.index import Edge, Kind, NodeRecord, SlotRecord
from graftax.checkpoint.paths import unescape
from graftax.checkpoint.reader import Reader
from graftax.checkpoint.subset import RANDOM_SPOT, Spot, Subset
from graftax.core.errors import ArgumentError, KindMismatch


@contextmanager
def sheet_at(path: str, subset: Subset) -> Iterator[Sheet]:
    """Open the selected part of a checkpoint as a sheet, whose arrays can be read until the block ends.

    Args:
        path: The checkpoint.
        subset: The part to select.
    """
    with Reader(path) as reader:
        yield Sheet.of(part_of(reader, subset))


def sheet_of_file(file: ForeignFile, subset: Subset) -> Sheet:
    """Return the arrays of a file as a sheet. Names are split at slashes, or dots, into the components of a path.

    Args:
        file: The file.
        subset: The part to select, by such paths.

    Raises:
        KindMismatch: the name of an array is also the beginning of another name.
        ArgumentError: the selectors leave nothing.
    """
    separator = "/" if any("/" in name for name in file.arrays) else "."
    tree: dict[str, object] = {}
    spots = {
        name: Spot("/".join(name.split(separator)), "weight", None, file.others.get(name, ())) for name in file.arrays
    }
    random = file.head.random if RANDOM_SPOT in subset else None  # before the check: it may be all that is skipped
    subset.check(spots.values())
    taken = [name for name, spot in spots.items() if spot in subset]
    slots = _slots_among(taken) if file.source == "graftax" else {}
    for name in taken:
        if name not in slots:
            *parents, last = name.split(separator)
            level = tree
            for part in parents:
                inner = level.setdefault(part, {})
                if not isinstance(inner, dict):
                    raise KindMismatch(
                        f"{name!r:.200} in {file.path}", f"{part!r:.99} is an array and has parts", _RENAME
                    )
                level = inner
            if last in level:
                raise KindMismatch(f"{name!r:.200} in {file.path}", "it is an array, and has parts, too", _RENAME)
            level[last] = name
    if not tree:
        raise ArgumentError(
            f"nothing to take from {file.path}", "--only and --skip leave nothing", f"graftax ckpt show {file.path}"
        )
    head = file.head
    sheet, places = Sheet(step=head.step, meta=dict(head.meta), random=random), dict[str, int]()
    for name, below in tree.items():
        sheet.roots[unescape(name) if file.source == "graftax" else name] = _add_node(sheet, file, below, name, places)
    for path, (optimizer, slot, variable) in slots.items():
        node = _add_node(sheet, file, path, path, places)
        sheet.slots.append(SlotRecord(places[optimizer], unescape(slot), places[variable], node))
    return sheet


_SLOT = re.compile(r"(.+?)/slots\(([^/]*)\)/(.+)")


def _slots_among(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the arrays that are slots, with the paths of their optimizer, their name and the path of their Variable.

    Where one of the two is not there, an array is no slot.
    """
    found = {name: match.groups() for name in names if (match := _SLOT.fullmatch(name)) is not None}
    others = [name for name in names if name not in found]
    holders = {"/".join(name.split("/")[:i]) for name in others for i in range(1, name.count("/") + 1)}
    return {name: one for name, one in found.items() if one[0] in holders and one[2] in others}


_RENAME = "another name for one of the two in the file"


def _add_node(sheet: Sheet, file: ForeignFile, below: object, path: str, places: dict[str, int]) -> int:
    """Add an array, or a tree of arrays, and return its node; places get the nodes by path."""
    number = places[path] = _made_node(sheet, file, below, path, places)
    return number


def _made_node(sheet: Sheet, file: ForeignFile, below: object, path: str, places: dict[str, int]) -> int:
    if isinstance(below, str):
        array = file.arrays[below]
        sheet.tensors.append(Tensor.of(array.dtype, array.shape, array.read, below))
        known = file.facts.variables.get(path)
        told = (True, "weight", {}) if known is None else known.payload[1:]
        sheet.nodes.append(NodeRecord(Kind.VARIABLE, "Variable", (), (len(sheet.tensors) - 1, *told)))
        return len(sheet.nodes) - 1
    if not isinstance(below, dict):
        raise TypeError("a tree has names and dicts")
    kind, numbers = _container(file, path, below)
    name_of = unescape if file.source == "graftax" else str
    edges: list[tuple[Edge, int]] = [
        (int(name) if name in numbers else name_of(name), _add_node(sheet, file, inner, f"{path}/{name}", places))
        for name, inner in sorted(below.items(), key=lambda one: numbers.get(one[0], -1))
    ]
    record = file.facts.objects.get(path)
    if record is not None:
        sheet.nodes.append(record._replace(edges=tuple([(str(edge), node) for edge, node in edges])))
        return len(sheet.nodes) - 1
    sheet.nodes.append(NodeRecord(kind, kind.name.lower(), tuple(edges)))
    return len(sheet.nodes) - 1


def _container(file: ForeignFile, path: str, names: Collection[str]) -> tuple[Kind, Mapping[str, int]]:
    """Return the kind of what holds parts, and which of their names are numbers, with the place of each.

    Of a list, some may hold no array.
    """
    told = file.facts.containers.get(path)
    if told is not None:
        return told.kind, {str(edge): place for place, (edge, _) in enumerate(told.edges)}
    are_numbers = path not in file.facts.objects and all(map(_is_index, names))
    return (Kind.LIST, {name: int(name) for name in names}) if are_numbers else (Kind.DICT, {})


def _is_index(name: str) -> bool:
    return name.isdecimal() and len(name) < 10 and str(int(name)) == name
