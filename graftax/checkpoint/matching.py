"""Matching a program with a checkpoint: both graphs are walked together, edge by edge; names and types do not matter.

The result is a `Match`: which value goes where, and everything that does not match. No values are read or changed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

from graftax.checkpoint.children import hung_on_lone
from graftax.checkpoint.expressions import has_inverse, receiving_place
from graftax.checkpoint.former_names import with_names_of_now
from graftax.checkpoint.graph import Graph, Place, leaves_of, objects_below
from graftax.checkpoint.index import Edge, Index, Kind
from graftax.checkpoint.misfit import misfit
from graftax.checkpoint.named_by_rules import in_order_of_rules
from graftax.checkpoint.other_paths import other_node_paths
from graftax.checkpoint.paths import NodePaths, escape, join, with_keys_of
from graftax.checkpoint.renames import Renames, no_such_path
from graftax.checkpoint.report import Conflict, Unshared
from graftax.checkpoint.saved_ways import is_expected, is_saved_there, passes_expression, ways_below, ways_to_come
from graftax.checkpoint.subset import Spot, Subset, find_saved_spot
from graftax.core.errors import AmbiguousSharing, ArgumentError, KindMismatch
from graftax.reparam.base import Reparam
from graftax.variables.graph.module import Module

_STATES = (Kind.VALUE, Kind.BYTES)


class Match:
    """The pairs of objects and nodes, and the leftovers of both sides.

    Args:
        index: The index of the checkpoint.
        graph: The graph of the program.
        subset: The selected part, by program paths.
        renames: Program paths and the checkpoint paths whose values they take.
        mode: In ``exact``, values may wait only where a Variable is expected later (an unbuilt layer, an attribute that
            is None); in other modes, everywhere but in layers that are built.
        cast: The cast policy.
    """

    def __init__(
        self, index: Index, graph: Graph, subset: Subset, renames: Mapping[str, str], mode: str, cast: str
    ) -> None:
        if not subset.is_all:
            graph.find_further_paths(partial(is_saved_there, index))
        self.index = index
        self.graph = graph
        self.slots = index.slots  # slots that may be selected
        self.mode = mode
        self.subset = subset
        self._cast = cast
        self.pairs: dict[Place, int] = {}  # leaves of the program, each with the node that its value comes from
        self.conflicts: list[Conflict] = []
        self.missing: list[Place] = []
        self.unused: dict[str, int] = {}  # leaves that nothing uses, by the program paths that they would have
        self.awaited: dict[str, int] = {}
        self.fresh: list[Place] = []  # parts of expressions that keep their values: the checkpoint has a plain weight
        self.objects: dict[int, list[Place]] = {}  # by node
        self.candidates: dict[Place, list[int]] = {}
        self.absent: dict[int, Spot] = {}  # leaves of the checkpoint without a place in the program, by node
        self.reasons: dict[str, str] = {}  # the reason why a value has no place, by its program path
        self.reassigned: dict[Place, str] = {}  # places whose value map= gives to another place, with the entry of map=
        self.several: dict[str, str] = {}  # objects for which there are several values, with the first of their sources
        self.asked: set[str] = set()  # roots of which a part is selected
        self._seen: set[str] = set()  # roots that have anything to select
        if graph.narrow is not None:
            self._seen |= graph.narrow.with_leaves
        self._deliberate: set[Place] = set()
        self._blamed: set[Place] = set()
        self._receivers: dict[Place, Place] = {}  # parts of expressions, and the part that takes the value of the whole
        self._strangers: list[tuple[Place, int]] = []  # nodes of another kind than the object in the program
        self._leftovers: list[tuple[Place, Edge, int, str]] = []
        self._choice: dict[Place, bool] = {}
        self.ways: dict[str, tuple[str, ...]] = {}  # of values that wait, where expressions were made of them
        self.paths: Mapping[int, str] = NodePaths(index)
        """The checkpoint paths of nodes."""
        self.renames = Renames(index, graph, self.paths, renames)
        self.mapped = self.renames.later
        self.conflicts += self.renames.conflicts
        self._walk()
        if not subset.is_all and any(isinstance(p.thing, Module) and p.thing._gx_lacks_weights for p in graph.places):
            self._foresee_ways()
        self._choose()
        self._check_renames()
        self._leave_over()
        self.unshared = self._find_unshared()

    def is_wanted(self, spot: Spot) -> bool:
        """Return True if the place or node of this spot is selected."""
        root = spot.path.partition("/")[0]
        self._seen.add(root)
        found = self.subset.is_all or spot in self.subset
        if found:
            self.asked.add(root)
        return found

    def is_selected(self, place: Place) -> bool:
        """Return True if the object is selected."""
        known = self._choice.get(place)
        if known is None and self.subset.is_all:
            return True
        if known is None:
            known = self._choice[place] = self.is_wanted(place.spot)
        return known

    # --- the walk -----------------------------------------------------------------------------------------------------

    def _walk(self) -> None:
        seen: set[tuple[Place, int]] = set()
        mapped, given, nodes = self.renames.places, self.renames.given, self.index.nodes
        level: list[tuple[Place, int | None, bool]] = []
        for name, place in self.graph.roots.items():
            node = self.index.roots.get(name)
            if node is not None and (None, name) in given:
                node = None
                if place not in mapped:
                    self._reassign(place, given[None, name])
            level.append((place, node, False))
        level += [(place, node, True) for place, node in mapped.items()]
        while level:
            deeper: list[tuple[Place, int | None, bool]] = []
            for place, found, deliberate in level:
                node = mapped.get(place, found) if mapped else found
                if node is None or (place, node) in seen:  # one object of the checkpoint may be several in the program
                    continue
                seen.add((place, node))
                deliberate = deliberate or place in mapped
                record = nodes[node]
                if place.kind.is_leaf or record.kind.is_leaf:
                    self._pair_leaf(place, node, deliberate)
                    continue
                self.objects.setdefault(node, []).append(place)
                edges = dict(record.edges)
                if given:
                    edges = {e: n for e, n in record.edges if (node, e) not in given}
                edges = with_names_of_now(type(place.thing), with_keys_of(place.edges, edges), place.edges)
                if place.kind is Kind.TUPLE:
                    edges = dict(in_order_of_rules(place.edges, edges, nodes))
                lost = self._find_renamed_away(place, node) if given else {}
                for edge, child in place.edges.items():
                    below = edges.get(edge)
                    if below is not None or child in mapped:
                        deeper.append((child, below, deliberate))
                    elif edge in lost:
                        self._reassign(child, lost[edge])
                for edge, below in edges.items():
                    child_here = place.edges.get(edge)
                    if child_here is None and not self.graph.may_hold(place, edge):
                        continue
                    if child_here is None or (mapped and mapped.get(child_here, below) != below):
                        self._leftovers.append((place, edge, below, join(place.path, edge)))
            level = deeper

    def _find_renamed_away(self, place: Place, node: int) -> dict[Edge, str]:
        """Return the edges below a node whose values map= gives to other places, with the entries of map=."""
        given = self.renames.given
        edges = {edge: given[node, edge] for edge, _ in self.index.nodes[node].edges if (node, edge) in given}
        return with_names_of_now(type(place.thing), edges, place.edges)

    def _reassign(self, place: Place, taker: str) -> None:
        for leaf in leaves_of(place):
            self.reassigned.setdefault(leaf, taker)

    def _pair_leaf(self, place: Place, node: int, deliberate: bool) -> None:
        record = self.index.nodes[node]
        # the checkpoint has a plain weight, the program an expression: that may have a part that takes the value
        if record.kind is Kind.VARIABLE and isinstance(place.thing, Reparam):
            taker = receiving_place(place)
            self._receivers |= {leaf: taker for leaf in leaves_of(place) if leaf is not taker}
            place = taker
            if not place.kind.is_leaf:
                self.candidates.setdefault(place, []).append(node)
                return
        same = place.kind is record.kind or (place.kind in _STATES and record.kind in _STATES)
        if same and (record.tensor is not None or place.kind is not Kind.VARIABLE):
            self.candidates.setdefault(place, []).append(node)
            if deliberate:
                self._deliberate.add(place)
        elif not same and not any(
            self.is_selected(leaf) for leaf in leaves_of(place)
        ):  # not selected, so this is not an error
            self._strangers.append((place, node))
        elif not same:
            self._blamed.update(leaves_of(place))
            here = _describe(place.kind, [str(edge) for edge in place.edges])
            there = _describe(record.kind, [str(edge) for edge, _ in record.edges])
            reason = f"the checkpoint has {there} at {self.paths[node]}, the program has {here}"
            self.conflicts.append(Conflict(KindMismatch, place.path, reason))

    def _foresee_ways(self) -> None:
        """Let selectors know objects by paths through layers that will make an expression of them, as was saved."""
        here = {way for place in self.graph.places for way in (place.path, *place.further)}
        for place, nodes in self.candidates.items():
            saved = [way for node in nodes for way in self._ways_of(node) if way not in here]
            place.further += tuple(ways_to_come(self.index, self.graph, saved))

    # --- what goes where ----------------------------------------------------------------------------------------------

    def _choose(self) -> None:
        for place in self.graph.places:
            nodes = self.candidates.get(place)
            if not (place.kind.is_leaf or nodes) or not self.is_selected(place):
                continue
            if not nodes:
                taker = self._receivers.get(place)
                if taker is not None and self.is_selected(taker):
                    self.fresh += [place] if place not in leaves_of(taker) else []
                elif place not in self._blamed:  # a place with a conflict is not reported as missing as well
                    self.missing.append(place)
            elif len(nodes) > 1 and not self._is_same_content(nodes):  # a program may tie equal ones
                self._refuse_several("is", place.path, nodes)
            elif self.fits(place, nodes[0]):
                self.pairs[place] = nodes[0]

    def _refuse_several(self, verb: str, path: str, nodes: list[int]) -> None:
        sources = [self.paths[node] for node in nodes]
        reason = f"{verb} one object in the program; the checkpoint has different values for it: {', '.join(sources)}"
        self.conflicts.append(Conflict(AmbiguousSharing, path, reason))
        self.several.setdefault(path, sources[0])

    def _is_same_content(self, nodes: list[int]) -> bool:
        return len({self._content(node) for node in dict.fromkeys(nodes)}) == 1

    def _content(self, node: int) -> Any:
        """Return a key that is equal for nodes with equal values. Nodes with other chunks count as different."""
        record = self.index.nodes[node]
        if record.tensor is None:
            return ("value", node)
        tensor = self.index.tensors[record.tensor]
        return tensor.dtype, tensor.shape, tuple((c.start, c.extent, c.sums) for c in tensor.chunks)

    def fits(self, place: Place, node: int) -> bool:
        """Return True if the saved array can go there; otherwise record the conflict."""
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

    def _find_unshared(self) -> tuple[Unshared, ...]:
        places: dict[int, list[Place]] = {}
        for place, node in self.pairs.items():
            places.setdefault(node, []).append(place)
        several = {node: [p for p in found if p not in self._deliberate] for node, found in places.items() if found[1:]}
        return tuple(
            Unshared(self.paths[node], tuple(p.path for p in found)) for node, found in several.items() if found[1:]
        )

    def _check_renames(self) -> None:
        """Raise for entries of ``map=`` without effect: for parts that are not selected, or paths that stay missing."""
        for path, place in self.renames.named.items():
            here = [leaf for leaf in objects_below(place) if leaf.kind.is_leaf or leaf in self.candidates]
            later = self._leaves_below(self.renames.places[place], place.path)  # in a layer that is not built
            spots = (self._spot(leaf, below, self._holder_of(below, place)) for below, leaf in later)
            if not any(self.is_selected(leaf) for leaf in here) and (
                here or not any(self.is_wanted(spot) for spot in spots)
            ):
                raise ArgumentError(
                    f"map= names {path!r}, which only= or skip= leaves out",
                    "its value would not be restored",
                    "leave it out of map=, or let only= and skip= allow it",
                )
        for path in self.mapped:
            above = self.graph.parent_of(path)
            if above is None or not is_expected(*above):
                raise no_such_path(path, self.graph)

    # --- leftovers of the checkpoint ----------------------------------------------------------------------------------

    def _leave_over(self) -> None:
        used = {node for nodes in self.candidates.values() for node in nodes}
        for place, edge, node, path in self._leftovers:
            waits = edge not in place.edges and self._may_wait(place, edge)
            self._leave(self._leaves_left(node, path, place.module, waits), used, waits)
        for name, node in self.index.roots.items():
            if hung_on_lone(name, self.graph.roots):  # as a part of a root that was asked for, not as another root
                self._leave(self._leaves_left(node, escape(name), None), used, False)
        for path, node in self.mapped.items():
            above = self.graph.parent_of(path)
            holder = above[0].module if above is not None else None
            self._leave(self._leaves_left(node, path, holder, waits=True), used, True)
        for place, node in self._strangers:
            self._leave(self._leaves_left(node, place.path, place.module), used, False)

    def _leave(self, leaves: Iterable[tuple[str, int]], used: set[int], waits: bool) -> None:
        for path, leaf in leaves:
            record = self.index.nodes[leaf]
            if waits and record.kind is Kind.VARIABLE and record.tensor is not None:
                self._await(path, leaf)
            elif leaf not in used:
                self.unused[path] = leaf

    def _await(self, path: str, leaf: int) -> None:
        """Let a value wait, also one that is in use: an object may become several in the program."""
        known = self.awaited.setdefault(path, leaf)
        if not self._is_same_content([known, leaf]):
            self._refuse_several("will be", path, [known, leaf])

    def _leaves_left(
        self, node: int, path: str, owner: Module | None, waits: bool = False
    ) -> Iterator[tuple[str, int]]:
        """Yield the selected leaves below a node; all leaves are shown to the selectors."""
        for leaf_path, leaf in self._leaves_below(node, path):
            spot = self._spot(leaf, leaf_path, owner)
            if waits and not self.subset.is_all:
                spot = self._with_saved_ways(spot, leaf)
            self.absent.setdefault(leaf, spot)
            if self.is_wanted(spot) and self.awaited.get(leaf_path) != leaf:
                yield leaf_path, leaf

    def _spot(self, leaf: int, path: str, owner: Module | None) -> Spot:
        above = None if self.subset.is_all else self.graph.parent_of(path)
        others = () if above is None else ways_below(above[0], path)
        return find_saved_spot(self.index, leaf, path, owner, self.graph.path_of(owner), others)

    def _with_saved_ways(self, spot: Spot, leaf: int) -> Spot:
        """Return the spot of a value that waits, with its other paths where an expression was made of it."""
        ways = self._ways_of(leaf)
        if spot.path not in ways or not any(passes_expression(self.index, way) for way in ways):
            return spot
        self.ways[spot.path] = ways
        return spot._replace(others=(*spot.others, *ways))

    def _ways_of(self, node: int) -> tuple[str, ...]:
        return (self.paths[node], *self._saved_ways.get(node, ()))

    @cached_property
    def _saved_ways(self) -> dict[int, tuple[str, ...]]:
        return other_node_paths(self.index, self.paths)

    def _holder_of(self, path: str, place: Place) -> Module | None:
        above = self.graph.parent_of(path)
        return (above[0] if above is not None else place).module

    def _may_wait(self, place: Place, edge: Edge) -> bool:
        if self.mode == "exact":
            return is_expected(place, edge)
        # the weights of a layer that is built are there; any other object may get more attributes and elements
        return is_expected(place, edge) or not getattr(place.module, "built", False)

    def _leaves_below(self, node: int, path: str) -> Iterable[tuple[str, int]]:
        """Yield leaves with the program paths that they would have, each edge once."""
        waiting = [(path, self.mapped.get(path, node))]
        seen: set[int] = set()
        given = self.renames.given
        while waiting:
            path, node = waiting.pop()
            record = self.index.nodes[node]
            if record.kind.is_leaf:
                yield path, node
            elif node not in seen:
                seen.add(node)
                for edge, child in reversed(record.edges):
                    below = join(path, edge)
                    if below in self.mapped or (node, edge) not in given:
                        waiting.append((below, self.mapped.get(below, child)))

    def idle_roots(self) -> list[Place]:
        """Return the selected roots of which nothing matched."""
        busy = {place.path.partition("/")[0] for place in self.pairs}
        paired = {place for places in self.objects.values() for place in places}
        idle: list[Place] = []
        seen = {place.path.partition("/")[0] for place in self.graph.places if place.kind.is_leaf}
        for name, root in self.graph.roots.items():
            if name in self.graph.hanging:  # nobody has asked for it by itself
                continue
            asked = self.subset.is_all or root.path not in self._seen or root.path in self.asked
            if root.path in busy or not asked:
                continue
            if root.path not in self._seen | seen and root in paired:  # a root without values that both sides have
                continue
            if not any(place in self.pairs for place in objects_below(root)):
                idle.append(root)
        return idle


def _describe(kind: Kind, edges: list[str]) -> str:
    if kind.is_leaf:
        return "a leaf" if kind is Kind.VARIABLE else f"a leaf ({'Python state' if kind in _STATES else 'random key'})"
    return f"a node with the children {', '.join(edges[:4])}{', ...' if len(edges) > 4 else ''}"
