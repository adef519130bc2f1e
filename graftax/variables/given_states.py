"""Which Modules a `functional_call` has called last, so that their penalties are not those of their own weights."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from typing import Any

from graftax.backend import registry
from graftax.variables.calls import contexts
from graftax.variables.graph.module import Module, walk
from graftax.variables.state.storage import Frame, frames


class _Call:
    """One call: where it took place, and one of the values, which tells whether its trace is over.

    Args:
        around: The frame around it; None for none.
        value: The value.
    """

    def __init__(self, around: Frame | None, value: object) -> None:
        self._around = None if around is None else weakref.ref(around)
        self._value = value

    def is_here(self) -> bool:
        """Tell whether the code that runs is that which made the call, or below it."""
        if self._around is not None:
            return any(frame is self._around() for frame in frames.items)
        backend = registry.current()
        return not (backend.has("tracing") and backend.tracing.leaks(self._value, backend.tracing.level()))


calls: dict[int, tuple[weakref.ref[Module], _Call]] = {}
"""The Modules whose latest call was one with given values, by id: a Module may compare like an array."""


def note(module: Module, values: Mapping[str, Any], around: Frame | None) -> None:
    """Note that a Module, and what is below, was called with given values."""
    traced = (value for value in values.values() if not registry.current().arrays.is_concrete(value))
    call = _Call(around, next(traced, next(iter(values.values()), None)))
    for part in _modules(module):
        number = id(part)
        calls[number] = weakref.ref(part, lambda _, number=number: calls.pop(number, None)), call  # type: ignore[misc]


def begin(module: Module) -> None:
    """Note that a Module is called with its own weights now; an outermost call begins that of all below."""
    outer = contexts.top
    if outer is None or outer.root is None:
        forget(module)
    else:
        calls.pop(id(module), None)


def forget(module: Module) -> None:
    """Note that a Module, and what is below, has its own weights now."""
    for part in _modules(module):
        calls.pop(id(part), None)


def is_latest(module: Module) -> bool:
    """Tell whether the latest call of a Module, in the code that runs, was one with given values."""
    return (found := calls.get(id(module))) is not None and found[1].is_here()


def _modules(root: Module) -> Iterable[Module]:
    return [part for part in walk(root) if isinstance(part, Module)]
