"""Surroundings: what a compiled function depends on beside Modules: containers of these, objects, names for them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any

from graftax.core import libraries
from graftax.variables.graph.adjustable import Adjustable
from graftax.variables.graph.config_objects import Look, attributes_in, is_config
from graftax.variables.graph.containers import elements_of, is_container
from graftax.variables.graph.node import Node


class Around(Node):
    """Something around a function on which its program depends.

    Args:
        apart: For each plain object of which another one notes what is read, what finds it, by its number.
    """

    def __init__(self, apart: dict[int, Callable[[], object]]) -> None:
        self._apart = apart

    @property
    def bindings(self) -> list[Callable[[], Any]]:
        """Return how to look for what may become another object: variables, and attributes of plain objects."""
        return []

    def _gx_look(self) -> Look:
        """Return a new look, which does not enter objects of which another one notes what is read."""
        return Look({number: find for number, find in self._apart.items() if find() is not None})


class Surroundings(Around):
    """What a function gets at that is no Module: containers of Modules, config objects and the like, names for these.

    Args:
        name: That of the function.
        apart: For each plain object of which another one notes what is read, what finds it, by its number.
    """

    def __init__(self, name: str, apart: dict[int, Callable[[], object]] | None = None) -> None:
        super().__init__({} if apart is None else apart)
        self._name = name
        self._looks: dict[str, Callable[[], Any]] = {}
        self._bindings: list[Callable[[], Any]] = []
        self.empty: list[Any] = []
        """Containers with nothing in them, in which there may be Modules later."""
        self.objects: list[Around] = []
        """Plain objects that hold Modules, each with what is read of it."""
        self.named: dict[int, tuple[dict[str, Any], dict[str, None]]] = {}
        """Globals, and which names in them stand for functions and classes of the user's."""

    @property
    def _gx_path(self) -> str:
        """Return the name of the function."""
        return self._name

    @property
    def bindings(self) -> list[Callable[[], Any]]:
        """Return how to look for what may become another object."""
        return self._bindings

    def add(self, name: str, value: object, look: Callable[[], Any] | None) -> None:
        """Note something, and how to look for it again."""
        title, number = name, 1
        while title in self._looks:  # as it is called in another function
            number += 1
            title = f"{name} ({number})"
        self._looks[title] = partial(identity, value) if look is None else look
        if look is not None:
            self._bindings.append(look)

    def name(self, known: dict[str, Any], name: str) -> None:
        """Note that a name among some globals stands for a function or class, which may be defined again."""
        self.named.setdefault(id(known), (known, {}))[1][name] = None

    def settings(self) -> Surroundings:
        """Return the same without containers: the objects whose attributes a function may read."""
        found = Surroundings(self._name)
        found._looks = {name: look for name, look in self._looks.items() if has_settings(look())}
        return found

    def _gx_traced_attributes(self) -> dict[str, Any]:
        """Return all that is noted, as it is now; a container counts while there are Modules or objects in it."""
        found = ((name, look()) for name, look in self._looks.items())
        held = {name: value for name, value in found if has_parts(value)}
        for place, (known, names) in enumerate(self.named.values()):
            mark = f" ({place + 1})" if place else ""  # of another file
            held |= {f"{name}(){mark}": known.get(name) for name in names}
        return held


def is_code(value: object) -> bool:
    """Return True for functions and classes of the user's, and for what is made of them and known by a name."""
    if isinstance(value, FunctionType | type):
        return is_users_module(value.__module__ or "")
    return isinstance(value, partial) or (callable(value) and hasattr(type(value), "__get__"))


def is_users_module(name: str) -> bool:
    """Return True for what is not graftax, a library below it, or Python."""
    top = name.partition(".")[0]
    return top not in sys.stdlib_module_names and top not in libraries.names()


def has_nodes(value: object) -> bool:
    """Return True for a Module or Variable, and for a container that has one somewhere."""
    return _contains(value, lambda one: isinstance(one, Node), set())


def has_parts(value: object) -> bool:
    """Return True for what a function may be made of: Modules, Variables, objects, and containers that have one."""
    return _contains(value, lambda one: isinstance(one, Node | Adjustable) or is_config(one), set())


def _contains(value: object, is_it: Callable[[object], bool], seen: set[int]) -> bool:
    if is_it(value):
        return True
    if not is_container(value) or id(value) in seen:
        return False
    seen.add(id(value))
    return any(_contains(one, is_it, seen) for one in elements_of(value))


def has_settings(value: object) -> bool:
    """Return True for an object whose attributes are compared, all of them.

    One that holds Modules or Variables itself is a program, not a setting of one, and keeps much that the compiled code
    does not read: what a trainer counts, or appends to a list, changes at each step. Of such a one it is noted what is
    read (`graftax.transforms.compile.reads`).
    """
    return isinstance(value, Adjustable) or (is_config(value) and not is_program(value))


def is_program(value: object) -> bool:
    """Return True for a plain object that holds Modules or Variables."""
    return is_config(value) and any(has_nodes(one) for _, one in attributes_in(value))


def identity(value: object) -> Any:
    """Return the value."""
    return value
