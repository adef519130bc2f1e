"""Restore on create: saved values wait for Variables that are made later, and are delivered once, as they appear."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from graftax.backend.host import host_dtype
from graftax.checkpoint.arrays import HostArray, castable
from graftax.checkpoint.expressions import receiver, take
from graftax.checkpoint.former_names import with_names_of_now
from graftax.checkpoint.index import Edge, Index, Kind
from graftax.checkpoint.paths import joined
from graftax.checkpoint.report import Restored, Trainable
from graftax.checkpoint.trained_as_saved import as_saved, differs, set_frozen, set_trainability
from graftax.core.errors import DTypeMismatch, MatchError, ShapeMismatch
from graftax.reparam.base import Reparam
from graftax.variables.graph.copies import Copied
from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable


class WaitingSlot(NamedTuple):
    """A saved slot whose Variable waits: the optimizer that makes it, its name, its path there and its node."""

    optimizer: Copied
    name: str
    path: str
    node: int


class CarriedSlot(NamedTuple):
    """The same on the way to a copy: nodes of the Variable and of the slot, and its value."""

    variable: int
    name: str
    path: str
    node: int
    value: HostArray


class Session:
    """One restore, as far as it is not done: values by node, and where each is awaited.

    Args:
        index: The index of the checkpoint.
        paths: Checkpoint paths of nodes, for messages.
        mapped: Program paths that take their values from another node than their edge leads to.
        given_away: Edges, each after the node that it begins at, whose values ``mapped`` and its like have.
        cast: The cast policy.
        as_saved: Whether what comes is to be trained or frozen as it was saved.
    """

    def __init__(
        self,
        index: Index,
        paths: dict[int, str],
        mapped: dict[str, int],
        given_away: Collection[tuple[int | None, Edge]],
        cast: str,
        as_saved: bool,
    ) -> None:
        self.index = index
        self.mapped = mapped
        self._paths = paths
        self._cast = cast
        self.as_saved = as_saved
        self.arrived: list[Restored] = []
        self.retrained: list[Trainable] = []
        self._values: dict[int, HostArray] = {}
        self._given_away = given_away
        self._awaited: dict[str, int] = {}
        self._slots: dict[int, list[WaitingSlot]] = {}
        self._given: dict[int, weakref.ref[Variable | Reparam]] = {}
        self._taken: set[str] = set()

    @property
    def paths(self) -> tuple[str, ...]:
        """Program paths that still wait; slots among them."""
        return tuple([path for path, node in self._awaited.items() if node not in self._given])

    def begin(self, values: dict[int, HostArray], awaited: dict[str, int], slots: dict[int, list[WaitingSlot]]) -> None:
        """Let these values wait under these program paths, and slots for the nodes of their Variables."""
        self._values, self._awaited, self._slots = values, dict(awaited), slots
        for waiting in slots.values():
            self._awaited |= {slot.path: slot.node for slot in waiting}

    def deferred(self, module: Copied, node: int | None, path: str) -> Deferred:
        """What is to hang on a Module that was paired with a node."""
        return Deferred(self, node, path, self._earlier(module), type(module))

    def leave_alone(self, paths: Iterable[str]) -> None:
        """Deliver nothing under these paths: what exists there was restored or left out."""
        self._taken |= {path for path in paths if path not in self._awaited}

    def gave_away(self, node: int, edge: Edge) -> bool:
        """True if what is under this edge goes to another place."""
        return (node, edge) in self._given_away

    def awaits(self, node: int, path: str) -> bool:
        """True if the value of this node still waits under this path."""
        return path not in self._taken and self._awaited.get(path) == node

    def value_of(self, node: int) -> HostArray:
        """The value of a node that waits."""
        return self._values[node]

    def slots_for(self, node: int) -> list[tuple[WaitingSlot, HostArray]]:
        """The slots, and their values, that wait for the Variable of a node."""
        return [(slot, self._values[slot.node]) for slot in self._slots.get(node, ())]

    def given(self, node: int) -> Variable | Reparam | None:
        """The Variable that has taken the value of a node."""
        found = self._given.get(node)
        return found() if found is not None else None

    # --- copies -----------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """All but the slots, which go with the copies of their optimizers: see `Carried`."""
        slots = {slot.path: slot.node for waiting in self._slots.values() for slot in waiting}
        awaited = {path: node for path, node in self._awaited.items() if path not in slots}
        nodes = set(awaited.values())
        return {
            "_awaited": awaited,
            "_values": {node: value for node, value in self._values.items() if node in nodes},
            "_given": {node: variable for node in self._given if (variable := self.given(node)) is not None},
            "_taken": set(self._taken),
        } | {
            name: getattr(self, name)
            for name in ("index", "mapped", "_given_away", "_paths", "_cast", "as_saved", "arrived", "retrained")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._given = {node: weakref.ref(variable) for node, variable in state["_given"].items()}
        self._slots = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Session:
        new = memo[id(self)] = object.__new__(Session)
        state = self.__getstate__()
        new.__setstate__({**state, "_given": copy.deepcopy(state["_given"], memo)})
        return new

    def carried_slots(self, optimizer: Copied) -> list[CarriedSlot]:
        """What waits in an optimizer."""
        return [
            CarriedSlot(variable, slot.name, slot.path, slot.node, self._values[slot.node])
            for variable, waiting in self._slots.items()
            for slot in waiting
            if slot.optimizer is optimizer
        ]

    def add_slots(self, optimizer: Copied, slots: Sequence[CarriedSlot]) -> None:
        """Let these wait in the copy of an optimizer."""
        for slot in slots:
            waiting = WaitingSlot(optimizer, slot.name, slot.path, slot.node)
            self._slots.setdefault(slot.variable, []).append(waiting)
            self._awaited[slot.path] = slot.node
            self._values[slot.node] = slot.value

    # --- arrivals ---------------------------------------------------------------------------------------------------

    def _earlier(self, module: Copied) -> Deferred | None:
        found = module._gx_pending
        return found if isinstance(found, Deferred) and found.session is not self else None

    def deliver(self, node: int, path: str, appeared: Variable | Reparam, was_below_frozen: bool = False) -> bool:
        """Give a Variable its value, and its slots theirs; False if no value is meant for this path.

        Of an expression, its base takes the value of a plain weight, else the whole does; see `expressions`.
        """
        if path in self._taken:
            return True
        if self._awaited.get(path) != node:
            return False
        self._taken.add(path)
        variable = receiver(appeared)
        self._assign(node, path, variable)
        if isinstance(variable, Variable):
            self._freeze(node, path, variable, was_below_frozen)
        for slot in self._slots.pop(node, ()) if isinstance(variable, Variable) else ():
            made = slot.optimizer._gx_ensure_slot(slot.name, variable)
            if made is not None:
                self._assign(slot.node, slot.path, made)
        return True

    def _assign(self, node: int, path: str, variable: Variable | Reparam) -> None:
        value = self._values[node]
        given = self._given.get(node)
        if (
            given is None or given() is not variable
        ):  # shared: a second path to the same Variable must not undo training
            reason = misfit(variable, value.dtype.name, value.shape, self._cast)
            if reason is not None:
                kind, text = reason
                raise kind(
                    f"{path}: {text}; it is {self._paths[node]!r} in the checkpoint",
                    "its saved value was waiting for it",
                    "build the layer as it was saved, or leave it out of the restore: skip=[...]",
                )
            note = ""
            if isinstance(variable, Variable):
                variable.assign(cast_to(variable, value))
            else:
                note, _ = take(variable, cast_to(variable, value), path)
            self.arrived.append(Restored(path, self._paths[node], value.dtype.name, value.shape, note))
        self._given[node] = weakref.ref(variable)
        del self._awaited[path]
        if node not in self._awaited.values():
            del self._values[node]

    def _freeze(self, node: int, path: str, variable: Variable, was_below_frozen: bool) -> None:
        """Let it be trained as it was saved, if that is asked for; what the program froze meanwhile stays so."""
        record, now = self.index.nodes[node], variable.trainability
        if variable.role == "slot" or not differs(record, now):
            return
        trained: bool = record.payload[1]
        is_applied = self.as_saved and not (trained and now.frozen and not was_below_frozen)
        if is_applied:
            set_trainability(variable, as_saved(now, trained))
        self.retrained.append(Trainable(path, trained, trained == is_applied))


class Deferred:
    """What waits below one Module or container: the Session, a node of the checkpoint and the program path.

    Without a node, only what ``map=`` has brought there waits.
    """

    def __init__(
        self,
        session: Session,
        node: int | None,
        path: str,
        earlier: Deferred | None = None,
        kind: type[object] | None = None,
        was_frozen: bool = False,
    ) -> None:
        self.session = session
        self.node = node
        self._path = path
        record = None if node is None else session.index.nodes[node]
        is_object = record is not None and record.kind is Kind.OBJECT
        self._was_frozen = (
            bool((record.payload or {}).get("frozen")) if record is not None and is_object else was_frozen
        )
        saved = () if record is None else record.edges
        edges = {e: n for e, n in saved if node is None or not session.gave_away(node, e)}
        self._edges = edges if kind is None else with_names_of_now(kind, edges)
        self._earlier = earlier if earlier is not None and earlier.session.paths else None

    def _target(self, edge: Edge) -> tuple[str, int | None]:
        path = joined(self._path, edge)
        return path, self.session.mapped.get(path, self._edges.get(edge))

    def is_of(self, other: object) -> bool:
        """True if both are of the same restore."""
        return isinstance(other, Deferred) and other.session is self.session

    def hung_on(self, module: Copied) -> None:
        """Freeze a Module that has appeared, if it was saved so; what is in it already has flags of its own."""
        if self._was_frozen and self.session.as_saved and isinstance(module, Module) and not module._gx_frozen:
            set_frozen(module, True)
        elif self._earlier is not None:
            self._earlier.hung_on(module)

    def claim(self, edge: Edge, variable: Variable | Reparam) -> None:
        """A weight appeared under this edge: the latest restore that has a value for it delivers it, once."""
        path, node = self._target(edge)
        taken = node is not None and self.session.deliver(node, path, variable, self._was_frozen)
        if not taken and self._earlier is not None:
            self._earlier.claim(edge, variable)

    def child(self, edge: Edge) -> Deferred | None:
        """What waits below this edge, or None."""
        path, node = self._target(edge)
        earlier = self._earlier.child(edge) if self._earlier is not None else None
        if node is None or self.session.index.nodes[node].kind.is_leaf:
            mapped = any(target.startswith(f"{path}/") for target in self.session.mapped)
            return Deferred(self.session, None, path, earlier) if mapped else earlier
        return Deferred(self.session, node, path, earlier, was_frozen=self._was_frozen)

    def edges(self) -> list[Edge]:
        """The edges that the checkpoints have here, and those of ``map=``."""
        begin = len(self._path) + 1
        mapped = [path[begin:].partition("/")[0] for path in self.session.mapped if path.startswith(f"{self._path}/")]
        return list(
            dict.fromkeys([*self._edges, *mapped, *(self._earlier.edges() if self._earlier is not None else ())])
        )

    def leaf(self, edge: Edge) -> tuple[Session, int] | None:
        """Where the value for a Variable under this edge comes from, if one waits: a Session, and a node in it."""
        path, node = self._target(edge)
        if node is not None and self.session.awaits(node, path):
            return self.session, node
        return self._earlier.leaf(edge) if self._earlier is not None else None

    def carried(self, module: Copied) -> Carried | None:
        """What a copy of the Module takes along."""
        earlier = self._earlier.carried(module) if self._earlier is not None else None
        if not self._waiting_here():
            return earlier
        return Carried(self.session, self.node, self._path, earlier, self.session.carried_slots(module))

    def waiting(self) -> tuple[str, ...]:
        """The program paths, here and below, whose values still wait; slots of their Variables among them."""
        return (*self._waiting_here(), *(self._earlier.waiting() if self._earlier is not None else ()))

    def _waiting_here(self) -> tuple[str, ...]:
        return tuple(path for path in self.session.paths if f"{path}/".startswith(f"{self._path}/"))


class Carried:
    """What waits below one Module, on the way to a copy of it; slots go along with the optimizer that makes them."""

    def __init__(
        self, session: Session, node: int | None, path: str, earlier: Carried | None, slots: list[CarriedSlot]
    ) -> None:
        self._session = session
        self._node = node
        self._path = path
        self._earlier = earlier
        self._slots = slots
        self._arrived = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._arrived = True  # copied, and the Session with it

    def hang(self, module: Copied) -> None:
        """Let the values wait below the copy."""
        object.__setattr__(module, "_gx_pending", self._deferred(module))

    def _deferred(self, module: Copied) -> Deferred:
        # of a Session that the original of a shallow copy still uses, each value would arrive in one of both only
        session = self._session if self._arrived else copy.deepcopy(self._session)
        session.add_slots(module, self._slots)
        earlier = self._earlier._deferred(module) if self._earlier is not None else None
        return Deferred(session, self._node, self._path, earlier)


def misfit(
    variable: Variable | Reparam, dtype: str, shape: tuple[int, ...], cast: str
) -> tuple[type[MatchError], str] | None:
    """Why a saved array cannot go into a Variable: the error class and the words; None if it can."""
    if tuple(variable.shape) != tuple(shape):
        return ShapeMismatch, f"shape {tuple(shape)} saved, shape {tuple(variable.shape)} in the program"
    if not castable(dtype, variable.dtype, cast):
        return DTypeMismatch, f"dtype {dtype} saved, dtype {variable.dtype} in the program"
    return None


def cast_to(variable: Variable | Reparam, value: HostArray) -> HostArray:
    """The value in the dtype of the Variable."""
    return value if value.dtype.name == variable.dtype else value.astype(host_dtype(variable.dtype))
