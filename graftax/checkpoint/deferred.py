"""Restore on create: saved values wait for Variables that are made later, and are delivered once, as they appear."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import NamedTuple

from graftax.backend.host import host_dtype
from graftax.checkpoint.arrays import HostArray, castable
from graftax.checkpoint.expressions import receiver, take
from graftax.checkpoint.index import Edge, Index
from graftax.checkpoint.paths import joined
from graftax.errors import DTypeMismatch, MatchError, ShapeMismatch
from graftax.module import Module, set_pending
from graftax.reparam.base import Reparam
from graftax.variables.variable import Variable


class WaitingSlot(NamedTuple):
    """A saved slot whose Variable waits: the optimizer that makes it, its name, its path there and its node."""

    optimizer: Module
    name: str
    path: str
    node: int


class Session:
    """One restore, as far as it is not done: values by node, and where each is awaited.

    Args:
        index: The index of the checkpoint.
        paths: Checkpoint paths of nodes, for messages.
        mapped: Program paths that take their values from another node than their edge leads to.
        cast: The cast policy.
    """

    def __init__(self, index: Index, paths: dict[int, str], mapped: dict[str, int], cast: str) -> None:
        self.index = index
        self.mapped = mapped
        self._paths = paths
        self._cast = cast
        self._values: dict[int, HostArray] = {}
        self._awaited: dict[str, int] = {}
        self._slots: dict[int, list[WaitingSlot]] = {}
        self._given: dict[int, weakref.ref[Variable | Reparam]] = {}
        self._taken: set[str] = set()
        self._open = False

    @property
    def paths(self) -> tuple[str, ...]:
        """Program paths that still wait; slots among them."""
        return tuple([path for path, node in self._awaited.items() if node not in self._given])

    def begin(self, values: dict[int, HostArray], awaited: dict[str, int], slots: dict[int, list[WaitingSlot]]) -> None:
        """Let these values wait under these program paths, and slots for the nodes of their Variables."""
        self._values, self._awaited, self._slots = values, dict(awaited), slots
        for waiting in slots.values():
            self._awaited |= {slot.path: slot.node for slot in waiting}

    def attach(self, modules: Sequence[tuple[Module, int, str]]) -> None:
        """Hang the waiting values on Modules; what exists there already was restored or left alone, and stays so."""
        self._open = False
        for module, node, path in modules:
            set_pending(module, Deferred(self, node, path, self._earlier(module)))
        self._open = True

    def _earlier(self, module: Module) -> Deferred | None:
        found = module._pending
        return found if isinstance(found, Deferred) and found.session is not self else None

    def deliver(self, node: int, path: str, appeared: Variable | Reparam) -> bool:
        """Give a Variable its value, and its slots theirs; False if no value is meant for this path.

        Of an expression, its base takes the value of a plain weight, else the whole does; see `expressions`.
        """
        if not self._open or path in self._taken:
            self._taken.add(path)
            return True
        if self._awaited.get(path) != node:
            return False
        self._taken.add(path)
        variable = receiver(appeared)
        self._assign(node, path, variable)
        for slot in self._slots.pop(node, ()) if isinstance(variable, Variable) else ():
            made = slot.optimizer.ensure_slot(slot.name, variable)
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
            if isinstance(variable, Variable):
                variable.assign(cast_to(variable, value))
            else:
                take(variable, cast_to(variable, value), path)
        self._given[node] = weakref.ref(variable)
        del self._awaited[path]
        if node not in self._awaited.values():
            del self._values[node]


class Deferred:
    """What waits below one Module or container: the Session, a node of the checkpoint and the program path."""

    def __init__(self, session: Session, node: int, path: str, earlier: Deferred | None = None) -> None:
        self.session = session
        self._node = node
        self._path = path
        self._edges = dict(session.index.nodes[node].edges)
        self._earlier = earlier if earlier is not None and earlier.session.paths else None

    def _target(self, edge: Edge) -> tuple[str, int | None]:
        path = joined(self._path, edge)
        return path, self.session.mapped.get(path, self._edges.get(edge))

    def claim(self, edge: Edge, variable: Variable | Reparam) -> None:
        """A weight appeared under this edge: the latest restore that has a value for it delivers it, once."""
        path, node = self._target(edge)
        taken = node is not None and self.session.deliver(node, path, variable)
        if not taken and self._earlier is not None:
            self._earlier.claim(edge, variable)

    def child(self, edge: Edge) -> Deferred | None:
        """What waits below this edge, or None."""
        path, node = self._target(edge)
        earlier = self._earlier.child(edge) if self._earlier is not None else None
        if node is None or self.session.index.nodes[node].kind.is_leaf:
            return earlier
        return Deferred(self.session, node, path, earlier)

    def waiting(self) -> tuple[str, ...]:
        """The program paths, here and below, whose values still wait; slots of their Variables among them."""
        return tuple(path for path in self.session.paths if f"{path}/".startswith(f"{self._path}/"))


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
