"""Pairing a program with a checkpoint: both graphs are walked together, edge by edge; names and types never matter.

The result is a `Match`: which value goes where, and everything that does not fit. Nothing is read or changed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

from graftax.checkpoint.deferred import misfit
from graftax.checkpoint.expressions import has_inverse, receiving_place
from graftax.checkpoint.graph import Graph, Place
from graftax.checkpoint.index import Edge, Index, Kind, SlotRecord
from graftax.checkpoint.paths import STATE, escaped, joined, node_paths, slot_path
from graftax.checkpoint.report import Conflict, Unshared
from graftax.checkpoint.subset import Spot, Subset, saved_spot
from graftax.core.errors import (
    AmbiguousSharing,
    ArgumentError,
    KindMismatch,
    MissingInCheckpoint,
    RenameConflict,
)
from graftax.reparam.base import Reparam
from graftax.variables.graph.module import Module

_STATES = (Kind.VALUE, Kind.BYTES)


class Match:
    """The pairs, and what is left over on either side.

    Args:
        index: The checkpoint.
        graph: The program.
        subset: The part that is asked for, in program paths.
        renames: Program paths and the checkpoint paths whose values they take.
        mode: ``exact``: only what is left open on purpose (an unbuilt layer, an attribute that is None) may wait for
            Variables made later; else everything may.
        cast: The cast policy.
    """

    def __init__(
        self, index: Index, graph: Graph, subset: Subset, renames: Mapping[str, str], mode: str, cast: str
    ) -> None:
        self.index = index
        self.graph = graph
        self.paths = node_paths(index)
        self.mode = mode
        self._subset = subset
        self._cast = cast
        self.pairs: dict[Place, int] = {}  # leaves, and the node each takes its value from
        self.conflicts: list[Conflict] = []
        self.missing: list[Place] = []
        self.unused: dict[str, int] = {}  # program paths that the values would have
        self.awaited: dict[str, int] = {}
        self.spots: list[Spot] = [p.spot for p in graph.places if p.kind.is_leaf]  # all there are to select
        self.fresh: list[Place] = []  # parts of expressions that a plain weight of the checkpoint leaves as they are
        self.modules: list[tuple[Module, int, str]] = []  # outermost ones, with node and path
        self.objects: dict[int, list[Place]] = {}  # by node
        self.mapped: dict[str, int] = {}
        self._mapped_places: dict[Place, int] = {}
        self._candidates: dict[Place, list[int]] = {}
        self._deliberate: set[Place] = set()
        self._blamed: set[Place] = set()
        self._receivers: dict[Place, Place] = {}  # parts of expressions, and what takes the value of the whole
        self._strangers: list[tuple[Place, int]] = []  # nodes that are of another kind than what the program has there
        self._leftovers: list[tuple[Place, Edge, int, str]] = []
        self._resolve(renames)
        self._walk()
        self._choose()
        self._leave_over()
        self.unshared = self._unshared()

    def wanted(self, spot: Spot) -> bool:
        """True if it is part of what was asked for."""
        return spot in self._subset

    def has(self, place: Place) -> bool:
        """True if the object is part of what was asked for."""
        return place.spot in self._subset

    # --- renames ----------------------------------------------------------------------------------------------------

    def _resolve(self, renames: Mapping[str, str]) -> None:
        for path, source in renames.items():
            node = self._find(source)
            if node is None:
                near = _nearest(source, self.paths.values())
                self.conflicts.append(
                    Conflict(MissingInCheckpoint, path, f"map= names {source!r}, which the checkpoint has not{near}")
                )
                continue
            place = self.graph.find(path)
            if place is None:
                if not self._may_come(path):
                    known = [p.path for p in self.graph.places]
                    raise ArgumentError(
                        f"map= names {path!r}",
                        f"the program has no such path{_nearest(path, known)}",
                        'map={"program path": "checkpoint path"}, whole components from a root on',
                    )
                self.mapped[path] = node
            elif self._mapped_places.setdefault(place, node) != node:
                other = self.paths[self._mapped_places[place]]
                self.conflicts.append(
                    Conflict(RenameConflict, path, f"map= gives the same object {other!r} and {source!r}")
                )

    def _find(self, path: str) -> int | None:
        first, *rest = path.split("/")
        node = next((n for name, n in self.index.roots.items() if escaped(name) == first), None)
        for component in rest:
            edges = self.index.nodes[node].edges if node is not None else ()
            node = next((child for edge, child in edges if escaped(edge) == component), None)
        return node

    def _may_come(self, path: str) -> bool:
        """True if the path lies below something of the program that exists."""
        while "/" in path:
            path = path.rpartition("/")[0]
            place = self.graph.find(path)
            if place is not None:
                return not place.kind.is_leaf
        return False

    # --- the walk ---------------------------------------------------------------------------------------------------

    def _walk(self) -> None:
        seen: set[tuple[Place, int]] = set()
        level: list[tuple[Place, int | None, bool, bool]] = [
            (place, self.index.roots.get(name), False, False) for name, place in self.graph.roots.items()
        ]
        level += [(place, node, True, False) for place, node in self._mapped_places.items()]
        while level:
            deeper = []
            for place, found, deliberate, below_module in level:
                is_mapped = place in self._mapped_places
                node = self._mapped_places[place] if is_mapped else found
                if node is None or (place, node) in seen:
                    continue
                seen.add((place, node))
                deliberate = deliberate or is_mapped
                record = self.index.nodes[node]
                if place.kind.is_leaf or record.kind.is_leaf:
                    self._pair_leaf(place, node, deliberate)
                    continue
                self.objects.setdefault(node, []).append(place)
                is_module = isinstance(place.thing, Module)
                if is_module and not below_module:
                    self.modules.append((place.thing, node, place.path))
                edges = dict(record.edges)
                for edge, child in place.edges.items():
                    deeper.append((child, edges.get(edge), deliberate, below_module or is_module))
                for edge, below in edges.items():
                    if edge not in place.edges or self._mapped_places.get(place.edges[edge], below) != below:
                        self._leftovers.append((place, edge, below, joined(place.path, edge)))
            level = deeper

    def _pair_leaf(self, place: Place, node: int, deliberate: bool) -> None:
        record = self.index.nodes[node]
        if record.kind is Kind.VARIABLE and isinstance(place.thing, Reparam):  # a plain weight for an expression
            taker = receiving_place(place)
            self._receivers |= {leaf: taker for leaf in leaves_of(place) if leaf is not taker}
            place = taker
            if not place.kind.is_leaf:
                self._candidates.setdefault(place, []).append(node)
                return
        same = place.kind is record.kind or (place.kind in _STATES and record.kind in _STATES)
        if same and (record.tensor is not None or place.kind is not Kind.VARIABLE):
            self._candidates.setdefault(place, []).append(node)
            if deliberate:
                self._deliberate.add(place)
        elif not same and not any(self.has(leaf) for leaf in leaves_of(place)):
            self._strangers.append((place, node))
        elif not same:
            self._blamed.update(leaves_of(place))
            here = _described(place.kind, [str(edge) for edge in place.edges])
            there = _described(record.kind, [str(edge) for edge, _ in record.edges])
            reason = f"the checkpoint has {there} at {self.paths[node]}, the program has {here}"
            self.conflicts.append(Conflict(KindMismatch, place.path, reason))

    # --- what goes where --------------------------------------------------------------------------------------------

    def _choose(self) -> None:
        for place in self.graph.places:
            nodes = self._candidates.get(place)
            if not (place.kind.is_leaf or nodes) or not self.has(place):
                continue
            if not nodes:
                taker = self._receivers.get(place)
                if taker is not None and self.has(taker):
                    self.fresh += [place] if place not in leaves_of(taker) else []
                elif place not in self._blamed:
                    self.missing.append(place)
                continue
            different: dict[Any, int] = {}
            for node in nodes:
                different.setdefault(self._content(node), node)
            if len(different) > 1:
                sources = ", ".join(self.paths[node] for node in different.values())
                reason = f"is one object in the program; the checkpoint has different values for it: {sources}"
                self.conflicts.append(Conflict(AmbiguousSharing, place.path, reason))
            elif self.fits(place, nodes[0]):
                self.pairs[place] = nodes[0]

    def _content(self, node: int) -> Any:
        """Equal for nodes with equal values; nodes of other chunks count as different."""
        record = self.index.nodes[node]
        if record.tensor is None:
            return ("value", node)
        tensor = self.index.tensors[record.tensor]
        return tensor.dtype, tensor.shape, tuple((c.start, c.extent, c.sums) for c in tensor.chunks)

    def fits(self, place: Place, node: int) -> bool:
        """True if the saved array can go there; else the conflict is noted."""
        tensor = self.index.nodes[node].tensor
        expression = isinstance(place.thing, Reparam)
        if tensor is None or not (expression or place.kind is Kind.VARIABLE):
            return True
        if expression and not has_inverse(place.thing):
            kind = type(place.thing).__name__
            reason = f"the checkpoint has a plain weight, and {kind} here has neither a base nor an inverse to take it"
            self.conflicts.append(Conflict(KindMismatch, place.path, reason))
            return False
        record = self.index.tensors[tensor]
        wrong = misfit(place.thing, record.dtype, record.shape, self._cast)
        if wrong is not None:
            source = self.paths[node]
            text = wrong[1] if source == place.path else f"{wrong[1]} (from {source})"
            self.conflicts.append(Conflict(wrong[0], place.path, text))
        return wrong is None

    def _unshared(self) -> tuple[Unshared, ...]:
        places: dict[int, list[Place]] = {}
        for place, node in self.pairs.items():
            if place not in self._deliberate:
                places.setdefault(node, []).append(place)
        return tuple(
            Unshared(self.paths[node], tuple(p.path for p in found)) for node, found in places.items() if len(found) > 1
        )

    # --- what is left of the checkpoint -----------------------------------------------------------------------------

    def _leave_over(self) -> None:
        used = {node for nodes in self._candidates.values() for node in nodes}
        for place, edge, node, path in self._leftovers:
            waits = edge not in place.edges and self._waits(place, edge)
            for leaf_path, leaf in self._leaves_left(node, path, used, place.module):
                record = self.index.nodes[leaf]
                can_wait = waits and record.kind is Kind.VARIABLE and record.tensor is not None
                (self.awaited if can_wait else self.unused)[leaf_path] = leaf
        for place, node in self._strangers:
            self.unused |= dict(self._leaves_left(node, place.path, used, place.module))

    def _leaves_left(self, node: int, path: str, used: set[int], owner: Module | None) -> Iterator[tuple[str, int]]:
        """The leaves below that were asked for and that nothing took; all of them are there to be selected."""
        for leaf_path, leaf in self._leaves_below(node, path):
            spot = saved_spot(self.index, leaf, leaf_path, owner)
            self.spots.append(spot)
            if leaf not in used and self.wanted(spot):
                yield leaf_path, leaf

    def _waits(self, place: Place, edge: Edge) -> bool:
        thing = place.thing
        if not isinstance(thing, Module):
            return self.mode != "exact"
        if self.mode != "exact" or thing._gx_lacks_weights:
            return True
        return edge != STATE and str(edge) in vars(thing) and not vars(thing)[str(edge)]

    def _leaves_below(self, node: int, path: str) -> Iterable[tuple[str, int]]:
        """Leaves with the program paths that they would have: every edge once."""
        waiting = [(path, self.mapped.get(path, node))]
        seen: set[int] = set()
        while waiting:
            path, node = waiting.pop()
            record = self.index.nodes[node]
            if record.kind.is_leaf:
                yield path, node
            elif node not in seen:
                seen.add(node)
                below = [(joined(path, edge), child) for edge, child in reversed(record.edges)]
                waiting += [(p, self.mapped.get(p, child)) for p, child in below]

    # --- slots ------------------------------------------------------------------------------------------------------

    def slots(self) -> Iterator[tuple[SlotRecord, Place, Place | None, str, bool]]:
        """Where the saved slots go: slot, optimizer, Variable or None, program path, whether the Variable is awaited.

        Neither a Variable nor an awaited one: the program lacks what the slot belongs to.
        """
        variables: dict[int, list[Place]] = {}
        for place, nodes in self._candidates.items():
            for node in nodes:
                variables.setdefault(node, []).append(place)
        waiting = {node: path for path, node in reversed(self.awaited.items())}
        for slot in self.index.slots:
            for optimizer in self.objects.get(slot.optimizer, ()):
                awaited = waiting.get(slot.variable)
                takers: list[Place | None] = [p for p in variables.get(slot.variable, ()) if p.kind is Kind.VARIABLE]
                for variable in takers or [None]:
                    owner = variable.path if variable is not None else awaited or self.paths[slot.variable]
                    path = slot_path(optimizer.path, slot.name, owner)
                    spot = saved_spot(self.index, slot.slot, path, optimizer.module)
                    self.spots.append(spot)
                    if self.wanted(spot):
                        yield slot, optimizer, variable, path, variable is None and awaited is not None

    def advice(self, place: Place) -> str:
        """The nearest values of the checkpoint that nothing took, those of equal shape first."""
        taken = {node for nodes in self._candidates.values() for node in nodes}
        taken |= {slot.slot for slot in self.index.slots}
        free = {
            path: self.index.nodes[node].tensor
            for node, path in self.paths.items()
            if self.index.nodes[node].tensor is not None and node not in taken
        }
        shape = tuple(place.thing.shape) if place.kind is Kind.VARIABLE else None
        same = [
            path for path, tensor in free.items() if tensor is not None and self.index.tensors[tensor].shape == shape
        ]
        return _nearest(place.path, same, " of its shape") or _nearest(place.path, free)


def all_of(place: Place) -> dict[Place, None]:
    """An object and everything below it, each once."""
    seen: dict[Place, None] = {}
    waiting = [place]
    while waiting:
        here = waiting.pop()
        if here not in seen:
            seen[here] = None
            waiting += here.edges.values()
    return seen


def leaves_of(place: Place) -> list[Place]:
    """All leaves below an object, each once."""
    return [here for here in all_of(place) if here.kind.is_leaf]


def _described(kind: Kind, edges: list[str]) -> str:
    if kind.is_leaf:
        return "a leaf" if kind is Kind.VARIABLE else f"a leaf ({'Python state' if kind in _STATES else 'random key'})"
    return f"a node with the children {', '.join(edges[:4])}{', ...' if len(edges) > 4 else ''}"


def _nearest(path: str, paths: Iterable[str], what: str = "") -> str:
    """Words that name the most similar paths: those that share most, and above all their end."""
    matcher = SequenceMatcher(b=path, autojunk=False)
    scored = []
    for candidate in list(paths)[:2000]:
        matcher.set_seq1(candidate)
        if matcher.quick_ratio() > 0.4 and (ratio := matcher.ratio()) > 0.4:
            scored.append((ratio, candidate))
    best = [candidate for _, candidate in sorted(scored, reverse=True)[:2]]
    return f"; nearest{what}: {', '.join(best)}" if best else ""
