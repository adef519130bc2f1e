"""A block of code whose operations are recorded: entry and exit in any order, what is watched, targets and sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Literal, TypeAlias

from graftax.backend import registry
from graftax.core import tree, user_line
from graftax.core.errors import ArgumentError, ArgumentTypeError, GradientError, TapeError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, DTypeLike, Shape, unwrap
from graftax.transforms.tape.record import Record, is_differentiable
from graftax.transforms.tape.replay import Replay
from graftax.transforms.tape.watching import Watching, watch_reads
from graftax.variables.graph.module import Module
from graftax.variables.variable import Variable

Unconnected: TypeAlias = Literal["none", "zero"]
"""What stands for the gradient of something that a target does not depend on."""

Source: TypeAlias = tuple[Any, dict[int, Any]]
"""An array or Variable, and its slots with their arrays."""


class RecordedBlock:
    """A block whose operations are recorded."""

    def __init__(self, trainable: bool) -> None:
        self._record = Record(trainable)
        self._inside = False
        self._level: Any = None  # that records
        self._base: Any = None  # around it
        self._frame: Watching | None = None

    def _start(self) -> None:
        self._level, self._base = registry.current().gradients.start_recording(self._record)
        self._frame = watch_reads(self._record, self._level)

    def _stop(self) -> None:
        if self._frame is not None:
            frame, self._frame = self._frame, None  # first, so that an interrupt does not stop it twice
            registry.current().gradients.stop_recording(self._record, self._level)
            frame.remove(self._record)

    def _enter(self) -> None:
        if self._inside:
            raise TapeError(
                f"a {type(self).__name__} was entered inside its own block",
                "it is recording already",
                "a second one for the inner block",
            )
        self._start()
        self._inside = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inside = False
        self._stop()

    @door
    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Record nothing in a block.

        Raises:
            TapeError: the block was never entered.
        """
        self._check_entered("stop_recording")
        if self._frame is None:
            yield
            return
        self._stop()
        try:
            yield
        finally:
            if self._inside:
                self._start()  # what was assigned meanwhile is where Variables start from now on

    def _check_entered(self, verb: str) -> None:
        if self._base is None:
            raise TapeError(
                f"{type(self).__name__}.{verb}() before its block",
                "nothing has been recorded",
                f"with graftax.{type(self).__name__}(...) as tape: ...",
            )

    def _check_level(self, verb: str, values: list[Any]) -> None:
        transforms = registry.current().gradients
        level = transforms.level()
        # arrays of a trace that has ended, or has not begun where the tape was opened
        if transforms.staged_within(self._base) or any(transforms.leaks(value, level) for value in values):
            raise TapeError(
                f"{type(self).__name__}.{verb}() on the other side of a compiled function than the tape's block",
                "the values of one side do not exist on the other",
                "open the tape and take the gradient in the same function",
            )

    def _watch(self, leaf: Any) -> None:
        if isinstance(leaf, Variable):
            self._record.watch_variable(leaf._storage)
            if self._frame is not None:
                leaf._storage.read()
        else:
            check_traceable("watch()", leaf)
            if is_differentiable(leaf):
                self._record.watch(leaf)
        if not is_differentiable(unwrap(leaf)):
            _warn_integer("watch()", leaf, "it is not floating, so that its gradient will be None")

    def _targets(self, target: object, verb: str) -> tuple[list[Any], list[int | None]]:
        """Return the arrays of a target, and their slots."""
        values = [unwrap(leaf) for leaf in tree.flatten(target)]
        for value in values:
            if not registry.current().arrays.is_array(value):
                raise ArgumentTypeError(
                    f"{verb}() got a target {value!r} of type {type(value).__name__}",
                    "only an array has a gradient",
                    "compute it inside the block, and pass what came out",
                )
            if not is_differentiable(value):
                raise GradientError(
                    f"{verb}() got a target of dtype {value.dtype}",
                    "only floating values have gradients",
                    'ops.cast(x, "float32") inside the block',
                )
        self._check_level(verb, values)
        return values, [self._record.slot(value) for value in values]

    def _sources(self, structure: object) -> list[Source]:
        """Return the leaves of a structure of sources, each with its slots and their arrays."""
        found: list[Source] = []
        for leaf in tree.flatten(structure):
            if isinstance(leaf, Variable):
                slots = self._record.variables.get(leaf._storage, [])
                found.append((leaf, {slot: self._record.root(slot) for slot in slots}))
                kind = is_differentiable(leaf._storage.buffer)
            elif registry.current().arrays.is_array(leaf):
                slot = self._record.slot(leaf)
                found.append((leaf, {} if slot is None else {slot: leaf}))
                kind = is_differentiable(leaf)
            else:
                raise ArgumentTypeError(
                    f"a source {leaf!r} of type {type(leaf).__name__}",
                    "a gradient is taken with respect to arrays, Variables and Modules",
                    "x = ops.asarray(x); tape.watch(x)",
                )
            if not kind:
                _warn_integer("a source", leaf, "it is not floating, so that its gradient is None")
        return found

    def _expand(self, sources: object) -> Any:
        """Replace Modules by dicts of those of their Variables that are trainable or watched."""
        if isinstance(sources, Module):
            variables = sources.named_variables().items()
            return {path: v for path, v in variables if v.trainable or v._storage in self._record.variables}
        if tree.is_leaf(sources):
            return sources
        return tree.rebuild(sources, (self._expand(leaf) for leaf in tree.flatten(sources)))

    def _replay(self, targets: list[int], leaves: Sequence[Source]) -> tuple[Replay, list[Any], list[Any]]:
        """Return the targets as a function of the slots of the sources they depend on; its values, its constants."""
        arrays = {slot: value for _, slots in leaves for slot, value in slots.items()}
        replay, constants = self._record.replay(targets, arrays)
        zeros = registry.current().arrays.numpy.zeros_like
        values = [zeros(arrays[slot]) if slot in replay.inner else arrays[slot] for slot in replay.connected]
        return replay, values, constants


def check_traceable(name: str, leaf: object) -> None:
    """Raise ArgumentTypeError for what is no array of the backend and no Variable."""
    if not isinstance(leaf, Variable) and not registry.current().arrays.is_array(leaf):
        raise ArgumentTypeError(
            f"{name} got {leaf!r:.60} of type {type(leaf).__name__}",
            "arrays are told apart by identity, and an operation on this one would make a new array of it first",
            "x = ops.asarray(x), and x from there on",
        )


def _warn_integer(subject: str, leaf: Array | Variable, why: str) -> None:
    name = f"the variable {leaf.path!r}" if isinstance(leaf, Variable) else "an array"
    user_line.warn(f"{subject}: {name} of dtype {leaf.dtype}: {why}")


def unconnected_value(kind: Unconnected, shape: Shape, dtype: DTypeLike) -> Any:
    """Return None or zeros, as was asked for."""
    if kind not in ("none", "zero"):
        raise ArgumentError(f"unconnected_gradients={kind!r}", "there is no such choice", '"none" or "zero"')
    return None if kind == "none" else registry.current().arrays.numpy.zeros(shape, dtype)
