"""The record of a tape: what was computed from watched arrays, and its replay as a function of some of them.

Arrays are slots, told apart by identity. A step keeps its call, the slots of its inputs and outputs, and those inputs
that are no slots; results in between are not kept but computed again in the replay.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from graftax.backend import registry
from graftax.typedefs import Array
from graftax.variables.storage import Storage

_COMPILE_AT = 10  # the time at which the same replay is compiled: that costs as much as some 30 times of it save
_REMEMBERED = 1024
_COMPILED = 128

_NOT_A_SLOT = -1


class Step(NamedTuple):
    """One recorded operation."""

    call: Callable[..., Sequence[Any]]
    inputs: tuple[int, ...]
    constants: tuple[Any, ...]  # the inputs that are no slots, in order
    outputs: tuple[int, ...]


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
        self._steps: list[Step] = []
        self._roots: dict[int, Array] = {}
        self._slots: dict[int, tuple[int, weakref.ref[Any]]] = {}  # by id; valid while the array lives
        self._count = 0

    # --- what is watched --------------------------------------------------------------------------------------------

    def slot(self, value: Any) -> int | None:
        """The slot of an array, or None if it was computed from nothing that is watched."""
        entry = self._slots.get(id(value))
        return entry[0] if entry is not None and entry[1]() is value else None

    def _new_slot(self, value: Any) -> int:
        self._count += 1
        self._slots[id(value)] = self._count, weakref.ref(value)
        return self._count

    def watch(self, value: Array) -> int:
        """Make an array a root: what is computed from it is recorded."""
        slot = self.slot(value) or self._new_slot(value)
        self._roots[slot] = value
        return slot

    def root(self, slot: int) -> Array:
        """The array of a slot that is watched."""
        return self._roots[slot]

    def watch_variable(self, storage: Storage) -> None:
        """Watch a Variable from its next read on."""
        self.variables.setdefault(storage, [])

    def wants(self, storage: Storage) -> bool:
        """True if the Variable behind the storage is watched."""
        if storage in self.variables:
            return True
        return self._trainable and bool(getattr(storage.user, "trainable", False))

    def saw(self, storage: Storage, value: Array) -> None:
        """A watched Variable was read."""
        slots = self.variables.setdefault(storage, [])
        if differentiable(value) and (slot := self.watch(value)) not in slots:
            slots.append(slot)

    def left(self, value: Any, name: str) -> None:
        """A value was turned into a NumPy array: warn the first time."""
        if self._warns and self.slot(value) is not None:
            self._warns = False
            warnings.warn(
                f"{name!r} became a NumPy array while a GradientTape records it: what NumPy computes from it has no "
                "gradient. Compute with graftax.ops or jax.numpy; for logging, 'with tape.stop_recording():'",
                stacklevel=5,
            )

    # --- recording --------------------------------------------------------------------------------------------------

    def tracks(self, values: Sequence[Any]) -> bool:
        """True if one of the arrays is watched, or was computed from what is."""
        slots = self._slots
        for value in values:
            entry = slots.get(id(value))
            if entry is not None and entry[1]() is value:
                return True
        return False

    def record(self, call: Callable[..., Sequence[Any]], inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Keep an operation whose outputs may have gradients."""
        taken = [self.slot(value) for value in inputs]
        # an output that is an input stays what it was
        made = tuple(
            self._new_slot(value) if differentiable(value) and self.slot(value) is None else _NOT_A_SLOT
            for value in outputs
        )
        if any(slot != _NOT_A_SLOT for slot in made):
            constants = tuple(value for value, slot in zip(inputs, taken, strict=True) if slot is None)
            slots = tuple(_NOT_A_SLOT if slot is None else slot for slot in taken)
            self._steps.append(Step(call, slots, constants, made))

    # --- replaying --------------------------------------------------------------------------------------------------

    def replay(self, targets: Sequence[int], sources: Iterable[int]) -> tuple[Replay, list[Any]]:
        """The targets as a function of those sources that they depend on, and the constants to call it with."""
        steps = self._steps[:]
        maker = {slot: i for i, step in enumerate(steps) for slot in step.outputs if slot != _NOT_A_SLOT}

        def needed(ends: Iterable[int]) -> tuple[set[int], list[int]]:
            slots, indices, stack = set[int](), set[int](), list(targets)
            while stack:
                slot = stack.pop()
                if slot in slots:
                    continue
                slots.add(slot)
                if slot in maker and slot not in ends and maker[slot] not in indices:
                    indices.add(maker[slot])
                    stack += [s for s in steps[maker[slot]].inputs if s != _NOT_A_SLOT]
            return slots, sorted(indices)

        slots, indices = needed(())
        connected = [slot for slot in dict.fromkeys(sources) if slot in slots]
        # a source computed from another one stays computed, and something (zero) is added to it; the rest are given
        reached, inner = set(connected), set[int]()
        for i in indices:
            if reached.intersection(steps[i].inputs):
                inner.update(slot for slot in steps[i].outputs if slot in connected)
                reached.update(slot for slot in steps[i].outputs if slot != _NOT_A_SLOT)
        given = set(connected) - inner
        slots, indices = needed(given)
        roots = [slot for slot in sorted(slots) if slot in self._roots and slot not in given and slot not in maker]
        chosen = [steps[i] for i in indices]
        constants = [*(self._roots[slot] for slot in roots), *(value for step in chosen for value in step.constants)]
        return Replay(chosen, targets, connected, inner, roots), constants


class Replay:
    """A part of a record as a function: ``replay(values of the connected slots, constants) -> targets``.

    It holds no arrays.
    """

    def __init__(
        self,
        steps: Iterable[Step],
        targets: Iterable[int],
        connected: Iterable[int],
        inner: Iterable[int],
        roots: Iterable[int],
    ) -> None:
        self.connected = tuple(connected)
        self.inner = frozenset(inner)
        self._steps = [(step.call, step.inputs, step.outputs) for step in steps]
        self._targets = tuple(targets)
        self._roots = tuple(roots)

    def __call__(self, values: Sequence[Any], constants: Sequence[Any]) -> list[Any]:
        """The targets; each value is that of a connected slot, or what to add to it if it is an inner one."""
        rest = iter(constants)
        known = {slot: next(rest) for slot in self._roots}
        added: dict[int, Any] = {}
        for slot, value in zip(self.connected, values, strict=True):
            (added if slot in self.inner else known)[slot] = value
        given = frozenset(known)
        for call, inputs, outputs in self._steps:
            results = call(*(next(rest) if slot == _NOT_A_SLOT else known[slot] for slot in inputs))
            for slot, result in zip(outputs, results, strict=True):
                if slot != _NOT_A_SLOT and slot not in given:
                    known[slot] = result + added[slot] if slot in added else result
        return [known[slot] for slot in self._targets]

    def key(self) -> Hashable:
        """Equal for replays that do the same, whatever the values; None where that is not known."""
        names: dict[int, int] = {_NOT_A_SLOT: _NOT_A_SLOT}

        def renamed(slots: Iterable[int]) -> tuple[int, ...]:
            return tuple(names.setdefault(slot, len(names)) for slot in slots)

        calls = [getattr(call, "key", None) for call, _, _ in self._steps]
        if any(key is None for key in calls):
            return None
        return (
            renamed(self._roots),
            renamed(self.connected),
            frozenset(renamed(sorted(self.inner))),
            tuple((key, renamed(i), renamed(o)) for key, (_, i, o) in zip(calls, self._steps, strict=True)),
            renamed(self._targets),
        )


Transform = Callable[..., Any]
"""``transform(function, values, extra, *statics)``: what to compute of a function of a list of arrays."""

_sights: OrderedDict[int, int] = OrderedDict()
_compiled: OrderedDict[Hashable, Callable[..., Any]] = OrderedDict()
_lock = threading.Lock()


def run(
    transform: Transform, replay: Replay, values: list[Any], constants: list[Any], extra: list[Any], *statics: Hashable
) -> Any:
    """A transform of a replay, compiled once the same one has come a few times."""

    def whole(values: list[Any], constants: list[Any], extra: list[Any]) -> Any:
        return transform(lambda given: replay(given, constants), values, extra, *statics)

    is_tracer = registry.current().transforms.is_tracer
    everything = [*values, *constants, *extra]
    if any(map(is_tracer, everything)):
        return whole(values, constants, extra)
    kinds = tuple((getattr(v, "shape", None), getattr(v, "dtype", type(v))) for v in everything)
    return _compile_in_time((transform, statics, kinds, replay.key()), whole)(values, constants, extra)


def _compile_in_time(key: tuple[Hashable, ...], function: Callable[..., Any]) -> Callable[..., Any]:
    if key[-1] is None:
        return function
    try:
        sight = hash(key)  # not the key itself, which may hold on to programs that never come again
    except TypeError:  # a parameter that cannot be hashed
        return function
    with _lock:
        if key in _compiled:
            _compiled.move_to_end(key)
            return _compiled[key]
        _sights[sight] = _sights.pop(sight, 0) + 1
        if len(_sights) > _REMEMBERED:
            _sights.popitem(last=False)
        if _sights[sight] < _COMPILE_AT:
            return function
        _compiled[key] = registry.current().transforms.compiled(function)
        if len(_compiled) > _COMPILED:
            _compiled.popitem(last=False)
        return _compiled[key]


_known: dict[Any, bool] = {}


def differentiable(value: Any) -> bool:
    """True for arrays of real or complex numbers."""
    dtype = getattr(value, "dtype", None)
    if dtype not in _known:
        _known[dtype] = str(dtype).startswith(("float", "bfloat", "complex"))
    return _known[dtype]
