"""Values that still wait for their Variables, as part of the graph to save: a save writes them again."""

from __future__ import annotations

from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.deferred import Deferred
from graftax.checkpoint.graph import Graph, Place, SlotPlace
from graftax.checkpoint.index import Kind, NodeRecord
from graftax.checkpoint.paths import join, slot_path
from graftax.checkpoint.session import Session
from graftax.checkpoint.subset import Spot, find_saved_spot
from graftax.variables.graph.module import Module


class WaitingPlace(Place):
    """A place where a restored value waits, or a container of such places. ``record`` is its node in the checkpoint."""

    __slots__ = ("_spot", "record", "value")

    def __init__(
        self,
        session: Session,
        node: int,
        path: str,
        value: HostArray | None,
        holder: Module | None = None,
        holder_path: str = "",
    ) -> None:
        self.record: NodeRecord = session.index.nodes[node]
        super().__init__(None, self.record.kind, path, (), holder)
        self.value = value
        self._spot = find_saved_spot(session.index, node, path, holder, holder_path)
        self.role = self._spot.role

    @property
    def spot(self) -> Spot:
        """Return what selectors see of the object."""
        return self._spot

    @property
    def type(self) -> str:
        """Return the name of the saved class."""
        return self.record.type


def add_waiting(graph: Graph) -> None:
    """Add the values that wait below the Modules of a graph, and the slots that wait with them."""
    found = _Found(graph)
    for place in [place for place in graph.places if place.kind is not Kind.VALUE]:  # which is Python state
        if isinstance(place.thing, Module) and isinstance(place.thing._gx_pending, Deferred):
            found.add_below(place, place.thing._gx_pending)
    found.add_slots()


class _Found:
    """The waiting places that were found."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._live = {id(place.thing): place for place in graph.places if place.kind is not Kind.VALUE}
        self._leaves: dict[tuple[Session, int], WaitingPlace] = {}

    def add_below(self, place: Place, deferred: Deferred) -> None:
        """Add the values that wait below a Module or a container."""
        for edge in deferred.edges():
            path, there = join(place.path, edge), place.edges.get(edge)
            deeper = deferred.child(edge)
            if there is not None:
                # a leaf has its value already, and a Module is visited by itself
                if deeper is not None and not there.kind.is_leaf and not isinstance(there.thing, Module):
                    self.add_below(there, deeper)
            elif (source := deferred.leaf(edge)) is not None:
                place.edges[edge] = self._leaf(*source, path, place)
            elif deeper is not None and deeper.node is not None and deeper.waiting():
                holder = WaitingPlace(deeper.session, deeper.node, path, None, place.module)
                self.add_below(holder, deeper)
                if holder.edges:
                    place.edges[edge] = holder
                    self._graph.places.append(holder)

    def _leaf(self, session: Session, node: int, path: str, parent: Place) -> Place:
        live = self._live.get(id(session.variable_of(node)))
        if live is not None:  # one object under two edges, which was assigned by the other edge
            return live
        known = self._leaves.get((session, node))
        if known is None:
            value = session.value_of(node)
            holder = self._graph.path_of(parent.module)
            known = self._leaves[session, node] = WaitingPlace(session, node, path, value, parent.module, holder)
            self._graph.places.append(known)
        return known

    def add_slots(self) -> None:
        """Add the slots that wait for the Variables of the leaves, in the optimizers that the graph has."""
        for (session, node), variable in self._leaves.items():
            for slot, value in session.slots_for(node):
                optimizer = self._live.get(id(slot.optimizer))
                if optimizer is not None:
                    path = slot_path(optimizer.path, slot.name, variable.path)
                    kept = WaitingPlace(session, slot.node, path, value, optimizer.module, optimizer.path)
                    self._graph.slots.append(SlotPlace(optimizer, slot.name, variable, kept))
