"""Reach: the Modules that a function gets at without being called: what it is a method of, closes over, and names.

The names and containers through which it does are what else it depends on: a list of layers may grow, a global may
become another model.
"""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import CodeType, FunctionType, GetSetDescriptorType, MethodType, ModuleType
from typing import Any, NamedTuple

from graftax.backend import registry
from graftax.core import libraries
from graftax.transforms.compile.code_names import (
    attribute_names,
    global_names,
    makers_of,
    methods_of,
    names_put_into,
)
from graftax.transforms.compile.reads import PlainClass, PlainObject, attribute_finder, finder
from graftax.transforms.compile.surroundings import (
    Surroundings,
    has_parts,
    has_settings,
    is_program,
    is_users_file,
    is_users_module,
)
from graftax.variables.graph.class_attributes import bases_of_user, given_by_class, in_class, is_of_user
from graftax.variables.graph.config_objects import attributes_in, is_array, is_config
from graftax.variables.graph.containers import LONG, elements_of, is_container, size_of
from graftax.variables.graph.module import Module
from graftax.variables.graph.node import Node, own_nodes
from graftax.variables.graph.prints import is_plain, may_change, mutable_parts


def find_modules(roots: Iterable[Any], name: str = "") -> tuple[list[Module], Surroundings]:
    """Return the Modules in some values, each once: in containers, functions, plain objects, but not below Modules.

    Of a function these are what it is bound to, its closure, its defaults, what it wraps, and the globals that its code
    names, with the functions of the same file among them. Of a plain object these are its attributes, those that its
    class gives it among them. Of objects and Modules, methods count that the code names, or that graftax calls.

    Args:
        roots: The values.
        name: What to call the function to which they belong.
    """
    search = _Search(name)
    search.run(roots)
    return list(search.modules.values()), search.around


_DEEPEST = 6  # containers and objects inside of each other; functions do not count
_DEEPEST_EMPTY = 3  # containers with nothing in them, which are looked at in every call
_MOST = 20_000  # values that are looked into, those nearest to the function
_GROWING = (list, dict, set, deque)


class _Held(NamedTuple):
    """A value that another one holds."""

    name: str
    value: Any
    look: Callable[[], Any] | None = None  # finds what is there later, where that may be another object
    deeper: bool = False
    place: tuple[int, str] | None = None  # of a variable, which many functions may name
    is_read: bool = False  # from an object of which it is noted what is read, so that it need not be noted here
    counts: bool = False  # a variable that code reads, whatever is in it


class _Search:
    """One look at what a function gets at, level by level: what is found in two ways counts for the shorter one."""

    def __init__(self, name: str) -> None:
        self.modules: dict[int, Module] = {}
        self._apart: dict[int, Callable[[], object]] = {}
        self.around = Surroundings(name, self._apart)
        self._seen: dict[int, Any] = {}
        self._noted: set[int] = set()
        self._read: set[int] = set()  # met, so far, only where it is noted what is read
        self._places: set[tuple[int, str]] = set()
        self._names: set[str] = set()  # of attributes, in the code that was met
        # of classes, which no code has named yet
        self._methods: dict[str, list[tuple[type[Any], FunctionType]]] = {}
        self._variables: set[tuple[int, str] | None] = set()  # that are noted
        self._asked: set[tuple[int, CodeType]] = set()  # files, and the code for which they were looked at
        self._kinds: set[type[Any]] = set()
        self._classes: list[type[Any]] = []  # that are named themselves
        self._below: dict[int, Node] = {}
        self._namespaces: list[Any] = []
        self._waiting: list[_Held] = []

    def run(self, roots: Iterable[Any]) -> None:
        """Look at these, and at what they hold."""
        self._waiting = [_Held("", root, counts=isinstance(root, partial)) for root in roots]
        for depth in range(_DEEPEST + 2):
            deeper: list[_Held] = []
            while self._waiting:
                one = self._waiting.pop()
                if one.place is None or one.place not in self._places:
                    if one.place is not None:
                        self._places.add(one.place)
                    deeper += self._meet(one, depth)
            self._waiting = deeper[::-1]
        for value in self._namespaces:  # of a class that cannot tell what is read: what the code names
            named = [name for name, _ in attributes_in(value) if name in self._names]
            self.around.objects.append(PlainObject(value, self._apart, named))
        for kind in dict.fromkeys(self._classes):
            if issubclass(kind, Module) and kind in self._kinds:
                continue  # what it gives its objects is compared with these
            if named := [name for name in given_by_class(kind) if name in self._names]:
                self.around.objects.append(PlainClass(kind, self._apart, named))

    def _meet(self, one: _Held, depth: int) -> list[_Held]:
        """Note a value, and return what it holds at the next level."""
        value = one.value
        if isinstance(value, Node):
            if isinstance(value, Module) and id(value) not in self.modules:
                self.modules[id(value)] = value
                self._waiting += self._of_module(value)
            if one.look is not None and not one.is_read:
                self.around.add(one.name, value, one.look)
            return []
        if id(value) in self._seen:
            if one.is_read:
                return []
            if id(value) in self._read:  # now it is met in another way
                self._read.discard(id(value))
                self._note(one, depth)
            elif one.counts and id(value) not in self._noted:
                self._note(one, depth)
            elif one.look is not None and id(value) in self._noted:  # another name for it, that may become another's
                self.around.add(one.name, value, one.look)
            return []
        if depth > _DEEPEST or len(self._seen) >= _MOST:
            return []
        self._seen[id(value)] = value  # kept, so that its number stays its own
        # of a function it is only noted which one it is
        is_read = self._note_program(value) if is_program(value) else one.is_read and not callable(value)
        if one.is_read:
            self._read.add(id(value))
        else:
            self._note(one, depth)
        held = [child._replace(is_read=is_read and child.place is None) for child in self._held_by(value)]
        self._waiting += [child for child in held if not child.deeper]
        return [child for child in held if child.deeper]

    def _note(self, one: _Held, depth: int) -> None:
        """Note a value that holds Modules, or settings, in a way that may change; of containers, the outermost ones."""
        value = one.value
        if id(value) in self._noted:
            if one.look is not None:
                self.around.add(one.name, value, one.look)
            return
        if is_container(value):
            if size_of(value) > LONG:
                return
            if isinstance(value, _GROWING) and not value and depth <= _DEEPEST_EMPTY:
                self.around.empty.append(value)
            elif not one.counts and not has_parts(value):
                return
        elif id(value) in self._apart or not has_settings(value):
            if id(value) in self._apart and one.look is not None and not isinstance(one.look, weakref.ref):
                self.around.add(one.name, value, one.look)  # the name may become that of another one
            return
        self._noted.update(map(id, mutable_parts(value, look=self.around._gx_look())))
        self.around.add(one.name, value, one.look, one.counts)

    def _note_program(self, value: object) -> bool:
        """Note a plain object that holds Modules; return True if its class can tell what is read of it."""
        self._apart[id(value)] = finder(value)
        if is_of_user(type(value)):
            self._classes.append(type(value))
            self.around.objects.append(PlainObject(value, self._apart))
            return True
        self._namespaces.append(value)
        return False

    def _held_by(self, value: object) -> Iterator[_Held]:
        """Return what a value holds."""
        if isinstance(value, FunctionType):
            yield from self._of_function(value)
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
            self._classes.append(value)
            yield from _of_class(value)
            yield from self._methods_of(value)
            yield from (_Held("", one) for one in makers_of(value))
        elif not isinstance(value, ModuleType) and not is_array(type(value)):
            yield from self._of_object(value)

    def _of_object(self, value: object) -> Iterator[_Held]:
        """Return what an object keeps, its class, and what it wraps: none of its own code runs."""
        kind = type(value)
        held = dict(attributes_in(value))
        wrapped = held.pop("__wrapped__", None)
        if wrapped is None and isinstance(place := in_class(kind, "__wrapped__"), GetSetDescriptorType):
            wrapped = place.__get__(value)
        if wrapped is not None:
            yield _Held("", wrapped)
            if kind.__module__.partition(".")[0] in libraries.names():
                return  # a compiled function, which keeps notes of its own besides
        if len(held) <= LONG:
            find = attribute_finder(value)
            yield from (_Held(str(name), one, partial(find, name), True) for name, one in held.items())
        yield from _of_class(kind)
        yield from self._methods_of(kind)

    def _of_module(self, module: Module) -> Iterator[_Held]:
        """Return the methods of the classes of a Module, and of all Modules below it; nothing is made."""
        waiting: list[Node] = [module]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Module) and id(node) not in self._below:
                self._below[id(node)] = node
                yield from self._methods_of(type(node))
                if is_of_user(type(node)):
                    self.around.method(type(node), "call")  # where it inherits that of graftax
                for one in [*vars(node).values(), *node._gx_called_objects()]:
                    if isinstance(one, Node):
                        waiting.append(one)
                    elif isinstance(one, FunctionType | MethodType | partial):  # such as that of a layer ``Lambda``
                        yield _Held("", one)
                    elif is_of_user(type(one)):  # such as a regularizer, of which graftax calls methods
                        yield from self._methods_of(type(one))
                waiting += [below for _, below in own_nodes(node)]

    def _methods_of(self, kind: type[Any]) -> Iterator[_Held]:
        """Return what may be called of a class: what the code names, what Python calls, and what graftax does."""
        if kind in self._kinds:
            return
        self._kinds.add(kind)
        users = bases_of_user(kind)
        others = [vars(base) for base in kind.__mro__ if base not in users]
        for name, method in methods_of(kind):
            if name in self._names or name.startswith("__") or any(name in known for known in others):
                self.around.method(kind, name)
                yield _Held("", method)
            else:
                self._methods.setdefault(name, []).append((kind, method))
        for base in users:
            for name, value in list(vars(base).items()):
                if hasattr(type(value), "__get__") and is_config(value):
                    yield _Held(name, value, partial(vars(base).get, name))

    def _of_function(self, function: FunctionType) -> Iterator[_Held]:
        is_users = is_users_file(function.__globals__)  # names of a function may be those of one that it wraps
        put = names_put_into(function.__code__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
            look = partial(content_of, cell)
            held = _Held(name, look(), look, place=(id(cell), name), counts=is_users and name not in put)
            yield from self._of_variable(held)
        for name, one in defaults_of(function).items():  # a list or an array of NumPy may change in place
            counts = is_users and may_change(one) and name not in put
            yield from self._of_variable(_Held(name, one, place=(id(function), name), counts=counts))
        yield _Held("", function.__dict__.get("__wrapped__"))
        if function.__module__ and function.__module__.partition(".")[0] in libraries.names():
            return
        if is_users:
            yield from self._of_attributes(function)
            if may_exchange_code() and "__file__" in function.__globals__:
                self.around.runs(function)
        yield from self._of_globals(function.__globals__, global_names(function.__code__), function.__code__)
        for name in attribute_names(function.__code__) - self._names:
            self._names.add(name)
            for kind, method in self._methods.pop(name, ()):
                self.around.method(kind, name)
                yield _Held("", method)

    def _of_attributes(self, function: FunctionType) -> Iterator[_Held]:
        """Return what a function has itself (``scale.factor = 2.0``)."""
        known = function.__dict__
        for name in [name for name in known if not name.startswith("__")]:
            place = (id(known), name)
            held = _Held(name, known[name], partial(known.get, name), place=place, counts=True)
            yield from self._of_variable(held, known)

    def _of_globals(self, known: dict[str, Any], names: Iterable[str], code: CodeType) -> Iterator[_Held]:
        """Return what names stand for among globals, and in files what the code may ask these for."""
        put = names_put_into(code)
        is_users = is_users_file(known)
        for name in names:
            value = known.get(name, content_of)
            if isinstance(value, ModuleType):
                if is_users_module(value.__name__) and (id(value), code) not in self._asked:
                    self._asked.add((id(value), code))
                    yield from self._of_globals(vars(value), sorted(attribute_names(code)), code)
            elif value is content_of:
                if is_users:
                    self.around.name(known, name)  # which may come, or come to stand for something else than in Python
            elif is_users:
                look = partial(known.get, name)
                yield from self._of_variable(
                    _Held(name, value, look, place=(id(known), name), counts=name not in put), known
                )

    def _of_variable(self, held: _Held, known: dict[str, Any] | None = None) -> Iterator[_Held]:
        """Return what a variable stands for, and note the variable where nothing else does."""
        value, place = held.value, held.place
        is_noted_later = isinstance(value, Node) or is_config(value) or (is_container(value) and size_of(value) <= LONG)
        if held.counts and not is_noted_later and place not in self._variables:
            self._variables.add(place)
            if known is not None:
                self.around.name(known, held.name)
            else:
                self.around.add(held.name, value, held.look, True)
        if isinstance(value, FunctionType) and not is_users_file(value.__globals__):
            yield from (_Held("", one) for one in functions_inside(value))
        elif not is_plain(value):
            yield held


def defaults_of(function: FunctionType) -> dict[str, Any]:
    """Return the default values of parameters, by name."""
    defaults, code = function.__defaults__ or (), function.__code__
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    return {**dict(zip(names, defaults, strict=True)), **(function.__kwdefaults__ or {})}


def functions_inside(function: FunctionType) -> list[FunctionType]:
    """Return the user's functions that a function of a library calls, such as that of `graftax.grad` or a decorator."""
    found: list[FunctionType] = []
    waiting, seen = [function], {id(function)}
    while waiting:
        outer = waiting.pop()
        held = [outer.__dict__.get("__wrapped__"), *map(content_of, outer.__closure__ or ())]
        for one in [getattr(value, "__func__", value) for value in held]:
            if isinstance(one, FunctionType) and id(one) not in seen:
                seen.add(id(one))
                (found if is_users_file(one.__globals__) else waiting).append(one)
    return found


def traced_variable_of(value: Any, level: object) -> str | None:
    """Return the variable through which a function keeps a value of a trace that is inside of a level, or over."""
    leaks = registry.current().tracing.leaks
    for _ in range(_DEEPEST):
        if not callable(value) or isinstance(value, Node):
            return None
        held: dict[str, Any] = {}
        inner = value.__func__ if isinstance(value, MethodType) else dict(attributes_in(value)).get("__wrapped__")
        if isinstance(value, partial):
            held = {f"argument {i}": one for i, one in enumerate(value.args)} | value.keywords
            inner = value.func
        elif isinstance(value, FunctionType):
            cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=False)
            held = {name: content_of(cell) for name, cell in cells} | defaults_of(value)
        found = next((name for name, one in held.items() if leaks(one, level)), None)
        if found is not None or inner is None:
            return found
        value = inner
    return None


def content_of(cell: Any) -> Any:
    """Return what is in the variable of a closure; None before it is assigned."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def may_exchange_code() -> bool:
    """Return True where a notebook may load files again as they change, and exchanges the code of functions then."""
    return "IPython" in sys.modules


def _of_class(kind: type[Any]) -> Iterator[_Held]:
    for name, one in given_by_class(kind).items():
        yield _Held(name, one, partial(getattr, kind, name, None), True)
