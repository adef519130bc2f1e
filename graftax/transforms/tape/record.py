"""The record of a tape: what was computed from watched arrays, and its replay as a function of some of them.

Arrays are slots, told apart by identity. A step keeps its call, the slots of its inputs and outputs, and those inputs
that are no slots; results in between are not kept but computed again in the replay.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from graftax.backend import registry
from graftax.core import user_line
from graftax.core.dtypes import is_inexact
from graftax.core.typedefs import Array
from graftax.transforms.tape.replay import NOT_A_SLOT, Replay, Step
from graftax.variables.state.storage import Storage


class _Recorded(NamedTuple):
    step: Step
    constants: tuple[Any, ...]  # the inputs that are no slots, in order


class Record:
    """What was computed from watched arrays.

    Args:
        trainable: Whether trainable Variables are watched when they are read.
    """

    def __init__(self, trainable: bool) -> None:
        self._trainable = trainable
        self._warns = True
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.variables: dict[Storage, list[int]] = {}  # slots of the reads of watched Variables
        self._steps: list[_Recorded] = []
        self._roots: dict[int, Array] = {}
        self._slots: dict[int, tuple[int, weakref.ref[Any]]] = {}  # by id; valid while the array lives
        self._assigned: dict[Storage, weakref.ref[Any]] = {}  # the last values given while it recorded
        self._before_watched: dict[Storage, weakref.ref[Any]] = {}  # those of Variables that were watched after that
        self._count = 0

    # --- what is watched --------------------------------------------------------------------------------------------

    def slot(self, value: object) -> int | None:
        """Return the slot of an array, or None if it was computed from nothing that is watched."""
        entry = self._slots.get(id(value))
        return entry[0] if entry is not None and entry[1]() is value else None

    def _new_slot(self, value: object) -> int:
        self._count += 1
        self._slots[id(value)] = self._count, weakref.ref(value)
        return self._count

    def watch(self, value: Array) -> int:
        """Make an array a root: what is computed from it is recorded."""
        slot = self.slot(value) or self._new_slot(value)
        self._roots[slot] = value
        return slot

    def root(self, slot: int) -> Array:
        """Return the array of a slot that is watched."""
        return self._roots[slot]

    def watch_variable(self, storage: Storage) -> None:
        """Watch a Variable from its next read on: with the value that it has then it starts."""
        if storage not in self.variables:
            self.variables[storage] = []
            if (assigned := self._assigned.pop(storage, None)) is not None:
                self._before_watched[storage] = assigned

    def wants(self, storage: Storage) -> bool:
        """Return True if the Variable behind the storage is watched."""
        if storage in self.variables:
            return True
        return self._trainable and bool(getattr(storage.user, "trainable", False))

    def starts(self, storage: Storage, value: Array) -> bool:
        """Return True if the Variable is watched, and its value does not come from an assignment on record."""
        if not self.wants(storage):
            return False
        assigned = self._assigned.get(storage)
        return assigned is None or assigned() is not value

    def assigned(self, storage: Storage, value: Array) -> None:
        """Note that a Variable was given a value while this records: from there on it is what was computed."""
        self._assigned[storage] = weakref.ref(value)
        self._before_watched.pop(storage, None)

    def follows(self, storage: Storage, value: Array) -> bool:
        """Return True if the value is on record because it was assigned to the Variable while this records."""
        assigned = self._assigned.get(storage) or self._before_watched.get(storage)
        return assigned is not None and assigned() is value and self.tracks((value,))

    def note_copy(self, value: Array, copy: Array) -> None:
        """Note that one array is a copy of another."""
        self.record(_SAME, (value,), (copy,))

    def saw(self, storage: Storage, value: Array) -> None:
        """Note that a watched Variable was read, with a value that it starts with."""
        slots = self.variables.setdefault(storage, [])
        if is_differentiable(value) and (slot := self.watch(value)) not in slots:
            slots.append(slot)

    def note_conversion(self, value: object, name: str) -> None:
        """Note that a value was turned into a NumPy array, and warn the first time."""
        if self._warns and self.slot(value) is not None:
            self._warns = False
            functions = registry.current().wording.namespace
            user_line.warn(
                f"{name!r} became a NumPy array while a GradientTape records it: what NumPy computes from it has no "
                f"gradient. Compute with graftax.ops or {functions}; for logging, 'with tape.stop_recording():'"
            )

    # --- recording --------------------------------------------------------------------------------------------------

    def tracks(self, values: Sequence[Any]) -> bool:
        """Return True if one of the arrays is watched, or was computed from what is."""
        slots = self._slots
        for value in values:
            entry = slots.get(id(value))
            if entry is not None and entry[1]() is value:
                return True
        return False

    def record(self, call: Callable[..., Sequence[Any]], inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Keep an operation whose outputs may have gradients."""
        slots, made = self._slots, []
        for value in outputs:
            # an output that is an input stays what it was
            is_new = is_differentiable(value) and self.slot(value) is None
            made.append(value if is_new else None)
        if all(value is None for value in made):
            return
        taken, constants = [], []
        for value in inputs:  # `slot` of each, without a call: this runs at each operation
            entry = slots.get(id(value))
            if entry is not None and entry[1]() is value:
                taken.append(entry[0])
            else:
                taken.append(NOT_A_SLOT)
                constants.append(value)
        given = tuple([NOT_A_SLOT if value is None else self._new_slot(value) for value in made])
        self._steps.append(_Recorded(Step(call, tuple(taken), given), tuple(constants)))

    # --- replaying --------------------------------------------------------------------------------------------------

    def replay(self, targets: Sequence[int], sources: Iterable[int]) -> tuple[Replay, list[Any]]:
        """Return the targets as a function of those sources that they depend on, and the constants to call it with."""
        recorded = self._steps[:]
        steps = [step for step, _ in recorded]
        maker = {slot: i for i, step in enumerate(steps) for slot in step.outputs if slot != NOT_A_SLOT}

        def needed_steps(ends: Iterable[int]) -> tuple[set[int], list[int]]:
            slots, indices, stack = set[int](), set[int](), list(targets)
            while stack:
                slot = stack.pop()
                if slot in slots:
                    continue
                slots.add(slot)
                if slot in maker and slot not in ends and maker[slot] not in indices:
                    indices.add(maker[slot])
                    stack += [s for s in steps[maker[slot]].inputs if s != NOT_A_SLOT]
            return slots, sorted(indices)

        slots, indices = needed_steps(())
        connected = [slot for slot in dict.fromkeys(sources) if slot in slots]
        # a source computed from another one stays computed, and something (zero) is added to it; the rest are given
        reached, inner = set(connected), set[int]()
        for i in indices:
            if reached.intersection(steps[i].inputs):
                inner.update(slot for slot in steps[i].outputs if slot in connected)
                reached.update(slot for slot in steps[i].outputs if slot != NOT_A_SLOT)
        given = set(connected) - inner
        if not given.isdisjoint(maker):  # else the way back ends at them already
            slots, indices = needed_steps(given)
        roots = [slot for slot in sorted(slots) if slot in self._roots and slot not in given and slot not in maker]
        constants = [self._roots[slot] for slot in roots]
        constants += [value for i in indices for value in recorded[i].constants]
        return Replay([steps[i] for i in indices], targets, connected, inner, roots), constants


class _Same:
    """What a copy computes."""

    key = "same"

    def __call__(self, *inputs: Any) -> Sequence[Any]:
        return inputs


_SAME = _Same()


def is_differentiable(value: object) -> bool:
    """Return True for arrays of real or complex numbers."""
    return is_inexact(getattr(value, "dtype", None))
