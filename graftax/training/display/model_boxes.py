"""The content of a drawing of a model: nested boxes for layers and ops, and the arrows between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from graftax.core import tree
from graftax.layers.layer import Layer
from graftax.ops.symbolic import leaves
from graftax.training.display.summary_table import Row, Summary
from graftax.training.graph import Graph, Result
from graftax.training.wired import Wired
from graftax.variables.graph.module import walk_with_edges

Path = tuple[str, ...]


@dataclass(frozen=True)
class Box:
    """A layer, or an op between layers.

    Args:
        path: Its path; for an op, the last component is its name and the number of its step.
        title: Its class and path; for an op, its name.
        detail: The shape, the number of parameters, and a note.
        boxes: The boxes inside.
        arrows: Pairs of the inner boxes: a producer and a consumer of a value.
    """

    path: Path
    title: str
    detail: str
    boxes: tuple[Box, ...] = ()
    arrows: tuple[tuple[Path, Path], ...] = ()


def boxes_of(model: Layer, expand: bool | int = True) -> Box:
    """Return the model as a box with all other boxes inside.

    Args:
        model: The model.
        expand: The number of nested levels of layers that have boxes; True for all. Defaults to True.

    Raises:
        ArgumentTypeError: ``expand`` is neither an integer nor a bool.
    """
    summary = Summary(model, expand)
    rows = {row.path: row for row in summary.rows if row.path != (".",)}
    layers = {tuple(map(str, edges)): node for edges, node in walk_with_edges(model) if isinstance(node, Layer)}
    below: dict[Path, list[Path]] = {(): []} | {path: [] for path in rows}
    for path in rows:
        parent = max((one for one in below if one != path and path[: len(one)] == one), key=len)
        below[parent].append(path)

    def detail(path: Path) -> str:
        total = sum(row.parameters or 0 for one, row in rows.items() if one[: len(path)] == path)
        return _detail(rows[path], total)

    def box(path: Path) -> Box:
        inside = [box(one) for one in below[path]]
        if not inside:
            return Box(path, _title(rows[path]), detail(path))
        ops, arrows = _arrows(layers[path], path, below[path])
        order = {one: i for i, one in enumerate(_in_order([*below[path], *(op.path for op in ops)], arrows))}
        found = tuple(sorted([*inside, *ops], key=lambda one: order[one.path]))
        if path:
            return Box(path, _title(rows[path]), detail(path), found, tuple(arrows))
        return Box(path, f"{summary.title}, {summary.parameters:,} parameters", "", found, tuple(arrows))

    if rows:
        return box(())
    return Box((), f"{summary.title}, {summary.parameters:,} parameters", "")


def _arrows(layer: Layer, path: Path, below: list[Path]) -> tuple[list[Box], list[tuple[Path, Path]]]:
    """Return boxes for ops, and arrows, if the wiring of the layer is known."""
    if isinstance(layer, Wired) and layer._gx_in_a_row:
        row = [one for one in below if one[: len(path) + 1] == (*path, "layers")]
        return [], list(pairwise(row))
    if not isinstance(layer, Wired) or layer._gx_graph is None:
        return [], []
    graph = layer._gx_graph
    places = {i: _place(graph, i, path) for i in range(len(graph.steps))}
    known = set(below)
    ops = []
    arrows: list[tuple[Path, Path]] = []
    for i, step in enumerate(graph.steps):
        if isinstance(step.callee, str):
            shapes = [_shape(spec) for spec in tree.flatten(step.results)]
            ops.append(Box(places[i], step.callee, ", ".join(shapes)))
            known.add(places[i])
        given = [leaf for leaf in leaves((step.args, step.kwargs)) if isinstance(leaf, Result)]
        arrows += [(places[leaf.step], places[i]) for leaf in given]
    return ops, [arrow for arrow in dict.fromkeys(arrows) if known.issuperset(arrow)]


def _place(graph: Graph, number: int, path: Path) -> Path:
    callee = graph.steps[number].callee
    return (*path, "layers", str(callee)) if isinstance(callee, int) else (*path, f"{callee} {number}")


def _in_order(paths: list[Path], arrows: Iterable[tuple[Path, Path]]) -> list[Path]:
    """Return boxes with producers before consumers, else unchanged: a layer that is called twice may be both."""
    waiting: dict[Path, set[Path]] = {path: set() for path in paths}
    for first, second in arrows:
        if first != second:
            waiting[second].add(first)
    found: list[Path] = []
    while waiting:
        ready = next((path for path, before in waiting.items() if not before & waiting.keys()), None)
        path = next(iter(waiting)) if ready is None else ready
        found.append(path)
        del waiting[path]
    return found


def _title(row: Row) -> str:
    return f"{row.kind}  {'/'.join(row.path)}"


def _detail(row: Row, total: int) -> str:
    """Return the shape, the parameters of all inner boxes, and the note of a row."""
    count = f"{total:,} parameters" if total else ""
    return ", ".join(part for part in (row.shape.replace("?", ""), count, row.note) if part)


def _shape(spec: Any) -> str:
    return str(tuple(spec.shape))
