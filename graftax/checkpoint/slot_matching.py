"""Matching slots: by the name of the slot, the optimizer and the Variable."""

from __future__ import annotations

from graftax.checkpoint.former_names import is_class
from graftax.checkpoint.graph import Place, SlotPlace
from graftax.checkpoint.index import Kind, SlotRecord
from graftax.checkpoint.matching import Match
from graftax.checkpoint.paths import slot_path
from graftax.checkpoint.renames import SlotKey
from graftax.checkpoint.session import WaitingSlot
from graftax.checkpoint.subset import Spot, find_saved_spot
from graftax.variables.graph.module import Module


class SlotMatch:
    """The slots of a `Match`, to whose pairs and leftovers they are added. Slots that do not exist yet are created.

    ``waiting`` are the slots whose Variables wait, by the node of the Variable.
    """

    def __init__(self, match: Match) -> None:
        self._match = match
        self.waiting: dict[int, list[WaitingSlot]] = {}
        self._existing: dict[SlotKey, SlotPlace] = {
            (slot.optimizer, slot.name, slot.variable): slot for slot in match.graph.slots if slot.variable is not None
        }
        self._variables: dict[int, list[Place]] = {}
        for place, nodes in match.candidates.items():
            if place.kind is Kind.VARIABLE:
                for node in nodes:
                    self._variables.setdefault(node, []).append(place)
        self._awaited: dict[int, list[str]] = {}
        for path, node in match.awaited.items():
            self._awaited.setdefault(node, []).append(path)
        for record in match.slots:
            if record.slot not in match.renames.given_slots:
                for optimizer in match.objects.get(record.optimizer, ()):
                    self._match_slot(record, optimizer)
        for key, node in match.renames.slots.items():
            self._take(key, node)

    def _match_slot(self, record: SlotRecord, optimizer: Place) -> None:
        match = self._match
        there: list[Place | str | None] = [
            *self._variables.get(record.variable, ()),
            *self._awaited.get(record.variable, ()),
        ]
        for one in there or [None]:
            variable = one if isinstance(one, Place) else None
            place = variable.spot if variable is not None else self._absent_spot(record, one)
            path = slot_path(optimizer.path, record.name, place.path)
            ways = [
                slot_path(here, record.name, there)
                for here in (optimizer.path, *optimizer.further)
                for there in place.paths
            ]
            wanted = match.is_wanted(
                find_saved_spot(match.index, record.slot, path, optimizer.module, optimizer.path, tuple(ways[1:]))
            )
            if not wanted or match.subset.skips(place):  # a slot is restored only together with its Variable
                continue
            has_place = one is not None
            if not has_place or not self._is_same_class(record, optimizer.thing, path):
                match.unused[path] = record.slot
            elif variable is not None:
                key = optimizer, record.name, variable
                if key not in match.renames.slots:
                    self._take(key, record.slot)
            else:
                waiting = WaitingSlot(optimizer.thing, record.name, path, record.slot, str(one))
                self.waiting.setdefault(record.variable, []).append(waiting)

    def _absent_spot(self, record: SlotRecord, path: object) -> Spot:
        """Return what selectors see of a slot whose Variable the program does not have, or not yet, at a path."""
        match = self._match
        known = match.absent.get(record.variable)
        if known is not None and path in (None, known.path):
            return known
        there = path if isinstance(path, str) else match.paths[record.variable]
        return find_saved_spot(match.index, record.variable, there)

    def _is_same_class(self, record: SlotRecord, optimizer: object, path: str) -> bool:
        if not isinstance(optimizer, Module):
            return False
        nodes = self._match.index.nodes
        saved = nodes[record.slot].payload[3].get("keeper")
        now = optimizer._gx_slot_class(record.name)
        if type(saved) is not str:  # older files do not record the class
            saved, now = nodes[record.optimizer].type.rpartition(".")[2], type(optimizer).__name__
        if is_class(saved, type(optimizer), now):
            return True
        self._match.reasons[path] = f"is a slot of {saved}, and the program has {now} there"
        return False

    def _take(self, key: SlotKey, node: int) -> None:
        match = self._match
        optimizer, name, variable = key
        path = slot_path(optimizer.path, name, variable.path)
        known = self._existing.get(key)
        if known is not None:
            place = known.slot
        else:
            made = None if match.conflicts else optimizer.thing._gx_ensure_slot(name, variable.thing)
            if made is None:
                if not match.conflicts:
                    match.unused[path] = node
                return
            place = Place(made, Kind.VARIABLE, path)
        if match.fits(place, node):
            match.pairs[place] = node
