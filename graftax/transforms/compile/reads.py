"""Reads: which attributes of a plain object that holds Modules, such as a trainer, a traced function reads.

A trainer keeps more than the compiled step depends on: it counts steps, and collects losses. So while a function is
traced, the classes of such objects say which attributes are asked for; a later call compares these, and no others.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import MemberDescriptorType
from typing import Any, cast

from graftax.core.scopes import ScopeStack
from graftax.transforms.compile.surroundings import Around, Surroundings, identity
from graftax.transforms.lifting.frames import CompileFrame
from graftax.variables.graph.class_attributes import given_by_class, is_of_user
from graftax.variables.graph.config_objects import attributes_from_class, attributes_in, slots_of
from graftax.variables.graph.module import Module
from graftax.variables.graph.prints import Print, Same, print_of


class PlainObject(Around):
    """A plain object that holds Modules, as far as a trace reads it.

    Args:
        value: The object, which is not kept alive if possible.
        apart: All such objects around one function.
        names: Those of attributes that count as read from the start.
    """

    def __init__(self, value: object, apart: dict[int, Callable[[], object]], names: Iterable[str] = ()) -> None:
        super().__init__(apart)
        self.kind = type(value)
        self.find = finder(value)
        """Returns the object; None once it is gone."""
        self.names = dict.fromkeys(names)
        """Those of the attributes that are read."""
        self.is_whole = False
        """Whether the function asks for all that there is."""

    @property
    def _gx_path(self) -> str:
        """Return the name of its class."""
        return self.kind.__name__

    @property
    def bindings(self) -> list[Callable[[], Any]]:
        """Return how to look for what is read, in the object and in its class."""
        value = self.find()
        own = attribute_finder(value)
        given = given_by_class(self.kind)
        looks = [partial(own, name, _ABSENT) for name in self.names]
        return looks + [partial(getattr, self.kind, name, None) for name in self.names if name in given]

    def _gx_traced_attributes(self) -> dict[str, Any]:
        value = self.find()
        if value is None:
            return {}
        held = attributes_from_class(value) | dict(attributes_in(value))
        return held if self.is_whole else {name: held[name] for name in self.names if name in held}

    def _gx_fingerprint(self) -> dict[str, Print]:
        """Return how what is read is now, and of which class the object is."""
        return {**super()._gx_fingerprint(), "__class__": Same(type(self.find()))}

    def _gx_print_for(self, name: str) -> Print | None:
        held = self._gx_traced_attributes()
        return print_of(held[name], look=self._gx_look()) if name in held else None


class PlainClass(Around):
    """A class that a function names, such as one that only groups settings, with those attributes that it names too.

    Args:
        kind: The class.
        apart: The plain objects around the function.
        names: Those of the attributes.
    """

    def __init__(self, kind: type[Any], apart: dict[int, Callable[[], object]], names: Iterable[str]) -> None:
        super().__init__(apart)
        self._kind = kind
        self.names = dict.fromkeys(names)
        """Those of the attributes."""

    @property
    def _gx_path(self) -> str:
        """Return the name of the class."""
        return self._kind.__name__

    @property
    def bindings(self) -> list[Callable[[], Any]]:
        """Return how to look for the attributes."""
        return [partial(getattr, self._kind, name, None) for name in self.names]

    def _gx_traced_attributes(self) -> dict[str, Any]:
        given = given_by_class(self._kind)
        return {name: given[name] for name in self.names if name in given}


_ABSENT = object()
_WHOLE = frozenset({"__dict__", "__getstate__", "__reduce__", "__reduce_ex__"})  # the others are asked for by copies


class Reads:
    """What a trace reads of plain objects.

    Args:
        objects: The objects.
        frame: The trace.
    """

    def __init__(self, objects: Iterable[PlainObject], frame: CompileFrame) -> None:
        self._objects = {id(one.find()): one for one in objects}
        self._frame = frame

    def note(self, value: object, name: str) -> None:
        """Note that an attribute is about to be read."""
        one = self._objects.get(id(value))
        if one is None or name in one.names or one.find() is not value:
            return
        if name in _WHOLE:
            if not one.is_whole:
                one.is_whole = True
                self._frame.note_structure((one,))
        elif not name.startswith("__"):
            one.names[name] = None
            self._frame.changing(one, name)

    def start(self) -> None:
        """Note what counts as read from the start."""
        for one in self._objects.values():
            for name in one.names:
                self._frame.changing(one, name)

    def finish(self) -> None:
        """Let what was made where there was nothing count as seen: a later call finds it there, and does the same."""
        for one in self._objects.values():
            for name, value in one._gx_traced_attributes().items():
                self._frame.seen.take_created(one, name, value)


_reads: ScopeStack[Reads] = ScopeStack("plain objects")


@contextmanager
def watch_reads(modules: Iterable[Module], around: Surroundings, frame: CompileFrame) -> Iterator[None]:
    """Note what is around a function before it runs, which may change that, and what it reads of plain objects."""
    frame.note_structure((around,))
    frame.seen.note_left(around)
    for module in modules:
        frame.watch(module)
    objects = [one for one in around.objects if isinstance(one, PlainObject)]
    for one in around.objects:
        if isinstance(one, PlainClass):
            frame.touch(one)
            for name in one.names:
                frame.changing(one, name)
    reads = Reads(objects, frame)
    reads.start()
    kinds = {one.kind: None for one in objects if is_of_user(one.kind)}
    with _reads.entered(reads), _listen_to_classes(kinds):
        yield
    reads.finish()


# --- classes that say what is read ----------------------------------------------------------------------------------

_lock = threading.Lock()
_asking: dict[type[Any], int] = {}  # how many traces listen to a class
_own: dict[type[Any], Any] = {}  # what such a class had itself
_GET = "__getattribute__"


@contextmanager
def _listen_to_classes(kinds: Iterable[type[Any]]) -> Iterator[None]:
    """Let classes tell, for a while, which attributes of their objects are read in this thread."""
    listened: list[type[Any]] = []
    try:
        with _lock:
            for kind in kinds:
                _listen(kind)
                listened.append(kind)
        yield
    finally:
        with _lock:
            for kind in listened:
                _leave(kind)


def _listen(kind: type[Any]) -> None:
    if kind not in _asking:
        _own[kind] = vars(kind).get(_GET, _ABSENT)
        # past the metaclass, which may do more than assign
        type.__setattr__(kind, _GET, _note_reads(cast("Callable[[Any, str], Any]", kind.__getattribute__)))
    _asking[kind] = _asking.get(kind, 0) + 1


def _leave(kind: type[Any]) -> None:
    _asking[kind] -= 1
    if not _asking[kind]:
        del _asking[kind]
        if (own := _own.pop(kind)) is _ABSENT:
            type.__delattr__(kind, _GET)
        else:
            type.__setattr__(kind, _GET, own)


def _note_reads(get: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    def __getattribute__(self: Any, name: str) -> Any:  # noqa: N807
        if (reads := _reads.top) is not None:
            reads.note(self, name)
        return get(self, name)

    return __getattribute__


# --- attributes without the code of their class ---------------------------------------------------------------------


def finder(value: object) -> Callable[[], Any]:
    """Return what finds an object again, such that it is not kept alive by that if possible."""
    try:
        return weakref.ref(value)
    except TypeError:
        return partial(identity, value)


def attribute_finder(value: object) -> Callable[..., Any]:
    """Return what finds an attribute that an object keeps itself, given its name and what stands for none."""
    slots = {one.__name__: one for one in slots_of(type(value))}
    if slots or not type(value).__dictoffset__:
        return partial(_attribute, finder(value), slots)
    own: dict[str, Any] = object.__getattribute__(value, "__dict__")
    return own.get


def _attribute(
    find: Callable[[], Any], slots: dict[str, MemberDescriptorType], name: str, default: object = None
) -> Any:
    value = find()
    with suppress(AttributeError):  # the object is gone, or the attribute
        if name in slots:
            return slots[name].__get__(value)
        return object.__getattribute__(value, "__dict__").get(name, default)
    return default
