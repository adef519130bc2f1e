"""Reach: the Modules that a function gets at without being called: what it is a method of, closes over, and names."""

from __future__ import annotations

import dis
import weakref
from collections.abc import Iterable, Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from graftax.core import libraries
from graftax.variables.graph.module import Module


def reached(roots: Iterable[Any]) -> list[Module]:
    """The Modules in some values, each once: in containers, functions and plain objects, but not below Modules.

    Of a function these are what it is bound to, its closure, its defaults, what it wraps, and the globals that its code
    names, with the functions of the same file among them. Of a plain object these are its attributes.
    """
    found: dict[int, Module] = {}
    seen: dict[int, Any] = {}
    waiting: list[tuple[Any, int]] = [(root, 0) for root in roots]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, Module):
            found[id(value)] = value
        elif id(value) not in seen and depth <= _DEEPEST:
            seen[id(value)] = value  # kept, so that its number stays its own
            waiting += [(one, depth + step) for one, step in _in(value)]
    return list(found.values())


_DEEPEST = 3  # containers and objects inside of each other; functions do not count
_LONG = 1000  # elements, beyond which a container is of numbers


def _in(value: Any) -> Iterator[tuple[Any, int]]:
    """What a value holds, and by how much deeper that lies."""
    if isinstance(value, FunctionType):
        yield from ((one, 0) for one in _of_function(value))
    elif isinstance(value, MethodType):
        yield value.__self__, 0
        yield value.__func__, 0
    elif isinstance(value, partial):
        yield from ((one, 0) for one in (value.func, *value.args, *value.keywords.values()))
    elif isinstance(value, weakref.ref):
        yield value(), 0
    elif isinstance(value, list | tuple | dict | set | frozenset):
        if len(value) <= _LONG:
            yield from ((one, 1) for one in (value.values() if isinstance(value, dict) else value))
    elif not isinstance(value, type | ModuleType) and not hasattr(value, "dtype"):
        if (wrapped := getattr(value, "__wrapped__", None)) is not None:
            yield wrapped, 0
        held = getattr(value, "__dict__", None)
        if isinstance(held, dict) and len(held) <= _LONG:
            yield from ((one, 1) for one in held.values())


def _of_function(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield function.__dict__.get("__wrapped__")
    if not function.__module__ or function.__module__.partition(".")[0] not in libraries.names():
        known = function.__globals__
        for name in set(_globals_in(function.__code__)):
            value = known.get(name)
            if not isinstance(value, FunctionType) or value.__globals__ is known:
                yield value


def _globals_in(code: CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield step.argval
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _globals_in(inner)
