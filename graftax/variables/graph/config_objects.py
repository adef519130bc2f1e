"""Config objects: plain objects of users' classes, namespaces, dataclasses. Compiled code reads what they hold."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from contextlib import suppress
from enum import Enum
from itertools import chain
from types import MemberDescriptorType
from typing import Any

from graftax.core import libraries
from graftax.variables.graph.class_attributes import given_by_class, is_of_user

CONFIG_VALUES = 1000
"""How many attributes and elements are followed in the config objects of one attribute, those inside of each other."""

# compared in another way, or no state: containers, plain values, constants, classes, errors
_OTHERS = (list, tuple, dict, set, frozenset, str, bytes, int, float, complex, Enum, type, BaseException, weakref.ref)
# an iterator changes by being read, which is not what a setting does; an array is compared by itself
_TELLING = ("__next__", "__array__")
# these keep all in attributes; named, since few programs need their modules
_OF_PYTHON = {("argparse", "Namespace"), *(("collections", name) for name in ("ChainMap", "UserDict", "UserList"))}
_OF_ARRAYS = ("dtype", "shape")


class _Slots(dict[type[Any], "tuple[MemberDescriptorType, ...] | None"]):
    """For each class of config objects its slots, beside ``__dict__``; None for other classes."""

    def __missing__(self, kind: type[Any]) -> tuple[MemberDescriptorType, ...] | None:
        self[kind] = tuple(slots_of(kind)) if _is_config(kind) else None
        return self[kind]


_slots = _Slots()


def _is_config(kind: type[Any]) -> bool:
    if issubclass(kind, _OTHERS) or any(hasattr(kind, name) for name in _TELLING) or is_array(kind):
        return False
    if not kind.__dictoffset__ and not any(slots_of(kind)):
        return False  # there is nothing that may change
    if any(base.__module__.partition(".")[0] in libraries.names() for base in kind.__mro__):
        return False  # those of graftax are followed by what they are
    # "types" is where Python puts namespaces, and classes that are made by a function
    return is_of_user(kind) or kind.__module__ == "types" or (kind.__module__, kind.__name__) in _OF_PYTHON


def is_array(kind: type[Any]) -> bool:
    """Return True for a class of arrays: dtype and shape are worked out, where those of settings are given."""
    found = [next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None) for name in _OF_ARRAYS]
    return all(hasattr(type(one), "__get__") and not isinstance(one, MemberDescriptorType) for one in found)


def slots_of(kind: type[Any]) -> Iterator[MemberDescriptorType]:
    """Yield the slots of a class and its bases."""
    for base in reversed(kind.__mro__):
        if "__slots__" in vars(base):
            yield from (member for member in vars(base).values() if isinstance(member, MemberDescriptorType))


def is_config(value: object) -> bool:
    """Return True for a config object: not for Modules, arrays, containers, or what Python and its libraries make.

    Example:
        >>> from types import SimpleNamespace
        >>> is_config(SimpleNamespace(scale=2.0)), is_config({"scale": 2.0})
        (True, False)
    """
    return _slots[type(value)] is not None


def attributes_in(value: object) -> Iterator[tuple[str, Any]]:
    """Yield what an object keeps itself: nothing is computed, since properties and ``__getattr__`` are not asked."""
    with suppress(AttributeError):  # it has slots alone
        yield from list(object.__getattribute__(value, "__dict__").items())
    for member in _slots[type(value)] or slots_of(type(value)):
        with suppress(AttributeError):  # nothing is assigned to it
            yield member.__name__, member.__get__(value)


def content_of(value: object) -> Iterable[Any]:
    """Return names and values of a config object, its own ones, to be compared at each call."""
    if _slots[type(value)]:
        return chain.from_iterable(attributes_in(value))
    held: dict[str, Any] = object.__getattribute__(value, "__dict__")
    return chain(held, held.values())


def attributes_from_class(value: object) -> dict[str, Any]:
    """Return the attributes of the class of a config object that are none of its own."""
    given = given_by_class(type(value))
    if given:
        for name, _ in attributes_in(value):
            given.pop(name, None)
    return given


class Look:
    """One look into config objects: each is entered once, and not more than `CONFIG_VALUES` values are looked at.

    Args:
        seen: The objects that were entered in other looks, by their numbers. Defaults to none.
    """

    __slots__ = ("_left", "_seen")

    def __init__(self, seen: dict[int, object] | None = None) -> None:
        self._seen: dict[int, object] = {} if seen is None else seen
        self._left = CONFIG_VALUES

    def enter(self, value: object) -> dict[str, Any] | None:
        """Return the attributes of a config object, those of its class included; None if it is not entered."""
        if id(value) in self._seen:
            return None
        found = attributes_from_class(value) | dict(attributes_in(value))
        if not self.has_room(len(found)):
            return None
        self._seen[id(value)] = value
        return found

    def has_room(self, values: int) -> bool:
        """Count so many values, and return True, unless they are too many."""
        if values > self._left:
            return False
        self._left -= values
        return True
