"""Attributes of classes that act in a way of their own: one that gives way, and one that says what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from graftax.core.later import import_later

if TYPE_CHECKING:
    from graftax.core import attributes
else:
    attributes = import_later("graftax.core.attributes")

T = TypeVar("T")


class Fallback(Generic[T]):
    """What is computed unless the object has an attribute of that name: a property that assigning takes the place of.

    Example:
        >>> class Box:
        ...     size = Fallback(lambda self: 3)
        >>> box = Box()
        >>> before, box.size = box.size, 4
        >>> before, box.size
        (3, 4)
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Fallback[T]: ...
    @overload
    def __get__(self, instance: object, owner: type[Any]) -> T: ...
    def __get__(self, instance: object | None, owner: type[Any]) -> Fallback[T] | T:
        return self if instance is None else self._compute(instance)

    if TYPE_CHECKING:  # what is assigned lies in the object itself

        def __set__(self, instance: object, value: object) -> None: ...


class Absent:
    """An attribute that classes of other libraries have: looking it up, also by ``super()``, says what to write."""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        raise attributes.absent_error(owner, self._name)


def is_same_setting(value: object, other: object) -> bool:
    """Tell whether a setting that is assigned is the one that is there.

    Example:
        >>> is_same_setting((1, 2), (1, 2)), is_same_setting(1, True)
        (True, False)
    """
    plain = type(value) is type(other) and isinstance(value, int | float | str | tuple)
    return value is other or (plain and value == other)
