"""Renaming parts of a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping

from graftax.checkpoint.derived.sheet import Sheet
from graftax.checkpoint.index import Edge, Kind
from graftax.checkpoint.nearest import nearest
from graftax.core.errors import ArgumentError, RenameConflict


def rename(sheet: Sheet, names: Mapping[str, str]) -> None:
    """Move parts of a checkpoint to other paths. An object with several paths keeps the others.

    Args:
        sheet: The checkpoint.
        names: New paths, each with the present path.

    Raises:
        ArgumentError: a path does not exist, or a new path has no parent.
        RenameConflict: the new path exists already, or a part would get two.
    """
    for new, old in names.items():
        other = next(one for one, source in names.items() if source == old)
        if other != new:
            raise RenameConflict(
                f"{old!r:.200} as {other!r:.200} and as {new!r:.200}",
                "it would be one object under two paths, tied from then on, as it was not saved",
                f"--map {other}={old} alone; in a program that needs it twice, "
                f"restore(path, map={{{other!r}: {old!r}, {new!r}: {old!r}}})",
            )
    taken = {old: _find_node(sheet, old) for old in names.values()}
    above = {old: _find_node(sheet, old.rpartition("/")[0]) for old in taken if "/" in old}
    # all paths are resolved before the first part is moved, so that the order of the entries does not matter
    for old in taken:
        _take(sheet, old, above.get(old))
    for new, old in names.items():
        *parents, last = new.split("/")
        if not last:
            raise ArgumentError(f"the new path {new!r}", "a part of it is empty", "--map NEW=OLD")
        if not parents:
            if last in sheet.roots:
                raise RenameConflict(f"{new!r} is a root already", "two would have one name", f"--map OTHER={new}, too")
            sheet.roots[last] = taken[old]
            continue
        parent = _find_node(sheet, "/".join(parents))
        if sheet.nodes[parent].kind.is_leaf:
            raise ArgumentError(
                f"{'/'.join(parents)!r} is an array",
                "an array has nothing below it",
                "the path of an object, or a new one",
            )
        if sheet.child(parent, last) is not None:
            raise RenameConflict(f"{new!r} is there already", "two would have one path", f"--map OTHER={new}, too")
        is_list = sheet.nodes[parent].kind in (Kind.LIST, Kind.TUPLE)
        if is_list and not last.isdecimal():
            raise ArgumentError(f"{new!r}", "items of a list have numbers", f"{'/'.join(parents)}/0")
        edge: Edge = int(last) if is_list else last
        sheet.set_edges(parent, [*sheet.nodes[parent].edges, (edge, taken[old])])


def _take(sheet: Sheet, old: str, parent: int | None) -> None:
    """Remove a part from its parent."""
    last = old.rpartition("/")[2]
    if parent is None:
        del sheet.roots[last]
    else:
        kept = sheet.child(parent, last)
        sheet.set_edges(parent, [edge for edge in sheet.nodes[parent].edges if edge != kept])


def _find_node(sheet: Sheet, path: str) -> int:
    first, *rest = path.split("/")
    node = sheet.roots.get(first)
    for component in rest:
        found = None if node is None else sheet.child(node, component)
        node = None if found is None else found[1]
    if node is None:
        near = nearest(path, sheet.paths().values())
        raise ArgumentError(f"no {path!r:.200}", f"there is no such path{near}", "graftax ckpt show lists them")
    return node
