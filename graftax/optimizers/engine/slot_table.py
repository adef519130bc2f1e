"""SlotTable: what an optimizer knows of each variable, its slots and its settings."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

from graftax.optimizers.engine.settings import Settings
from graftax.variables.graph.module import Module
from graftax.variables.graph.structure import structure
from graftax.variables.variable import Variable

SETTINGS = "settings"
"""What a trace asks for that finds no model which is trained around it: the settings by which it was trained last."""


class VariableState:
    """What an optimizer keeps of one variable: its slots, and its settings, None until they are asked for.

    ``model`` is the one by whose paths these were found; None if that was without one, or before a copy.
    ``reached_by`` has the losses that depended on it in eager steps; a copy looks again.
    """

    __slots__ = ("model", "reached_by", "settings", "slots", "variable")

    def __init__(self, variable: weakref.ref[Variable], slots: dict[str, Variable], settings: Settings | None) -> None:
        self.variable = variable
        self.slots = slots
        self.settings = settings
        self.model: weakref.ref[Module] | None = None
        self.reached_by: set[object] = set()


class SlotTable:
    """Slots by the identity of their variable, which is not kept alive: when it goes, its slots go."""

    def __init__(self) -> None:
        self._states: dict[int, VariableState] = {}
        self.replaced = 0
        """How often settings were replaced by those of another model."""
        self._model: weakref.ref[Module] | None = None
        self._memo: dict[int, Any] | None = None  # of the deep copy that made this table, until its first use
        self._left: set[str] = set()  # paths of variables with slots that were not deep-copied along
        self._unpickled: dict[str, weakref.ref[Variable]] = {}  # variables with slots that came with a pickle, by path

    def _states_by_id(self) -> dict[int, VariableState]:
        if self._memo is not None:
            # Only now is it known which variables were copied along: those move here, the others keep their place.
            memo, states, self._memo = self._memo, self._states, None
            self._states = {}
            for state in states.values():
                variable = state.variable()
                if variable is not None:
                    self._insert(memo.get(id(variable), variable), state.slots, state.settings)
                    if state.slots and id(variable) not in memo:
                        self._left.add(variable.path)
        return self._states

    def _insert(self, variable: Variable, slots: dict[str, Variable], settings: Settings | None) -> VariableState:
        key, states = id(variable), self._states
        state = states[key] = VariableState(weakref.ref(variable, lambda _: states.pop(key, None)), slots, settings)
        return state

    def state(self, variable: Variable) -> VariableState:
        """Return what is kept of a variable; an empty state is made at need."""
        state = self._states_by_id().get(id(variable))
        return state if state is not None else self._insert(variable, {}, None)

    def note_model(self, variables: object) -> None:
        """Note for what slots are made: a Module, from which `pure_update` takes paths, or a list of Variables."""
        self._model = weakref.ref(variables) if isinstance(variables, Module) else None

    def noted_model(self) -> Module | None:
        """Return the Module for which slots were made last; None for a list."""
        return None if self._model is None else self._model()

    def keep(self, variable: Variable, settings: Settings, model: Module | None) -> None:
        """Keep the settings of a variable, found by its paths in a model, or by its own."""
        state = self.state(variable)
        if state.settings is not None and not settings.is_same(state.settings):
            self.replaced += 1
            structure.bump()
        state.settings = settings
        state.model = None if model is None else weakref.ref(model)

    def paths_left_behind(self, variables: Sequence[Variable]) -> list[str]:
        """Return the paths of these that are new to a copy, which came without those of the same paths that it knew."""
        known = self._states_by_id()
        left = self._left | self._dead_paths()
        if not left or any(id(variable) in known and known[id(variable)].slots for variable in variables):
            return []
        return [variable.path for variable in variables if variable.path in left]

    def settle(self) -> None:
        """Forget that it is a copy: it goes on with the variables that it has now."""
        if self._left or self._unpickled:
            self._states_by_id()
            self._left, self._unpickled = set(), {}

    def _dead_paths(self) -> set[str]:
        """Return the paths of variables that nothing but the pickle held."""
        return {path for path, variable in self._unpickled.items() if variable() is None}

    def items(self) -> Iterator[tuple[Variable, VariableState]]:
        """Yield Variables that are still there, as they were first seen, and what is kept of each."""
        for state in list(self._states_by_id().values()):
            variable = state.variable()
            if variable is not None:
                yield variable, state

    def __deepcopy__(self, memo: dict[int, Any]) -> SlotTable:
        new = SlotTable()
        for variable, state in self.items():
            new._insert(variable, copy.deepcopy(state.slots, memo), state.settings)
        new._memo = memo
        new._left = self._left | self._dead_paths()
        return new

    def __getstate__(self) -> list[Any]:
        return [(variable, state.slots, state.settings, variable.path) for variable, state in self.items()]

    def __setstate__(self, state: list[Any]) -> None:
        SlotTable.__init__(self)
        for variable, slots, settings, path in state:
            self._insert(variable, slots, settings)
            if slots:
                self._unpickled[path] = weakref.ref(variable)
