"""What a compiled function depends on besides values: plain attributes and containers, compared with how they were."""

from __future__ import annotations

import weakref
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


def print_of(value: Any, depth: int = 0) -> Print:
    """How a value is now: scalars by type and value, containers by their content, anything else by identity."""
    if isinstance(value, _SCALARS):
        return type(value).__name__, value
    if depth < _DEEPEST:
        if isinstance(value, list | tuple):
            return type(value).__name__, tuple(print_of(element, depth + 1) for element in value)
        if isinstance(value, dict):
            return type(value).__name__, tuple((key, print_of(element, depth + 1)) for key, element in value.items())
    return Same(value)


def unchanged(value: Any, before: Print) -> bool:
    """True if `print_of` the value would be ``before``; quicker than making it."""
    if isinstance(before, Same):
        return before.is_it(value)
    kind, content = before
    if type(value).__name__ != kind:
        return False
    if isinstance(value, list | tuple):
        return len(value) == len(content) and all(map(unchanged, value, content))
    if isinstance(value, dict):
        return len(value) == len(content) and all(
            key == known and unchanged(element, part)
            for (key, element), (known, part) in zip(value.items(), content, strict=True)
        )
    return bool(value == content)
