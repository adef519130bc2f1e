"""Prints: what a compiled function depends on besides values of Variables, such that it can be compared later."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from graftax.variables.graph.config_objects import Look, is_config
from graftax.variables.graph.containers import (
    MAY_CHANGE,
    elements_of,
    frame_of,
    is_container,
    is_mapping,
    is_small_array,
    kind_of_array,
    size_of,
)
from graftax.variables.graph.structure import Adjustable, settings_of, watch

Print: TypeAlias = "Same | tuple[str, Any]"


class Same:
    """An object compared by identity, and not kept alive where that can be avoided.

    A bare ``id`` would not do: once the object is gone, another one may get its number.
    """

    __slots__ = ("find",)

    def __init__(self, value: object) -> None:
        try:
            self.find: Callable[[], Any] = weakref.ref(value)
            """Returns the object; None once it is gone."""
        except TypeError:
            self.find = lambda: value

    def is_it(self, value: object) -> bool:
        """Return True if ``value`` is that object."""
        return self.find() is value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and (found := self.find()) is not None and other.is_it(found)

    __hash__ = None  # type: ignore[assignment]


class OfObject:
    """The attributes of an object, which one it is, and of which class.

    Args:
        value: The object.
        attributes: What is compared of it.
    """

    __slots__ = ("_itself", "_kind", "attributes")

    def __init__(self, value: object, attributes: dict[str, Print]) -> None:
        self._itself, self._kind = Same(value), Same(type(value))
        self.attributes = attributes

    def is_same_object(self, other: OfObject) -> bool:
        """Return True for prints of one object, of the same class."""
        return self._itself == other._itself and self._kind == other._kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OfObject) and self.is_same_object(other) and self.attributes == other.attributes

    __hash__ = None  # type: ignore[assignment]


class Difference(NamedTuple):
    """Where something is not as it was: an attribute, one of the object in that, and so on; and both prints."""

    way: tuple[str, ...]
    before: Print | None
    after: Print | None


def differences(before: dict[str, Print], after: dict[str, Print]) -> Iterator[Difference]:
    """Yield what is different between two prints of the same attributes; None stands for one that is absent."""
    for name in {**before, **after}:
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        one, other = (found[1] if isinstance(found, tuple) else None for found in (old, new))
        if isinstance(one, OfObject) and isinstance(other, OfObject) and one.is_same_object(other):
            for inside in differences(one.attributes, other.attributes):
                yield inside._replace(way=(name, *inside.way))
        else:
            yield Difference((name,), old, new)


_SCALARS = (str, bytes, bool, int, float, complex, type(None))
_DEEPEST = 32
_OBJECT = 8  # levels that an object with settings counts for: a few of them inside of each other


def is_plain(value: object) -> bool:
    """Return True for what is compared by type and value: numbers, strings, None."""
    return isinstance(value, _SCALARS)


def comparison_key(value: object) -> Hashable:
    """Return what is equal for equal plain values of one type: 0.0 and -0.0 are two, and a nan is always the same."""
    return repr(value) if isinstance(value, float | complex) else value


def print_of(value: object, depth: int = 0, look: Look | None = None, in_config: bool = False) -> Print:
    """Return how a value is now: scalars by value and type, what changes in place by content, the rest by identity.

    Args:
        value: Anything.
        depth: How deep it lies in what is looked at.
        look: What that look has met. Defaults to nothing.
        in_config: Whether it lies in a config object.
    """
    if is_plain(value):
        return type(value).__name__, comparison_key(value)
    # by content what changes without an attribute being assigned; deeper down, and for the rest, the object itself
    if depth < _DEEPEST:
        if is_container(value):
            look = look or Look()
            if in_config and not look.has_room(size_of(value)):
                return Same(value)
            return type(value).__name__, _entries(value, depth, look, in_config)
        if is_small_array(value):
            return type(value).__name__, (*kind_of_array(value), bytes_of(value)())
        if isinstance(value, Adjustable):
            watch(value)
            return type(value).__name__, OfObject(value, _prints(settings_of(value), depth, look or Look(), in_config))
        if is_config(value):
            look = look or Look()
            if (found := look.enter(value)) is not None:
                return type(value).__name__, OfObject(value, _prints(found, depth, look, True))
    return Same(value)


def _entries(value: Any, depth: int, look: Look, in_config: bool) -> tuple[Any, ...]:
    if isinstance(value, set):
        return _members(value)
    if is_mapping(value):
        return tuple((_key(key), print_of(one, depth + 1, look, in_config)) for key, one in list(value.items()))
    return (*frame_of(value), *(print_of(one, depth + 1, look, in_config) for one in elements_of(value)))


def _prints(attributes: dict[str, Any], depth: int, look: Look, in_config: bool) -> dict[str, Print]:
    return {name: print_of(one, depth + _OBJECT, look, in_config) for name, one in list(attributes.items())}


def bytes_of(array: Any) -> Callable[[], bytes]:
    """Return what gives the content of a small array, as it is whenever it is called."""
    return partial(bytes, array) if isinstance(array, bytearray) else array.tobytes


def _key(key: Hashable) -> Hashable:
    return (type(key), comparison_key(key)) if is_plain(key) else key  # 1, 1.0 and True are equal


def _members(value: set[Any]) -> tuple[Any, ...]:
    plain = frozenset(map(_key, filter(is_plain, value)))
    return plain, *(Same(one) for one in sorted((one for one in value if not is_plain(one)), key=id))


def mutable_parts(value: object, depth: int = 0, look: Look | None = None, in_config: bool = False) -> Iterator[Any]:
    """Yield what may change in place without a word in a value, itself included.

    These are lists, dicts and other containers, small arrays and config objects. The arguments are those of `print_of`.
    """
    look = look or Look()
    inside: Iterable[Any] = ()
    deeper = 1
    if is_container(value):
        if in_config and not look.has_room(size_of(value)):
            return
        if not isinstance(value, set):
            inside = elements_of(value)
        if not isinstance(value, _FIXED):
            yield value
    elif is_small_array(value):
        if not _is_constant(value):
            yield value
    elif isinstance(value, Adjustable):
        inside, deeper = settings_of(value).values(), _OBJECT
    elif depth < _DEEPEST and is_config(value) and (found := look.enter(value)) is not None:
        yield value
        inside, deeper, in_config = found.values(), _OBJECT, True
    if depth < _DEEPEST:
        for entry in inside:
            if may_change(entry):
                yield from mutable_parts(entry, depth + deeper, look, in_config)


_FIXED = (tuple, partial)
_MAY_CHANGE = (Adjustable, *MAY_CHANGE)


def may_change(value: object) -> bool:
    """Return True for what may change, or hold something that does, without an attribute being assigned."""
    return isinstance(value, _MAY_CHANGE) or is_config(value)


def _is_constant(array: object) -> bool:
    """Return True for an array that is read-only, and no view of another one."""
    return isinstance(array, np.ndarray) and not array.flags.writeable and array.base is None


def ids_in(container: Any) -> Iterator[int]:
    """Return numbers that stay the same as long as a container holds the same objects, and these live."""
    if is_mapping(container):
        return map(id, chain(container, container.values()))
    return map(id, container.flat if isinstance(container, np.ndarray) else container)


def weak_references(container: Any, on_end: Callable[[Any], None]) -> list[Any]:
    """Return references that keep the ids of `ids_in` valid: weak ones if possible, which call ``on_end``."""
    if is_mapping(container):
        entries: Iterable[Any] = [*container, *container.values()]
    else:
        entries = container.flat if isinstance(container, np.ndarray) else container
    return [_weakly(entry, on_end) for entry in entries]


def _weakly(value: object, on_end: Callable[[Any], None]) -> Any:
    try:
        return weakref.ref(value, on_end)
    except TypeError:
        return value
