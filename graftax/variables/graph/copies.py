"""Copies of Modules: what a copy has of its own, and what waits for Variables that neither has yet."""

from __future__ import annotations

import copy
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol

from graftax.core.typedefs import Array, Shape
from graftax.variables.creation import CreatorScope
from graftax.variables.graph.node import BOOKKEEPING, UNCHANGING, Branch, Edge, is_inside, own, own_nodes
from graftax.variables.variable import Variable


class Pending(Protocol):
    """Values from a checkpoint that wait for the objects they belong to."""

    def claim(self, edge: Edge, variable: Variable) -> None:
        """Give a Variable that has appeared under this edge its value, if one waits."""
        ...

    def child(self, edge: Edge) -> Pending | None:
        """Return what waits below this edge, or None."""
        ...

    def is_of(self, other: object) -> bool:
        """Tell whether both come from the same restore."""
        ...

    def building(self, module: Copied) -> AbstractContextManager[None]:
        """Run a build of the Module that this hangs on."""
        ...

    def hung_on(self, module: Copied) -> None:
        """Hear of a Module that has appeared, and that this hangs on now."""
        ...

    def waiting(self, is_overdue: bool = False) -> tuple[str, ...]:
        """Return the paths of the values that still wait here and below; overdue ones do not wait for other values."""
        ...

    def shape_of(self, edge: Edge) -> Shape | None:
        """Return the shape of the value that waits for a Variable under this edge; None if there is none."""
        ...

    def carried(self, module: Copied) -> Carried | None:
        """Return what a copy of the Module that this hangs on takes along; None if nothing waits."""
        ...


class Carried(Protocol):
    """Waiting values on the way to a copy; can be copied and pickled itself."""

    def hang(self, module: Copied) -> None:
        """Let the values wait below the copy."""
        ...


class Copied(Branch):
    """The part of a Module that says how it is copied and pickled."""

    _gx_pending: Pending | None = None
    _gx_captured: tuple[CreatorScope, ...] = ()

    def _gx_ensure_state(self) -> None:
        """Make the Variables of this Module itself that wait for nothing but to be asked for.

        Called before its children are looked at, saved or copied. A Module that makes Variables at their first use,
        and could make them now, has this method; else checkpoints and copies would lack them.
        """

    def _gx_lacks_state(self) -> bool:
        """Return True if `_gx_ensure_state` would make something now."""
        return False

    def _gx_ensure_slot(self, name: str, variable: Variable) -> Variable | None:
        """Return the slot of that name for a Variable, made if need be; None if this Module keeps no such slot."""
        return None

    def _gx_may_get(self, name: str) -> bool:
        """Tell whether Variables of this Module are made later, under an attribute that it does not have yet."""
        return False

    def _gx_start_of(self, variable: Variable) -> Array | None:
        """Return a new array with which a Variable of it starts, where it does without a saved value; else None."""
        return None

    _gx_resets_slots: ClassVar[bool] = False
    """Whether `_gx_new_slots` gives the slots of this Module as new ones."""

    def _gx_new_slots(self, variable: Variable) -> dict[str, Variable]:
        """Return what its slots for a Variable would be, were they made now, by name; they are not kept."""
        return {}

    def _gx_state_for_copy(self) -> Carried | None:
        return self._gx_pending.carried(self) if self._gx_pending is not None else None

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        self._gx_ensure_state()
        new = object.__new__(type(self))
        memo[id(self)] = new
        for name, value in list(self.__dict__.items()):  # a stream below may be made meanwhile, which counts its root
            if name not in BOOKKEEPING:
                new.__dict__[name] = value if type(value) in UNCHANGING else copy.deepcopy(value, memo)
        if self._gx_captured:
            object.__setattr__(new, "_gx_captured", self._gx_captured)
            for scope in self._gx_captured:
                if self in scope.waiting:  # the scope is checked when its copies are built, too
                    scope.waiting.add(new)
        new._gx_readopt()
        carried = self._gx_state_for_copy()
        if carried is not None:
            copy.deepcopy(carried, memo).hang(new)
        return new

    def __getstate__(self) -> dict[str, Any]:
        self._gx_ensure_state()
        state = {name: value for name, value in list(self.__dict__.items()) if name not in BOOKKEEPING}
        carried = self._gx_state_for_copy()
        state |= {} if carried is None else {"_gx_pending": carried}
        scopes = tuple(one for one in self._gx_captured if self in one.waiting and not one.distributes)
        return {**state, "_gx_captured": scopes} if scopes else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        carried = state.get("_gx_pending")
        self.__dict__.update({name: value for name, value in state.items() if name not in BOOKKEEPING})
        if scopes := state.get("_gx_captured"):
            object.__setattr__(self, "_gx_captured", scopes)
            for scope in scopes:
                scope.waiting.add(self)
        self._gx_readopt()
        if carried is not None:
            carried.hang(self)

    def _gx_readopt(self) -> None:
        """Adopt what a copy has brought; copies are made from the inside out, so what is held twice moves up here."""
        mine = list(own_nodes(self))
        for edges, node in mine:
            if node._gx_owner is None:
                own(self, edges, node)
        # what was held twice was first owned by a copy below, which was made before this one
        for edges, node in mine:
            owner = node._gx_owner
            if owner is not None and owner is not self and is_inside(owner, self):
                own(self, edges, node)
