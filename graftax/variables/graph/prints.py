"""Prints: what a compiled function depends on besides values of Variables, such that it can be compared later."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterator
from itertools import chain
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from graftax.variables.graph.adjustable import Adjustable, watch

Print: TypeAlias = "Same | tuple[str, Any]"


class Same:
    """An object compared by identity, and not kept alive where that can be avoided.

    A bare ``id`` would not do: once the object is gone, another one may get its number.
    """

    __slots__ = ("_find",)

    def __init__(self, value: object) -> None:
        try:
            self._find: Any = weakref.ref(value)
        except TypeError:
            self._find = lambda: value

    def is_it(self, value: object) -> bool:
        """Return True if ``value`` is that object."""
        return self._find() is value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and (found := self._find()) is not None and other.is_it(found)

    __hash__ = None  # type: ignore[assignment]


_SCALARS = (str, bytes, bool, int, float, complex, type(None))
_DEEPEST = 32
_OBJECT = 8  # levels that an object with settings counts for: a few of them inside of each other

COMPARED_BYTES = 2**16
"""The size up to which a NumPy array is compared by its content, at each call."""


def is_plain(value: object) -> bool:
    """Return True for what is compared by type and value: numbers, strings, None."""
    return isinstance(value, _SCALARS)


def told_apart(value: object) -> Hashable:
    """Return what is equal for equal plain values of one type: 0.0 and -0.0 are two, and a nan is always the same."""
    return repr(value) if isinstance(value, float | complex) else value


def print_of(value: object, depth: int = 0) -> Print:
    """Return how a value is now: scalars by value and type, what changes in place by content, the rest by identity."""
    if is_plain(value):
        return type(value).__name__, told_apart(value)
    # by content what changes without an attribute being assigned; deeper down, and for the rest, the object itself
    if depth < _DEEPEST:
        if isinstance(value, list | tuple):
            return type(value).__name__, tuple(print_of(element, depth + 1) for element in value)
        if isinstance(value, dict):
            return type(value).__name__, tuple(
                (_key(key), print_of(element, depth + 1)) for key, element in value.items()
            )
        if isinstance(value, set):
            return type(value).__name__, _members(value)
        if is_small_array(value):
            return type(value).__name__, (value.dtype.str, value.shape, value.tobytes())
        if isinstance(value, Adjustable):
            watch(value)
            settings = ((name, print_of(one, depth + _OBJECT)) for name, one in vars(value).items())
            return type(value).__name__, (Same(value), *settings)
    return Same(value)


def is_small_array(value: object) -> TypeGuard[np.ndarray[Any, Any]]:
    """Return True for a NumPy array that is compared by its content."""
    return isinstance(value, np.ndarray) and value.nbytes <= COMPARED_BYTES and not value.dtype.hasobject


def _key(key: Hashable) -> Hashable:
    return (type(key), told_apart(key)) if is_plain(key) else key  # 1, 1.0 and True are equal


def _members(value: set[Any]) -> tuple[Any, ...]:
    plain = frozenset(map(_key, filter(is_plain, value)))
    return plain, *(Same(one) for one in sorted((one for one in value if not is_plain(one)), key=id))


def changing_in(value: object, depth: int = 0) -> Iterator[Any]:
    """Yield what may change in place without a word in a value, itself included: lists, dicts, sets, small arrays."""
    if isinstance(value, list | dict | set) or (is_small_array(value) and not is_constant(value)):
        yield value
    if isinstance(value, Adjustable):
        for entry in vars(value).values():
            if depth < _DEEPEST:
                yield from changing_in(entry, depth + _OBJECT)
    elif isinstance(value, list | tuple | dict) and depth < _DEEPEST:
        for entry in value.values() if isinstance(value, dict) else value:
            if isinstance(entry, _MAY_CHANGE):
                yield from changing_in(entry, depth + 1)


_MAY_CHANGE = (list, tuple, dict, set, np.ndarray, Adjustable)


def may_change(value: object) -> bool:
    """Return True for what may change, or hold something that does, without an attribute being assigned."""
    return isinstance(value, _MAY_CHANGE)


def is_constant(array: np.ndarray[Any, Any]) -> bool:
    """Return True for an array that is read-only, and no view of another one."""
    return not array.flags.writeable and array.base is None


def ids_in(container: Any) -> Iterator[int]:
    """Return numbers that stay the same as long as a container holds the same objects, and these live."""
    return map(id, chain(container, container.values()) if isinstance(container, dict) else container)


def kept(container: Any, gone: Callable[[Any], None]) -> list[Any]:
    """Return what must be kept so that `ids_in` says something: weak references where possible, which call ``gone``."""
    entries = [*container, *container.values()] if isinstance(container, dict) else container
    return [_weakly(entry, gone) for entry in entries]


def _weakly(value: object, gone: Callable[[Any], None]) -> Any:
    try:
        return weakref.ref(value, gone)
    except TypeError:
        return value
