"""Renaming parts of a checkpoint."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from graftax.checkpoint.derived.sheet import Sheet
from graftax.checkpoint.glob_pairs import expand, is_glob
from graftax.checkpoint.index import Edge, Kind, NodeRecord
from graftax.checkpoint.nearest import nearest
from graftax.checkpoint.paths import unescape
from graftax.core.errors import ArgumentError, RenameConflict


def rename(sheet: Sheet, names: Mapping[str, str]) -> dict[str, str]:
    """Move parts of a checkpoint to other paths, and return which. An object with several paths keeps the others.

    Args:
        sheet: The checkpoint.
        names: New paths, each with the present path; or globs with equally many stars on both sides, as for ``map=`` of
            a restore. What has a path of its own here is not meant by a glob, too.

    Raises:
        ArgumentError: a path does not exist, a new path has no parent, or a glob fits nothing.
        RenameConflict: the new path exists already, or a part would get two.
    """
    moved = _without_globs(sheet, names)
    for new, old in moved.items():
        other = next(one for one, source in moved.items() if source == old)
        if other != new:
            raise RenameConflict(
                f"{old!r:.200} as {other!r:.200} and as {new!r:.200}",
                "it would be one object under two paths, tied from then on, as it was not saved",
                f"--map {other}={old} alone; in a program that needs it twice, "
                f"restore(path, map={{{other!r}: {old!r}, {new!r}: {old!r}}})",
            )
    taken = {old: _find_node(sheet, old) for old in moved.values()}
    above = {old: _find_node(sheet, old.rpartition("/")[0]) for old in taken if "/" in old}
    # all paths are resolved before the first part is moved, so that the order of the entries does not matter
    numbered = {number for number, node in enumerate(sheet.nodes) if _has_numbers(node)}
    for old in taken:
        _take(sheet, old, above.get(old))
    for new, old in moved.items():
        _put(sheet, new, taken[old], numbered)
    return moved


def _without_globs(sheet: Sheet, names: Mapping[str, str]) -> dict[str, str]:
    """Return the names with what the globs among them stand for."""
    moved = {new: old for new, old in names.items() if not is_glob(new, old)}
    named = set(moved.values())
    for path, source in names.items():
        if path in moved:
            continue
        found: dict[str, str] = {}
        for new, old in expand(*_parents_of_all(sheet, path, source), _list_movable(sheet)):
            if old not in named and found.setdefault(new, old) != old:
                raise RenameConflict(
                    f"{found[new]!r:.200} and {old!r:.200} as {new!r:.200}",
                    "two would have one path",
                    "a glob with a star for what tells them apart",
                )
        if not found:
            raise ArgumentError(
                f"--map {path}={source}",
                "the glob fits nothing in the checkpoint, or only what has an entry of its own",
                f"globs as for --only, whole components from a root on{nearest(source, sheet.paths().values())}",
            )
        for new, old in found.items():
            if new in moved:
                raise RenameConflict(
                    f"{moved[new]!r:.200} and {old!r:.200} as {new!r:.200}", "two would have one path", "one of the two"
                )
            moved[new] = old
    return moved


def _list_movable(sheet: Sheet) -> list[tuple[str, bool]]:
    """Return the paths that can be moved, each with whether it is that of a leaf: slots are where their Variable is."""
    slots = {slot.slot for slot in sheet.slots}
    return [(path, sheet.nodes[node].kind.is_leaf) for node, path in sheet.paths().items() if node not in slots]


def _parents_of_all(sheet: Sheet, path: str, source: str) -> tuple[str, str]:
    """Return globs for all below a part as globs for the part itself, or, where that is there, for its children.

    So ``net/**=model/**`` moves objects, which leaves need above them, and no empty ones stay.
    """
    above, below = path.removesuffix("/**"), source.removesuffix("/**")
    if above == path or below == source:
        return path, source
    known = {known for known, _ in _list_movable(sheet)}
    pairs = list(expand(above, below, _list_movable(sheet)))
    return (f"{above}/*", f"{below}/*") if any(new in known for new, _ in pairs) else (above, below)


def _has_numbers(node: NodeRecord) -> bool:
    """Return True for a list, and for a dict whose keys are numbers."""
    is_list = node.kind in (Kind.LIST, Kind.TUPLE)
    return is_list or (node.kind is Kind.DICT and any(type(edge) is int for edge, _ in node.edges))


def _put(sheet: Sheet, new: str, node: int, numbered: Collection[int]) -> None:
    *parents, last = new.split("/")
    if not last:
        raise ArgumentError(f"the new path {new!r}", "a part of it is empty", "--map NEW=OLD")
    name = unescape(last)
    if not parents:
        if name in sheet.roots:
            raise RenameConflict(f"{new!r} is a root already", "two would have one name", f"--map OTHER={new}, too")
        sheet.roots[name] = node
        return
    parent = _find_parent(sheet, new, parents)
    if sheet.nodes[parent].kind.is_leaf:
        raise ArgumentError(
            f"{'/'.join(parents)!r} is an array",
            "an array has nothing below it",
            "the path of an object, or a new one",
        )
    if sheet.child(parent, last) is not None:
        raise RenameConflict(f"{new!r} is there already", "two would have one path", f"--map OTHER={new}, too")
    if sheet.nodes[parent].kind in (Kind.LIST, Kind.TUPLE) and not last.isdecimal():
        raise ArgumentError(f"{new!r}", "items of a list have numbers", f"{'/'.join(parents)}/0")
    edge: Edge = int(last) if parent in numbered and last.isdecimal() else name
    sheet.set_edges(parent, [*sheet.nodes[parent].edges, (edge, node)])


def _find_parent(sheet: Sheet, new: str, parents: Sequence[str]) -> int:
    known = {path: node for node, path in sheet.paths().items()}
    above = "/".join(parents)
    if above not in known and sheet.roots.get(unescape(parents[0])) is not None:
        there = next(one for i in range(len(parents), 0, -1) if (one := "/".join(parents[:i])) in known)
        missing = "/".join(parents[: there.count("/") + 2])
        raise ArgumentError(
            f"the new path {new!r:.200}",
            f"it would be below {missing!r:.200}, which does not exist: a part moves below one that is there",
            f"--map {there}/NAME=OLD; or first a whole part that becomes {missing}, --map {missing}=OLD, if one does",
        )
    return _find_node(sheet, above)


def _take(sheet: Sheet, old: str, parent: int | None) -> None:
    """Remove a part from its parent."""
    last = old.rpartition("/")[2]
    if parent is None:
        del sheet.roots[unescape(last)]
    else:
        kept = sheet.child(parent, last)
        sheet.set_edges(parent, [edge for edge in sheet.nodes[parent].edges if edge != kept])


def _find_node(sheet: Sheet, path: str) -> int:
    first, *rest = path.split("/")
    node = sheet.roots.get(unescape(first))
    for component in rest:
        found = None if node is None else sheet.child(node, component)
        node = None if found is None else found[1]
    if node is None and any(sheet.paths().get(slot.slot) == path for slot in sheet.slots):
        raise ArgumentError(
            f"the slot {path!r:.200}",
            "a slot is at the path of its optimizer and its Variable, wherever these are",
            "--map NEW=OLD with the path of the Variable",
        )
    if node is None:
        near = nearest(path, sheet.paths().values())
        raise ArgumentError(f"no {path!r:.200}", f"there is no such path{near}", "graftax ckpt show lists them")
    return node
