"""Containers: what Python puts other things in, and whose content compiled code follows."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Hashable, Iterable
from functools import partial
from types import MappingProxyType
from typing import Any, TypeGuard

import numpy as np

LONG = 1000
"""Entries beyond which a container of plain values is compared only when something else has changed, too."""

COMPARED_BYTES = 2**16
"""The size up to which an array is compared by its content, at each call."""

_ALWAYS = (list, tuple, dict, set)
_SHORT = (deque, MappingProxyType)
_MAPPINGS = (dict, MappingProxyType)

MAY_CHANGE = (*_ALWAYS, *_SHORT, partial, np.ndarray, bytearray, array)
"""Classes of what may change in place, or hold something that does."""


def is_container(value: object) -> TypeGuard[Any]:
    """Return True for a container whose content is compared; a deque, a view or an array of objects is if it is short.

    Example:
        >>> from collections import deque
        >>> is_container([1]), is_container(deque([1])), is_container(deque(range(2000)))
        (True, True, False)
    """
    if isinstance(value, _ALWAYS):
        return True
    if isinstance(value, _SHORT):
        return len(value) <= LONG
    return isinstance(value, partial) or (isinstance(value, np.ndarray) and _is_of_objects(value))


def _is_of_objects(value: np.ndarray[Any, Any]) -> bool:
    return value.dtype == object and value.size <= LONG


def is_mapping(container: object) -> TypeGuard[dict[Any, Any]]:
    """Return True for a dict, and for a view of one that cannot be written."""
    return isinstance(container, _MAPPINGS)


def elements_of(container: Any) -> Iterable[Any]:
    """Return what is in a container, without the keys, as it is now: no later change touches what is returned."""
    if is_mapping(container):
        return list(container.values())
    if isinstance(container, partial):
        return container.func, container.args, container.keywords
    return list(container.flat if isinstance(container, np.ndarray) else container)


def size_of(container: Any) -> int:
    """Return how many entries a container has."""
    if isinstance(container, partial):
        return 2 + len(container.keywords)
    return container.size if isinstance(container, np.ndarray) else len(container)


def frame_of(container: Any) -> tuple[Hashable, ...]:
    """Return what a container is besides its content: the shape of an array, how long a deque may become."""
    if isinstance(container, np.ndarray):
        return (container.shape,)
    return (container.maxlen,) if isinstance(container, deque) else ()


def is_small_array(value: object) -> TypeGuard[np.ndarray[Any, Any] | bytearray | array[Any]]:
    """Return True for an array of numbers that is compared by its content: of NumPy, or of Python's library."""
    if isinstance(value, np.ndarray):
        return value.nbytes <= COMPARED_BYTES and not value.dtype.hasobject
    if isinstance(value, bytearray):
        return len(value) <= COMPARED_BYTES
    return isinstance(value, array) and len(value) * value.itemsize <= COMPARED_BYTES


def kind_of_array(value: np.ndarray[Any, Any] | bytearray | array[Any]) -> tuple[Hashable, ...]:
    """Return what an array of numbers is besides its content."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape
    return () if isinstance(value, bytearray) else (value.typecode,)
