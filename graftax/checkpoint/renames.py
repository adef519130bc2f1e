"""The argument ``map=``: which places of a program take values from other paths, which these paths then lose."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from graftax.checkpoint.glob_pairs import expand, is_glob
from graftax.checkpoint.graph import Graph, Place
from graftax.checkpoint.index import Edge, Index, SlotRecord
from graftax.checkpoint.nearest import nearest
from graftax.checkpoint.paths import find_edge, unescape
from graftax.checkpoint.report import Conflict
from graftax.core.errors import ArgumentError, ArgumentTypeError, MissingInCheckpoint, RenameConflict
from graftax.variables.graph.module import Module

_SLOT = re.compile(r"(?P<optimizer>.+?)/slots\((?P<name>[^/]*)\)/(?P<variable>.+)")

SlotKey = tuple[Place, str, Place]
"""A slot of a program: optimizer, name, Variable."""


class _Source(NamedTuple):
    """A value of the checkpoint: its node, and the edge to it, or the slot."""

    node: int
    edge: tuple[int | None, Edge] | None = None
    slot: SlotRecord | None = None


class Renames:
    """The entries of ``map=``, resolved in program and checkpoint.

    Args:
        index: The index of the checkpoint.
        graph: The graph of the program.
        paths: The checkpoint paths of nodes.
        given: Paths of the program and the paths of the checkpoint that they take their values from; or globs with
            equally many stars on both sides, each of which stands for the same text.
    """

    def __init__(self, index: Index, graph: Graph, paths: Mapping[int, str], renames: Mapping[str, str]) -> None:
        self._index = index
        self._graph = graph
        self._paths = paths
        self.places: dict[Place, int] = {}
        self.later: dict[str, int] = {}  # paths that the program does not have yet
        self.slots: dict[SlotKey, int] = {}
        self.named: dict[str, Place] = {}  # entries without globs, by program path
        self.given: dict[tuple[int | None, Edge], str] = {}  # edges of the checkpoint, and who takes their value
        self.given_slots: dict[int, str] = {}
        self.conflicts: list[Conflict] = []
        self._sources: dict[Place | SlotKey | str, str] = {}
        globs: list[tuple[str, str]] = []
        for path, source in renames.items():
            _check_entry(path, source)
            if is_glob(path, source):
                globs.append((path, source))
            else:
                self._resolve(path, source, True)
        for path, source in globs:
            self._expand(path, source)

    def _resolve(self, path: str, source: str, is_named: bool) -> None:
        found = self._find(source)
        if found is None:
            near = nearest(source, self._paths.values())
            self.conflicts.append(
                Conflict(MissingInCheckpoint, path, f"map= names {source!r}, which is not in the checkpoint{near}")
            )
            return
        key = self._target(path)
        known = self._sources.setdefault(key, source)
        if known != source:
            if is_named:
                reason = f"map= gives the same object {known!r} and {source!r}"
                self.conflicts.append(Conflict(RenameConflict, path, reason))
            return
        if isinstance(key, Place):
            self.places[key] = found.node
            if is_named:
                self.named[path] = key
        elif isinstance(key, tuple):
            self.slots[key] = found.node
        else:
            self.later[path] = found.node
        if found.slot is not None:
            self.given_slots[found.slot.slot] = path
        elif found.edge is not None:
            self.given[found.edge] = path

    # --- globs --------------------------------------------------------------------------------------------------------

    def _expand(self, path: str, source: str) -> None:
        found = False
        known = ((saved, self._index.nodes[node].kind.is_leaf) for node, saved in self._paths.items())
        for target, saved in expand(path, source, known):
            if self._place(target) is not None or self._graph.parent_of(target) is not None:
                found = True
                self._resolve(target, saved, False)
        if not found:
            raise ArgumentError(
                f"map= has {path!r}: {source!r}",
                "nothing in the checkpoint fits the glob and has a place in the program",
                f"globs as in only=, whole components from a root on{nearest(source, self._paths.values())}",
            )

    # --- paths --------------------------------------------------------------------------------------------------------

    @cached_property
    def _slots(self) -> dict[str, SlotRecord]:
        return {self._paths[slot.slot]: slot for slot in self._index.slots}

    def _find(self, path: str) -> _Source | None:
        slot = self._slots.get(path) if self._index.slots else None
        if slot is not None:
            return _Source(slot.slot, None, slot)
        found = find_edge(self._index, path)
        return None if found is None else _Source(*found)

    def _place(self, path: str) -> Place | SlotKey | None:
        place = self._graph.find(path)
        if place is not None:
            return place
        parts = _SLOT.fullmatch(path)
        if parts is None:
            return None
        optimizer, variable = self._graph.find(parts["optimizer"]), self._graph.find(parts["variable"])
        if optimizer is None or variable is None or not isinstance(optimizer.thing, Module):
            return None
        return optimizer, unescape(parts["name"]), variable

    def _target(self, path: str) -> Place | SlotKey | str:
        place = self._place(path)
        if place is not None:
            return place
        if self._graph.parent_of(path) is None:
            raise no_such_path(path, self._graph)
        return path


def no_such_path(path: str, graph: Graph) -> ArgumentError:
    """Return the error for an entry with a path that the program does not have."""
    known = [place.path for place in graph.places] + [slot.slot.path for slot in graph.slots]
    return ArgumentError(
        f"map= names {path!r}",
        f"the program has no such path{nearest(path, known)}",
        'map={"program path": "checkpoint path"}, whole components from a root on',
    )


def _check_entry(path: object, source: object) -> None:
    for text in (path, source):
        if not isinstance(text, str) or not text:
            raise ArgumentTypeError(
                f"map= has {path!r:.60}: {source!r:.60}",
                "it takes paths of the program and of the checkpoint, as text",
                'map={"model/head": "model/classifier"}',
            )
