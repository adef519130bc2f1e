"""The class Session: the values of one restore that wait for Variables, and their assignment."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from graftax.checkpoint.arrays import HostArray
from graftax.checkpoint.choices import Choices
from graftax.checkpoint.expressions import is_near, off_by, receiver, take, undo
from graftax.checkpoint.graph import path_below
from graftax.checkpoint.index import Edge, Index
from graftax.checkpoint.misfit import cast_to, misfit
from graftax.checkpoint.newer_values import Marks, warn_of_replaced
from graftax.checkpoint.own_places import OwnPlaces
from graftax.checkpoint.paths import prefixes
from graftax.checkpoint.report import Restored, Settings, Trainable
from graftax.checkpoint.subset import Spot, Subset
from graftax.checkpoint.trained_as_saved import is_different, set_trainability, trainability_as_saved
from graftax.core.errors import AmbiguousSharing
from graftax.reparam.base import Reparam
from graftax.variables.graph.copies import Copied
from graftax.variables.graph.following import follow, followers
from graftax.variables.graph.module import Module
from graftax.variables.graph.trained_model import restored_models, restoring
from graftax.variables.state import storage
from graftax.variables.variable import Variable


class WaitingSlot(NamedTuple):
    """A saved slot whose Variable waits: the optimizer that creates it, its name, both program paths and its node."""

    optimizer: Copied
    name: str
    path: str
    node: int
    variable_path: str


class CarriedSlot(NamedTuple):
    """A `WaitingSlot` in the form for a copy: the nodes of the Variable and of the slot, and its value."""

    variable: int
    name: str
    path: str
    node: int
    value: HostArray
    variable_path: str


class Session:
    """The unfinished part of a restore: values by node, and the paths that wait for them.

    Args:
        index: The index of the checkpoint.
        paths: The checkpoint paths of nodes, for messages.
        mapped: Program paths that take their values from a node other than that of their edge.
        given_away: Pairs of a node and an edge whose values ``map=`` gives to other paths.
        choices: How much must match, and what counts where both sides differ.
        as_saved: Whether Variables get the saved ``trainable`` flags.
        subset: The selected part; None after unpickling, if a selector could not be pickled.
        as_used: Whether weights get the saved use of their adapters. Defaults to False.
    """

    def __init__(
        self,
        index: Index,
        paths: Mapping[int, str],
        mapped: dict[str, int],
        given_away: Collection[tuple[int | None, Edge]],
        choices: Choices,
        as_saved: bool,
        subset: Subset | None = None,
        as_used: bool = False,
    ) -> None:
        self.index = index
        self.mapped = mapped
        self._paths = paths
        self.choices = choices
        self.as_saved = as_saved
        self.as_used = as_used
        self.begun_frozen: frozenset[str] | None = None
        """What was frozen where the saved run began: a saved flag like that is not restored. None for all flags."""
        self.begun_uses: Mapping[str, tuple[str, ...]] = {}
        """The adapters in use where the saved run began: saved ones like these are not restored."""
        self.ways: Mapping[str, tuple[str, ...]] = {}
        """The further paths of what is held several times, by its first path."""
        self.own_places = OwnPlaces()
        self.lacking: dict[str, None] = {}
        self._subset = subset
        self.arrived: list[Restored] = []
        self.retrained: list[Trainable] = []
        self.differing: list[Settings] = []
        self._values: dict[int, HostArray] = {}
        self._given_away = given_away
        self._awaited: dict[str, int] = {}
        self._slots: dict[int, list[WaitingSlot]] = {}
        self._given: dict[int, weakref.ref[Variable | Reparam]] = {}
        self._taken: set[str] = set()
        self._at_once: dict[int, list[weakref.ref[Variable]]] = {}  # who got a value in the restore itself, by node
        self._marks = Marks()
        self._models: list[weakref.ref[Module]] = []  # by whose paths rules say which slots there are
        self.source: str | None = None
        """The checkpoint, as it was named; None while the restore is under way."""
        self.builds = 0
        """How many builds of layers that wait for values are running."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the program paths whose values nothing has taken yet, including slots."""
        taken = {*self._given, *self._at_once}
        return tuple([path for path, node in self._awaited.items() if node not in taken])

    @property
    def overdue(self) -> tuple[str, ...]:
        """Return the program paths that still wait, without slots of Variables that wait themselves."""
        waiting = set(self._awaited.values())
        later = {slot.path for node, slots in self._slots.items() if node in waiting for slot in slots}
        return tuple([path for path in self.paths if path not in later])

    def begin(self, values: dict[int, HostArray], awaited: dict[str, int], slots: dict[int, list[WaitingSlot]]) -> None:
        """Let these values wait at these program paths, and slots for the nodes of their Variables."""
        self._values, self._awaited, self._slots = values, dict(awaited), slots
        self._models = [weakref.ref(model) for model in restored_models()]
        for waiting in slots.values():
            self._awaited |= {slot.path: slot.node for slot in waiting}

    def note_restored(self, pairs: Sequence[tuple[Variable, int]]) -> None:
        """Record which Variables got values at once, and from which nodes."""
        self._marks = Marks(variable for variable, _ in pairs)
        for variable, node in pairs:
            self._at_once.setdefault(node, []).append(weakref.ref(variable))

    def leave_alone(self, paths: Iterable[str]) -> None:
        """Assign nothing below these paths: the existing objects there were restored or left out."""
        self._taken |= {path for path in paths if path not in self._awaited}

    @property
    def renames(self) -> bool:
        """Return whether ``map=`` names other paths than those of the checkpoint."""
        return bool(self.mapped or self._given_away)

    def gave_away(self, node: int, edge: Edge) -> bool:
        """Return True if ``map=`` gives the value under this edge to another path."""
        return (node, edge) in self._given_away

    def is_about(self, spot: Spot) -> bool:
        """Return True if the object of this spot is selected."""
        if self._subset is None or self._subset.is_all:
            return self._subset is not None
        above = prefixes(spot.path)
        others = [f"{way}{spot.path[len(one) :]}" for one in above for way in self.ways.get(one, ())]
        return spot._replace(others=(*spot.others, *others)) in self._subset

    def has_given(self, path: str) -> bool:
        """Return True if the Variable at this path has its value, or was left out."""
        return path in self._taken

    def point_of_return(self) -> Callable[[], None]:
        """Return a function that lets all values assigned from now on wait again, for a layer whose build fails."""
        names = ("_values", "_awaited", "_slots", "_given", "_taken", "arrived", "retrained", "differing")
        before = {name: copy.copy(getattr(self, name)) for name in names}
        return lambda: self.__dict__.update(before)

    def is_waiting(self) -> bool:
        """Return True while a Variable may appear that gets a value, be it one that another has taken, too."""
        return bool(self._awaited)

    def awaits(self, node: int, path: str) -> bool:
        """Return True if the value of this node still waits at this path."""
        return path not in self._taken and self._awaited.get(path) == node

    def value_of(self, node: int) -> HostArray:
        """Return the value of a waiting node."""
        return self._values[node]

    def slots_for(self, node: int) -> list[tuple[WaitingSlot, HostArray]]:
        """Return the slots, and their values, that wait for the Variable of a node."""
        slots = {(id(slot.optimizer), slot.name): slot for slot in reversed(self._slots.get(node, []))}
        return [(slot, self._values[slot.node]) for slot in reversed(slots.values())]

    def variable_of(self, node: int) -> Variable | Reparam | None:
        """Return the Variable that has taken the value of a node, or None."""
        found = self._given.get(node)
        return found() if found is not None else None

    # --- copies -------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the slots, which are copied with their optimizers: see `Carried`."""
        slots = {slot.path: slot.node for waiting in self._slots.values() for slot in waiting}
        awaited = {path: node for path, node in self._awaited.items() if path not in slots}
        nodes = set(awaited.values())
        return {
            "_awaited": awaited,
            "_values": {node: value for node, value in self._values.items() if node in nodes},
            "_given": {node: variable for node in self._given if (variable := self.variable_of(node)) is not None},
            "_at_once": {node: [] for node in self._at_once},
            "_taken": set(self._taken),
            "_subset": self._subset if self._subset is not None and self._subset.can_be_pickled() else None,
        } | {
            name: getattr(self, name)
            for name in (
                *("index", "mapped", "_given_away", "_paths", "choices", "as_saved", "as_used", "source"),
                *("arrived", "retrained", "differing", "begun_frozen", "begun_uses", "ways"),
            )
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(
            {"lacking": {}, "source": None, "begun_frozen": None, "begun_uses": {}, "ways": {}, **state}
        )
        self._given = {node: weakref.ref(variable) for node, variable in state["_given"].items()}
        self._slots, self._marks, self._models, self.builds, self.own_places = {}, Marks(), [], 0, OwnPlaces()

    def __deepcopy__(self, memo: dict[int, Any]) -> Session:
        new = memo[id(self)] = object.__new__(Session)
        state = self.__getstate__()
        new.__setstate__({**state, "_subset": self._subset, "_given": copy.deepcopy(state["_given"], memo)})
        return new

    def carried_slots(self, optimizer: Copied) -> list[CarriedSlot]:
        """Return the slots that wait in an optimizer."""
        return [
            CarriedSlot(variable, slot.name, slot.path, slot.node, self._values[slot.node], slot.variable_path)
            for variable, waiting in self._slots.items()
            for slot in waiting
            if slot.optimizer is optimizer
        ]

    def add_slots(self, optimizer: Copied, slots: Sequence[CarriedSlot]) -> None:
        """Let these slots wait in the copy of an optimizer."""
        for slot in slots:
            waiting = WaitingSlot(optimizer, slot.name, slot.path, slot.node, slot.variable_path)
            self._slots.setdefault(slot.variable, []).append(waiting)
            self._awaited[slot.path] = slot.node
            self._values[slot.node] = slot.value

    # --- assignment ---------------------------------------------------------------------------------------------------

    def deliver(self, node: int, path: str, appeared: Variable | Reparam, was_below_frozen: bool = False) -> bool:
        """Assign the values of a Variable and of its slots; return False if no value waits for this path.

        In an expression, its base takes the value of a plain weight, or else the expression itself; see `expressions`.
        """
        if path in self._taken:
            return True
        if self._awaited.get(path) != node:
            return False
        self._taken.add(path)
        variable = receiver(appeared)
        if isinstance(variable, Variable) and self._is_left_out(variable):
            return True
        self._assign(node, path, variable)
        self._follow(path, appeared, variable)
        if isinstance(variable, Variable):
            self._freeze(node, path, variable, was_below_frozen)
            self._deliver_slots(self._take_slots(node, path), variable)
        return True

    def _is_left_out(self, variable: Variable) -> bool:
        """Return True for one that was made under another path, which ``skip`` leaves out."""
        own = self.own_places.path_of(variable)
        return own is not None and self._subset is not None and self._subset.skips(Spot(own, variable.role, variable))

    def pass_over(self, node: int, path: str, variable: Variable | Reparam, later: Collection[tuple[int, str]]) -> None:
        """Let a value wait no more: a later restore had one for what has appeared. Slots that it had not are assigned.

        Args:
            node: The node of the value.
            path: The path where it waits.
            variable: What has appeared there.
            later: The slots that later restores had, as optimizers by id, and names.
        """
        if not self.awaits(node, path):
            return
        self._taken.add(path)
        self._forget(node, path)
        given: list[WaitingSlot] = []
        for slot in self._take_slots(node, path):
            if (id(slot.optimizer), slot.name) in later:
                self._forget(slot.node, slot.path)
            else:
                given.append(slot)
        if isinstance(variable, Variable):
            self._deliver_slots(given, variable)

    def slot_names(self, node: int, path: str) -> set[tuple[int, str]]:
        """Return the slots that wait for the Variable of a node at a path, as optimizers by id, and names."""
        return {(id(slot.optimizer), slot.name) for slot in self._slots.get(node, ()) if slot.variable_path == path}

    def _take_slots(self, node: int, path: str) -> list[WaitingSlot]:
        """Return the slots that wait for the Variable of a node at a path, and let them wait no more."""
        slots = self._slots.get(node, [])
        self._slots[node] = [slot for slot in slots if slot.variable_path != path]
        return [slot for slot in slots if slot.variable_path == path]

    def _deliver_slots(self, slots: Sequence[WaitingSlot], variable: Variable) -> None:
        if slots:
            with restoring([model for ref in self._models if (model := ref()) is not None]):
                for slot in slots:
                    made = slot.optimizer._gx_ensure_slot(slot.name, variable)
                    if made is not None:
                        self._assign(slot.node, slot.path, made)

    def _forget(self, node: int, path: str) -> None:
        del self._awaited[path]
        if node not in self._awaited.values():
            del self._values[node]

    def _follow(self, path: str, appeared: Variable | Reparam, taker: Variable | Reparam) -> None:
        """Let expressions follow whose bases took a value, unless their state has saved values, too."""
        for expression in followers([taker]):
            above = len(expression._gx_way())
            state: list[str] = []
            if (below := len(appeared._gx_way()) - above) > 0:  # else it took a plain weight, which has no state
                place = path.rsplit("/", below)[0]
                state = [path_below(place, expression, leaf) for leaf in expression._gx_state_about_base()]
            if not any(each in self._awaited or each in self._taken for each in state):
                with storage.concretely():
                    follow(expression)

    def _assign(self, node: int, path: str, variable: Variable | Reparam) -> None:
        value = self._values[node]
        shared = self.variable_of(node) is variable or any(one() is variable for one in self._at_once.get(node, ()))
        if not shared:  # else it has appeared at a second path, and its value may be trained already
            reason = misfit(variable, value.dtype.name, value.shape, self.choices.cast)
            if reason is not None:
                kind, text = reason
                raise kind(
                    f"{path}: {text}; it is {self._paths[node]!r} in the checkpoint",
                    "its saved value was waiting for it",
                    "build the layer as it was saved, or leave it out of the restore: skip=[...]",
                )
            note = ""
            if isinstance(variable, Variable):
                if not self.builds:
                    warn_of_replaced(path, variable, value, self.source, self._marks)
                variable.assign(cast_to(variable, value))
            else:
                note, before = take(variable, cast_to(variable, value), path)
                self._check_tied(node, path, variable, before)
            self.arrived.append(Restored(path, self._paths[node], value.dtype.name, value.shape, note))
        self._given[node] = weakref.ref(variable)
        self._forget(node, path)

    def _check_tied(self, node: int, path: str, taker: Reparam, before: list[tuple[Any, Any]]) -> None:
        """Raise if an expression has changed a Variable that already had another saved value."""
        at_once = [(ref(), other) for other, refs in self._at_once.items() for ref in refs]
        known = {id(found): other for found, other in at_once if found is not None}
        known |= {id(given): other for other in self._given if (given := self.variable_of(other)) is not None}
        earlier = [(v, value) for v, value in before if id(v) in known]
        if not earlier or is_near(taker, self._relative_change(taker, before)):
            return
        undo(before)
        sources = ", ".join(self._paths[other] for other in dict.fromkeys([node, *(known[id(v)] for v, _ in earlier)]))
        raise AmbiguousSharing(
            f"{path}: is made of {', '.join(v.path for v, _ in earlier)} in the program; the checkpoint has different "
            f"values for them: {sources}",
            "its saved value was waiting for it, and would replace that of the other",
            "tie or untie as it was saved; or leave one of the two out of the restore: skip=[...]",
        )

    @staticmethod
    def _relative_change(taker: Reparam, before: list[tuple[Any, Any]]) -> float:
        """Return the relative difference between the value of an expression before and now."""
        taken = taker.value
        after = [(v, v.value) for v, _ in before]
        undo(before)
        error = off_by(taker, taken)
        undo(after)
        return error

    def is_as_begun(self, path: str, trained: bool) -> bool:
        """Return True if a saved flag is known to be that of the beginning of the saved run."""
        return self.begun_frozen is not None and trained == (path not in self.begun_frozen)

    def _freeze(self, node: int, path: str, variable: Variable, was_below_frozen: bool) -> None:
        """Restore the ``trainable`` flag, if requested. A Variable that the program froze meanwhile stays frozen."""
        record, now = self.index.nodes[node], variable.trainability
        trained: bool = record.payload[1]
        if variable.role == "slot" or not is_different(record, now) or self.is_as_begun(path, trained):
            return
        is_applied = self.as_saved and not (trained and now.frozen and not was_below_frozen)
        if is_applied:
            set_trainability(variable, trainability_as_saved(now, trained))
        self.retrained.append(Trainable(path, trained, trained == is_applied))
