"""A part of a record as a function, to be differentiated: as a whole, or operation by operation.

The whole is compiled once the same one has come often enough, as in a training loop. Where ever new forms come, they
are differentiated operation by operation; of these there are few kinds, and those are compiled.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from graftax.backend import registry
from graftax.core.typedefs import Array
from graftax.transforms.compile.pure import compile_if_possible

NOT_A_SLOT = -1
"""In the place of a slot: a constant, or an output that has no gradient."""


class Step(NamedTuple):
    """One operation, from slots to slots."""

    call: Callable[..., Sequence[Any]]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class Replay:
    """A part of a record as a function: ``replay(values of the connected slots, constants) -> targets``.

    It holds no arrays. ``inner`` slots are connected ones that are computed from others: their values are what to add.
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
        self._steps = tuple(steps)
        self._targets = tuple(targets)
        self._roots = tuple(roots)

    def __call__(self, values: Sequence[Any], constants: Sequence[Any]) -> list[Any]:
        """Compute the targets."""
        known: dict[int, Any] = {}
        for _ in self._run(known, values, constants, lambda call, inputs: call(*inputs)):
            pass
        return [known[slot] for slot in self._targets]

    def _run(
        self, slots: dict[int, Any], values: Sequence[Any], constants: Sequence[Any], run: Callable[..., Sequence[Any]]
    ) -> Iterator[tuple[Step, list[Any]]]:
        """Fill in the values of all slots with ``run(call, inputs)``, and yield each step with its inputs."""
        rest = iter(constants)
        slots.update((slot, next(rest)) for slot in self._roots)
        added: dict[int, Any] = {}
        for slot, value in zip(self.connected, values, strict=True):
            (added if slot in self.inner else slots)[slot] = value
        given = frozenset(slots)  # a source that is computed from another one keeps the value it is given
        for step in self._steps:
            inputs = [next(rest) if slot == NOT_A_SLOT else slots[slot] for slot in step.inputs]
            for slot, result in zip(step.outputs, run(step.call, inputs), strict=True):
                if slot != NOT_A_SLOT and slot not in given:
                    slots[slot] = result + added[slot] if slot in added else result
            yield step, inputs

    def pull(self, values: Sequence[Any], constants: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
        """Compute the gradient of the weighted sum of the targets, operation by operation; None where there is none."""
        known: dict[int, Any] = {}
        ran = list(self._run(known, values, constants, _run_step))
        # only what depends on a source is gone through backwards: constants have no gradients
        given = {*self.connected, *self._roots} - self.inner
        moving = set(self.connected)
        for step, _ in ran:
            if moving.intersection(step.inputs):
                moving.update(slot for slot in step.outputs if slot != NOT_A_SLOT)
        gradients: dict[int, Any] = {}

        def add(slot: int, gradient: Array) -> None:
            gradients[slot] = gradients[slot] + gradient if slot in gradients else gradient

        for slot, weight in zip(self._targets, weights, strict=True):
            add(slot, weight)
        for step, inputs in reversed(ran):
            made = tuple(i for i, s in enumerate(step.outputs) if s in gradients and s in moving and s not in given)
            wanted = tuple(i for i, s in enumerate(step.inputs) if s in moving)
            if made and wanted:
                weights = [gradients[step.outputs[i]] for i in made]
                for i, gradient in zip(wanted, _pull_step(step.call, inputs, wanted, made, weights), strict=True):
                    if gradient is not None:
                        add(step.inputs[i], gradient)
        return [gradients.get(slot) for slot in self.connected]

    def key(self) -> Hashable:
        """Return what is equal for replays that do the same, whatever the values; None where that is not known."""
        # slots are numbered anew, in the order in which they are met: the same code numbers them alike each time
        names: dict[int, int] = {NOT_A_SLOT: NOT_A_SLOT}

        def rename(slots: Iterable[int]) -> tuple[int, ...]:
            return tuple([names.setdefault(slot, len(names)) for slot in slots])

        first = rename(self._roots), rename(self.connected), rename(s for s in self.connected if s in self.inner)
        steps = []
        for call, inputs, outputs in self._steps:
            if (key := getattr(call, "key", None)) is None:
                return None
            steps.append((key, rename(inputs), rename(outputs)))
        return *first, tuple(steps), rename(self._targets)


def _run_step(call: Callable[..., Sequence[Any]], inputs: list[Any]) -> Sequence[Any]:
    """Compute the outputs of one operation."""

    def run(*inputs: Any) -> Sequence[Any]:
        return call(*inputs)

    found: Sequence[Any] = (_operations.find((getattr(call, "key", None), _kinds(inputs)), run) or run)(*inputs)
    return found


def _pull_step(
    call: Callable[..., Sequence[Any]],
    inputs: list[Any],
    sources: tuple[int, ...],
    targets: tuple[int, ...],
    weights: list[Any],
) -> list[Any]:
    """Compute the gradients of one operation by some of its inputs, from those of some of its outputs."""

    def pull(inputs: list[Any], weights: list[Any]) -> list[Any]:
        def run_step(moving: list[Any]) -> list[Any]:
            everything = list(inputs)
            for i, value in zip(sources, moving, strict=True):
                everything[i] = value
            outputs = call(*everything)
            return [outputs[i] for i in targets]

        return registry.current().gradients.reached_vjp(run_step, [inputs[i] for i in sources])[1](weights)

    key = (getattr(call, "key", None), sources, targets, _kinds(inputs), _kinds(weights))
    return (_operations.find(key, pull) or pull)(inputs, weights)


Transform = Callable[..., Any]
"""``transform(function, values, extra, *statics)``: what to compute of a function of a list of arrays."""


def run(
    transform: Transform,
    replay: Replay,
    values: list[Any],
    constants: list[Any],
    extra: list[Any],
    *statics: Hashable,
    otherwise: Callable[..., Any] | None = None,
) -> Any:
    """Run a transform of a replay; ``otherwise(values, constants, extra)`` is a way without compiling the whole."""

    def run_whole(values: list[Any], constants: list[Any], extra: list[Any]) -> Any:
        return transform(lambda given: replay(given, constants), values, extra, *statics)

    # inside of a trace the replay becomes a part of that program, and to compile it by itself would gain nothing
    is_tracer = registry.current().tracing.is_tracer
    everything = [*values, *constants, *extra]
    function: Callable[..., Any] = run_whole
    if not any(map(is_tracer, everything)):
        key = (replay.key(), transform, statics, _kinds(everything))
        compiled = _replays.find(key, run_whole)
        function = compiled or (otherwise if otherwise and len(_replays.sights) > _MANY else run_whole)
    return function(values, constants, extra)


# --- what is compiled -------------------------------------------------------------------------------------------------


class _Compiler:
    """Compiles a function at the time at which it has come so often that this pays."""

    def __init__(self, at: int, remembered: int, most: int) -> None:
        self.at = at
        self.remembered = remembered
        self.kept = most
        self.sights: OrderedDict[int, int] = OrderedDict()
        self.compiled: OrderedDict[int, tuple[Hashable, Callable[..., Any]]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: tuple[Hashable, ...], function: Callable[..., Any]) -> Callable[..., Any] | None:
        """Return the function of that key (None first: of no known key) compiled, or None."""
        if key[0] is None:
            return None
        try:
            sight = hash(key)  # not the key itself, which may hold on to programs that never come again
        except TypeError:  # a parameter that cannot be hashed
            return None
        with self._lock:
            known = self.compiled.get(sight)  # by the hash, which takes long and would be computed once more
            found = known[1] if known is not None and known[0] == key else None
            if found is None:
                self.sights[sight] = self.sights.pop(sight, 0) + 1
                if len(self.sights) > self.remembered:
                    self.sights.popitem(last=False)
                if self.sights[sight] < self.at:
                    return None
                found = compile_if_possible(function)
                self.compiled[sight] = key, found
                if len(self.compiled) > self.kept:
                    self.compiled.popitem(last=False)
            self.compiled.move_to_end(sight)
            return found


# compiling costs as much as some 30 replays save; operations are met again far more often
_replays = _Compiler(at=10, remembered=1024, most=128)
_operations = _Compiler(at=3, remembered=4096, most=1024)
_MANY = 10  # kinds of replays, beyond which another new one is not expected to come often


def _kinds(values: Iterable[Any]) -> Hashable:
    return tuple((getattr(v, "shape", None), getattr(v, "dtype", type(v))) for v in values)
