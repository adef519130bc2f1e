"""What a compiled function depends on besides values: plain attributes and containers, compared with how they were."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, TypeAlias

Print: TypeAlias = "Same | tuple[str, Any]"


class Structure:
    """A count of structural changes; a compiled function compares it to know whether to look closer."""

    def __init__(self) -> None:
        self.version = 0

    def bump(self) -> None:
        """Something that a trace may depend on has changed."""
        self.version += 1


structure = Structure()


class Same:
    """An object compared by identity, and not kept alive where that can be avoided.

    A bare ``id`` would not do: once the object is gone, another one may get its number.
    """

    __slots__ = ("_find",)

    def __init__(self, value: Any) -> None:
        try:
            self._find: Any = weakref.ref(value)
        except TypeError:
            self._find = lambda: value

    def is_it(self, value: Any) -> bool:
        """True if ``value`` is that object."""
        return self._find() is value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and (found := self._find()) is not None and other.is_it(found)

    __hash__ = None  # type: ignore[assignment]


_SCALARS = (str, bytes, bool, int, float, complex, type(None))
_DEEPEST = 32


def is_plain(value: Any) -> bool:
    """True for what is compared by type and value: numbers, strings, None."""
    return isinstance(value, _SCALARS)


def print_of(value: Any, depth: int = 0) -> Print:
    """How a value is now: scalars by type and value, containers by their content, anything else by identity."""
    if is_plain(value):
        return type(value).__name__, value
    if depth < _DEEPEST:
        if isinstance(value, list | tuple):
            return type(value).__name__, tuple(print_of(element, depth + 1) for element in value)
        if isinstance(value, dict):
            return type(value).__name__, tuple((key, print_of(element, depth + 1)) for key, element in value.items())
    return Same(value)


def containers_in(value: Any, depth: int = 0) -> Iterator[list[Any] | dict[Any, Any]]:
    """The lists and dicts in a value, itself included."""
    if isinstance(value, list | dict):
        yield value
    if isinstance(value, list | tuple | dict) and depth < _DEEPEST:
        for entry in value.values() if isinstance(value, dict) else value:
            if isinstance(entry, list | tuple | dict):
                yield from containers_in(entry, depth + 1)


def ids_in(container: Any) -> Iterator[int]:
    """Numbers that stay the same as long as a container holds the same objects, and these live."""
    return map(id, chain(container, container.values()) if isinstance(container, dict) else container)


def kept(container: Any, gone: Callable[[Any], None]) -> list[Any]:
    """What must be kept so that `ids_in` says something: weak references where possible, which call ``gone``."""
    entries = [*container, *container.values()] if isinstance(container, dict) else container
    return [_weakly(entry, gone) for entry in entries]


def _weakly(value: Any, gone: Callable[[Any], None]) -> Any:
    try:
        return weakref.ref(value, gone)
    except TypeError:
        return value
