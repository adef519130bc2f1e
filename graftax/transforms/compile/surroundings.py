"""Surroundings: what a compiled function depends on beside Modules: containers of these, objects, names for them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import PurePath
from types import FunctionType
from typing import Any

from graftax.core import libraries
from graftax.variables.graph.class_attributes import bases_of_user, in_class
from graftax.variables.graph.config_objects import Look, attributes_in, is_config
from graftax.variables.graph.containers import elements_of, is_container
from graftax.variables.graph.node import Node
from graftax.variables.graph.prints import Print, print_of
from graftax.variables.graph.structure import Adjustable


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
        self._numbers: dict[str, int] = {}  # of things with a name
        self.empty: list[Any] = []
        """Containers with nothing in them, in which there may be Modules later."""
        self.objects: list[Around] = []
        """Plain objects that hold Modules, each with what is read of it."""
        self.named: dict[int, tuple[dict[str, Any], dict[str, str]]] = {}
        """Globals: which names in them count, and what they are called in messages."""
        self.methods: dict[type[Any], dict[str, str]] = {}
        """Classes: which of their methods count, and what they are called in messages."""
        self.functions: dict[str, FunctionType] = {}
        """Functions whose code tools for notebooks exchange when their file has changed."""
        self._counting: set[str] = set()

    @property
    def _gx_path(self) -> str:
        """Return the name of the function."""
        return self._name

    @property
    def bindings(self) -> list[Callable[[], Any]]:
        """Return how to look for what may become another object."""
        return self._bindings

    def add(self, name: str, value: object, look: Callable[[], Any] | None, counts: bool = False) -> None:
        """Note something, and how to look for it again; a container counts where it has parts, or if told so."""
        title = self._title(name)
        self._looks[title] = partial(identity, value) if look is None else look
        if counts:
            self._counting.add(title)
        if look is not None:
            self._bindings.append(look)

    def name(self, known: dict[str, Any], name: str) -> None:
        """Note that a name among some globals may come to stand for something else."""
        names = self.named.setdefault(id(known), (known, {}))[1]
        if name not in names:
            names[name] = self._title(f"{name}()" if is_code(known.get(name)) else name)

    def method(self, kind: type[Any], name: str) -> None:
        """Note that a class, or a base of it, which `super` may ask, may get another method."""
        for base in bases_of_user(kind):
            names = self.methods.setdefault(base, {})
            if name not in names:
                names[name] = self._title(f"{base.__name__}.{name}()")

    def runs(self, function: FunctionType) -> None:
        """Note a function whose code may be exchanged."""
        self.functions[self._title(f"code of {function.__qualname__}()")] = function

    def _title(self, name: str) -> str:
        """Return a name that nothing else has, such as a variable of another function."""
        number = self._numbers.get(name, 0) + 1
        self._numbers[name] = number
        return name if number == 1 else f"{name} ({number})"

    def settings(self) -> Surroundings:
        """Return the same without containers: the objects whose attributes a function may read."""
        found = Surroundings(self._name)
        found._looks = {name: look for name, look in self._looks.items() if has_settings(look())}
        return found

    def _gx_traced_attributes(self) -> dict[str, Any]:
        """Return all that is noted, as it is now; a container counts while there are Modules or objects in it."""
        found = ((name, look()) for name, look in self._looks.items())
        held = {name: value for name, value in found if name in self._counting or has_parts(value)}
        for known, names in self.named.values():
            held |= {title: known[name] for name, title in names.items() if name in known}
        for kind, names in self.methods.items():
            held |= {title: in_class(kind, name) for name, title in names.items()}
        return held

    def _gx_fingerprint(self) -> dict[str, Print]:
        """Return how all this is now, and what functions run."""
        code: dict[str, Print] = {title: ("tuple", parts_of(function)) for title, function in self.functions.items()}
        return super()._gx_fingerprint() | code


def is_code(value: object) -> bool:
    """Return True for functions and classes of the user's, and for what is made of them and known by a name."""
    if isinstance(value, FunctionType | type):
        return is_users_module(value.__module__ or "")
    return isinstance(value, partial) or (callable(value) and hasattr(type(value), "__get__"))


def parts_of(function: FunctionType) -> tuple[Any, ...]:
    """Return what a function runs, such that it can be compared."""
    return function.__code__, print_of(function.__defaults__), print_of(function.__kwdefaults__)


def is_users_file(known: dict[str, Any]) -> bool:
    """Return True for the globals of a file that the user writes: those of an installed library do not change."""
    return is_users_module(known.get("__name__") or "") and not _is_installed(known.get("__file__") or "")


@lru_cache(maxsize=1024)
def _is_installed(file: str) -> bool:
    return not _INSTALLED.isdisjoint(PurePath(file).parts)


_INSTALLED = frozenset({"site-packages", "dist-packages"})


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
