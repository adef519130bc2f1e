"""SlotTable: what an optimizer knows of each variable, its slots and its settings."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterator
from typing import Any

from graftax.optimizers.engine.settings import Settings
from graftax.variables.variable import Variable


class VariableState:
    """What an optimizer keeps of one variable: its slots, and its settings, None until they are asked for."""

    __slots__ = ("settings", "slots", "variable")

    def __init__(self, variable: weakref.ref[Variable], slots: dict[str, Variable], settings: Settings | None) -> None:
        self.variable = variable
        self.slots = slots
        self.settings = settings


class SlotTable:
    """Slots by the identity of their variable, which is not kept alive: when it goes, its slots go."""

    def __init__(self) -> None:
        self._states: dict[int, VariableState] = {}
        self._memo: dict[int, Any] | None = None  # of the deep copy that made this table, until its first use

    def _known(self) -> dict[int, VariableState]:
        if self._memo is not None:
            # Only now is it known which variables were copied along: those move here, the others keep their place.
            memo, states, self._memo = self._memo, self._states, None
            self._states = {}
            for state in states.values():
                variable = state.variable()
                if variable is not None:
                    self._insert(memo.get(id(variable), variable), state.slots, state.settings)
        return self._states

    def _insert(self, variable: Variable, slots: dict[str, Variable], settings: Settings | None) -> VariableState:
        key, states = id(variable), self._states
        state = states[key] = VariableState(weakref.ref(variable, lambda _: states.pop(key, None)), slots, settings)
        return state

    def state(self, variable: Variable) -> VariableState:
        """Return what is kept of a variable; an empty state is made at need."""
        state = self._known().get(id(variable))
        return state if state is not None else self._insert(variable, {}, None)

    def items(self) -> Iterator[tuple[Variable, VariableState]]:
        """Yield Variables that are still there, as they were first seen, and what is kept of each."""
        for state in list(self._known().values()):
            variable = state.variable()
            if variable is not None:
                yield variable, state

    def __deepcopy__(self, memo: dict[int, Any]) -> SlotTable:
        new = SlotTable()
        for variable, state in self.items():
            new._insert(variable, copy.deepcopy(state.slots, memo), state.settings)
        new._memo = memo
        return new

    def __getstate__(self) -> list[Any]:
        return [(variable, state.slots, state.settings) for variable, state in self.items()]

    def __setstate__(self, state: list[Any]) -> None:
        SlotTable.__init__(self)
        for variable, slots, settings in state:
            self._insert(variable, slots, settings)
