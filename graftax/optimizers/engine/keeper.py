"""SlotKeeper: a Module that keeps Variables for other Variables; checkpoints, copies and traces see them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import Any, ClassVar

from graftax.core.errors import ArgumentError
from graftax.core.short_traceback import door
from graftax.optimizers.arguments.kinds import FLOATING, Checked, Kinds
from graftax.optimizers.engine.slot import OF_THE_BASE, Slot, make_slot, parts_of
from graftax.optimizers.engine.slot_table import SETTINGS, SlotTable, VariableState
from graftax.variables.graph.module import SlotRecord, structure
from graftax.variables.graph.prints import Print, print_of
from graftax.variables.state import storage
from graftax.variables.variable import Variable


class SlotKeeper(Checked):
    """The part of an optimizer that keeps slots.

    Args:
        slot_dtype: Dtype in which slots are stored that name none; see `Slot`. Defaults to None, that of the variable.
        name: Its name. Defaults to None, the class name in snake case.
    """

    untracked: ClassVar[frozenset[str]] = frozenset({"_gx_slots"})
    _gx_settled: ClassVar[frozenset[str]] = frozenset({"slot_dtype"})
    _gx_resets_slots: ClassVar[bool] = True
    arguments: ClassVar[Kinds] = {"slot_dtype": FLOATING}

    def __init__(self, slot_dtype: str | None = None, name: str | None = None) -> None:
        super().__init__(name)
        self.slot_dtype = slot_dtype
        self._gx_slots = SlotTable()
        for scope in self._gx_captured:  # slots are made later, and a scope that selects some must wait for them
            if scope.roles is None or "slot" in scope.roles:
                scope.waiting.add(self)

    def _gx_has_slots(self) -> bool:
        return any(state.slots for _, state in self._gx_slots.items())

    def _gx_leave_scopes(self) -> None:
        for scope in self._gx_captured:
            scope.waiting.discard(self)
            scope.check()

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Return what to keep for a variable, by name; nothing unless a subclass says so."""
        return {}

    def _gx_declared_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Return the slots of the rule, and those that the base class keeps besides."""
        return self.create_slots(variable)

    @door
    def slot(self, variable: Variable, name: str) -> Variable:
        """Return the slot of that name for a variable; made if it is missing.

        Raises:
            ArgumentError: this optimizer keeps no such slot.
        """
        found = self._gx_ensure_slot(name, variable)
        if found is None:
            raise ArgumentError(
                f"the slot {name!r} of {type(self).__name__} for {variable.path!r}",
                "it keeps no slot of that name",
                f"one of {', '.join(self._gx_declared_slots(variable)) or 'none'}",
            )
        return found

    def _gx_ensure_slot(self, name: str, variable: Variable) -> Variable | None:
        """Return the slot of that name for a variable, made if it is missing; None if none is kept."""
        self._gx_make_slots(variable, name)
        state = self._gx_slots.state(variable)
        return next((slot for known, slot in _parts(state) if known == name), None)

    def _gx_new_slots(self, variable: Variable) -> dict[str, Variable]:
        declared = self._gx_declared_slots(variable).items()
        made = ((name, make_slot(self, variable, name, slot, self.slot_dtype)) for name, slot in declared)
        return dict(chain.from_iterable(parts_of(name, slot) for name, slot in made))

    def _gx_forget_slots(self, but: Collection[int]) -> None:
        """Forget the slots that none of these ids stands for."""
        for _, state in self._gx_slots.items():  # noqa: PERF102
            for name, slot in list(state.slots.items()):
                if all(id(part) not in but for _, part in parts_of(name, slot)):
                    del state.slots[name]
                    structure.bump()

    def _gx_slot_class(self, name: str) -> str:
        """Return the class that gives slots of that name their meaning: the base, for what every optimizer keeps."""
        return "Optimizer" if name.partition("/")[0] in OF_THE_BASE else super()._gx_slot_class(name)

    def _gx_slot_names(self, variable: Variable) -> tuple[str, ...]:
        return tuple(self.create_slots(variable))

    def _gx_make_slots(self, variable: Variable, only: str | None = None) -> None:
        """Make the slots that are missing; where one is asked for, of the base class's own that one only."""
        state = self._gx_slots.state(variable)
        for name, slot in self._gx_declared_slots(variable).items():
            if name not in state.slots and (only in (None, name) or name not in OF_THE_BASE):
                state.slots[name] = make_slot(self, variable, name, slot, self.slot_dtype)
                if self._gx_watched:
                    structure.bump()

    @door
    def slots(self) -> list[SlotRecord]:
        """Return all slots, in the order in which their variables were first seen."""
        return self._gx_slot_records()

    def _gx_slot_records(self) -> list[SlotRecord]:
        storage.changing(self, _SLOTS)  # those that a step makes later are not among these
        return [*self._gx_records()]

    def _gx_records(self) -> Iterator[SlotRecord]:
        for variable, state in self._gx_slots.items():
            for name, slot in _parts(state):
                yield SlotRecord(name, variable, slot)

    @property
    def variables(self) -> list[Variable]:
        """Return what it holds itself, such as ``iterations``, and all slots."""
        return list(self.named_variables().values())

    @door
    def named_variables(self) -> dict[str, Variable]:
        """Return the same by path; a slot is at ``slots/<path of its variable>/<its name>``."""
        found = super().named_variables()
        for record in self._gx_slot_records():
            path = f"slots/{record.variable.path}/{record.name}"
            while path in found:  # two models with equal paths
                path += "'"
            found[path] = record.slot
        return found

    def _gx_fingerprint(self) -> dict[str, Any]:
        """Return what a trace may depend on; that some variable does not move, too."""
        still = frozenset(id(variable) for variable, _ in self._gx_slots.items() if not variable.trainable)
        return {**super()._gx_fingerprint(), "frozen variables": ("frozenset", still)}

    def _gx_print_for(self, name: str) -> Print | None:
        """Return how one attribute is now; or which slots there are, of which a trace depends only if it asks."""
        if name == _SLOTS:
            return "slots", tuple(print_of(record.slot) for record in self._gx_records())
        if name == SETTINGS:
            return "settings", self._gx_slots.replaced
        return self._gx_fingerprint().get(name)


_SLOTS = "slots"


def _parts(state: VariableState) -> Iterator[tuple[str, Variable]]:
    for name, slot in state.slots.items():
        yield from parts_of(name, slot)
