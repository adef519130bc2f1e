"""Reach: the Modules that a function gets at without being called: what it is a method of, closes over, and names.

The names and containers through which it does are what else it depends on: a list of layers may grow, a global may
become another model.
"""

from __future__ import annotations

import dis
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from types import CodeType, FunctionType, GetSetDescriptorType, MethodType, ModuleType
from typing import Any, NamedTuple

from graftax.core import libraries
from graftax.variables.graph.adjustable import Adjustable
from graftax.variables.graph.class_attributes import given_by_class
from graftax.variables.graph.config_objects import attributes_in, is_array, is_config
from graftax.variables.graph.containers import LONG, elements_of, is_container, size_of
from graftax.variables.graph.module import Module
from graftax.variables.graph.node import Node
from graftax.variables.graph.prints import changing_in


class Surroundings(Node):
    """What a function gets at that is no Module: containers of Modules, config objects and the like, names for these.

    Args:
        name: That of the function.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._looks: dict[str, Callable[[], Any]] = {}
        self.bindings: list[Callable[[], Any]] = []
        """Those of the above that may become another object: variables, and attributes of plain objects."""
        self.empty: list[Any] = []
        """Containers with nothing in them, in which there may be Modules later."""

    @property
    def _gx_path(self) -> str:
        """Return the name of the function."""
        return self._name

    def add(self, name: str, value: object, look: Callable[[], Any] | None) -> None:
        """Note something, and how to look for it again."""
        title, number = name, 1
        while title in self._looks:  # as it is called in another function
            number += 1
            title = f"{name} ({number})"
        self._looks[title] = partial(_itself, value) if look is None else look
        if look is not None:
            self.bindings.append(look)

    def settings(self) -> Surroundings:
        """Return the same without containers: the objects whose attributes a function may read."""
        found = Surroundings(self._name)
        found._looks = {name: look for name, look in self._looks.items() if _has_settings(look())}
        return found

    def _gx_traced_attributes(self) -> dict[str, Any]:
        """Return all that is noted, as it is now; a container counts while there are Modules or Variables in it."""
        found = ((name, look()) for name, look in self._looks.items())
        return {name: value for name, value in found if _has_settings(value) or has_nodes(value)}


def reached(roots: Iterable[Any], name: str = "") -> tuple[list[Module], Surroundings]:
    """Return the Modules in some values, each once: in containers, functions, plain objects, but not below Modules.

    Of a function these are what it is bound to, its closure, its defaults, what it wraps, and the globals that its code
    names, with the functions of the same file among them. Of a plain object these are its attributes, those that its
    class gives it among them.

    Args:
        roots: The values.
        name: What to call the function to which they belong.
    """
    found: dict[int, Module] = {}
    around = Surroundings(name)
    seen: dict[int, Any] = {}
    noted: set[int] = set()
    places: set[tuple[int, str]] = set()
    waiting = [_Held("", root) for root in roots]
    for depth in range(_DEEPEST + 2):  # level by level: what is found in two ways counts for the shorter one
        deeper: list[_Held] = []
        while waiting:
            one = waiting.pop()
            if one.place is not None:
                if one.place in places:
                    continue
                places.add(one.place)
            if isinstance(one.value, Module):
                found[id(one.value)] = one.value
                if one.look is not None:
                    around.add(*one[:3])
            elif id(one.value) in seen:
                if one.look is not None and id(one.value) in noted:  # another name for it, that may become another's
                    around.add(*one[:3])
            elif depth <= _DEEPEST and len(seen) < _MOST:
                seen[id(one.value)] = one.value  # kept, so that its number stays its own
                _note(around, one, depth, noted)
                for held in _in(one.value):
                    (deeper if held.deeper else waiting).append(held)
        waiting = deeper[::-1]
    return list(found.values()), around


_DEEPEST = 6  # containers and objects inside of each other; functions do not count
_MOST = 20_000  # values that are looked into, those nearest to the function


class _Held(NamedTuple):
    """A value that another one holds."""

    name: str
    value: Any
    look: Callable[[], Any] | None = None  # finds what is there later, where that may be another object
    deeper: bool = False
    place: tuple[int, str] | None = None  # of a variable, which many functions may name


def _note(around: Surroundings, one: _Held, depth: int, noted: set[int]) -> None:
    """Note a value if it holds Modules, or settings, in a way that may change; of containers, the outermost ones."""
    name, value, look, *_ = one
    if id(value) in noted:
        if look is not None:
            around.add(name, value, look)
        return
    if is_container(value):
        if size_of(value) > LONG:
            return
        if isinstance(value, _GROWING) and not value and depth <= 1:
            around.empty.append(value)
        elif not has_nodes(value):
            return
    elif not _has_settings(value):
        return
    noted.update(map(id, changing_in(value)))
    around.add(name, value, look)


def has_nodes(value: object, seen: set[int] | None = None) -> bool:
    """Return True for a Module or Variable, and for a container that has one somewhere."""
    if isinstance(value, Node):
        return True
    if not is_container(value):
        return False
    seen = set() if seen is None else seen
    if id(value) in seen:
        return False
    seen.add(id(value))
    return any(has_nodes(one, seen) for one in elements_of(value))


_GROWING = (list, dict, set, deque)


def _has_settings(value: object) -> bool:
    """Return True for an object whose attributes the function may read.

    One that holds Modules or Variables itself is a program, not a setting of one: what a trainer counts, or appends to
    a list, changes at each step, and compiled code rarely reads it.
    """
    if isinstance(value, Adjustable):
        return True
    return is_config(value) and not any(has_nodes(one) for _, one in attributes_in(value))


def _itself(value: object) -> Any:
    return value


def _in(value: object) -> Iterator[_Held]:
    """Return what a value holds."""
    if isinstance(value, FunctionType):
        yield from _of_function(value)
    elif isinstance(value, MethodType):
        yield _Held("self", value.__self__)
        yield _Held("", value.__func__)
    elif isinstance(value, partial):
        yield from (_Held("", one) for one in (value.func, value.args, value.keywords))
    elif isinstance(value, weakref.ref):
        yield _Held("self", value(), value)  # not kept alive by what is noted
    elif is_container(value) or isinstance(value, frozenset):
        if size_of(value) <= LONG:
            yield from (_Held("", one, deeper=True) for one in elements_of(value))
    elif isinstance(value, type):
        yield from _of_class(value)
    elif not isinstance(value, ModuleType) and not is_array(type(value)):
        yield from _of_object(value)


def _of_object(value: object) -> Iterator[_Held]:
    """Return what an object keeps, its class, and what it wraps: none of its own code runs."""
    held = dict(attributes_in(value))
    wrapped = held.pop("__wrapped__", None)
    if wrapped is None and isinstance(place := _in_class(type(value), "__wrapped__"), GetSetDescriptorType):
        wrapped = place.__get__(value)
    if wrapped is not None:
        yield _Held("", wrapped)
        if type(value).__module__.partition(".")[0] in libraries.names():
            return  # a compiled function, which keeps notes of its own besides
    if len(held) <= LONG:
        find = _finder(value)
        yield from (_Held(str(name), one, partial(find, name), True) for name, one in held.items())
    yield from _of_class(type(value))


def _finder(value: object) -> Callable[[str], Any]:
    """Return what finds an attribute of an object, such that the object is not kept alive by it if possible."""
    if not type(value).__dictoffset__ or any(_slots(type(value))):
        try:
            return partial(_attribute, weakref.ref(value))
        except TypeError:
            return partial(_attribute, partial(_itself, value))
    own: dict[str, Any] = object.__getattribute__(value, "__dict__")
    return own.get


def _attribute(find: Callable[[], Any], name: str) -> Any:
    try:
        return object.__getattribute__(find(), name)
    except AttributeError:
        return None


def _in_class(kind: type[Any], name: str) -> object:
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def _of_class(kind: type[Any]) -> Iterator[_Held]:
    for name, one in given_by_class(kind).items():
        yield _Held(name, one, partial(getattr, kind, name, None), True)


def _slots(kind: type[Any]) -> Iterator[str]:
    for base in kind.__mro__:
        names = vars(base).get("__slots__", ())
        yield from [names] if isinstance(names, str) else names


def _of_function(function: FunctionType) -> Iterator[_Held]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            look = partial(getattr, cell, "cell_contents", None)
            yield _Held(name, cell.cell_contents, look, place=(id(cell), name))
        except ValueError:  # not assigned yet
            continue
    yield from (_Held("", one) for one in function.__defaults__ or ())
    yield from (_Held(name, one) for name, one in (function.__kwdefaults__ or {}).items())
    yield _Held("", function.__dict__.get("__wrapped__"))
    if not function.__module__ or function.__module__.partition(".")[0] not in libraries.names():
        known = function.__globals__
        for name in _global_names(function.__code__):
            value = known.get(name)
            if not isinstance(value, FunctionType) or value.__globals__ is known:
                yield _Held(name, value, partial(known.get, name), place=(id(known), name))


@lru_cache(maxsize=1024)  # to take the code apart takes longer than all else here
def _global_names(code: CodeType) -> list[str]:
    return sorted(set(_globals_in(code)))


def _globals_in(code: CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield step.argval
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _globals_in(inner)
