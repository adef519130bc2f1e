"""The names under which methods of a class keep something on its objects, as their code says."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType

MACHINERY = (
    "graftax.variables.graph.module",
    "graftax.layers.building",
    "graftax.layers.layer",
    "graftax.training.model",
    "graftax.training.sequential",
)
"""The modules of `Module`, layers and models, whose methods keep what is no part of the object graph."""
COMPUTED_NAMES = frozenset({"setattr", "__setattr__", "__dict__", "vars"})
"""Names in code that may keep something under any name."""


def names_kept_by(kind: type[object], methods: tuple[str, ...]) -> set[str]:
    """Return the names that methods of a class assign, or what they call; and what else may keep something."""
    found: set[str] = set()
    seen: set[CodeType] = set()
    waiting = [code for name in methods for code in _codes(kind, name)]
    while waiting:
        code = waiting.pop()
        if code in seen:
            continue
        seen.add(code)
        # from the code itself: nothing is run, and a weight that only some branch makes counts
        found.update(step.argval for step in dis.get_instructions(code) if step.opname == "STORE_ATTR")
        found.update(COMPUTED_NAMES.intersection(code.co_names))
        waiting += [below for name in code.co_names for below in _codes(kind, name)]
    return found


def _codes(kind: type[object], name: str) -> Iterator[CodeType]:
    """Yield the code of a method, as each class above defines it, but for the machinery of `Module` and of layers."""
    for base in kind.__mro__:
        method = inspect.unwrap(vars(base)[name]) if callable(vars(base).get(name)) else None
        if isinstance(method, FunctionType) and base.__module__ not in MACHINERY:
            yield method.__code__
