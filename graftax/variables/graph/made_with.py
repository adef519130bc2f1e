"""MadeWith: what a constructor was given, kept so that another object like it can be made."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from graftax.core.keywords import Constructed
from graftax.variables.graph.node import Node

_UNCHANGING = frozenset({type(None), bool, int, float, complex, str, bytes})
_SMALL = 1 << 14  # bytes
_DEEPEST = 3
_KEPT = (type(None), bool, int, float, complex, str, bytes, np.ndarray, np.generic, Node, Constructed, type)


class MadeWith:
    """Arguments of a constructor.

    They never stand in the way of a copy: what cannot be copied or pickled, and is no attribute, is left behind.

    Args:
        args: Those by position.
        kwargs: Those by name.
        known: Whether these are all. Defaults to True.
    """

    __slots__ = ("args", "known", "kwargs")

    def __init__(self, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None, is_known: bool = True) -> None:
        self.args = args if _UNCHANGING.issuperset(map(type, args)) else tuple(map(_own, args))
        self.kwargs = {name: _own(value) for name, value in kwargs.items()} if kwargs else {}
        self.known = is_known

    def __deepcopy__(self, memo: dict[int, Any]) -> MadeWith:
        try:
            return MadeWith(*copy.deepcopy((self.args, self.kwargs), memo), self.known)
        except Exception:  # noqa: BLE001 - a file, a generator: the object itself has made something of it
            return MadeWith(is_known=False)

    def __reduce__(self) -> tuple[Any, ...]:
        if not _can_be_kept([*self.args, *self.kwargs.values()]):
            return MadeWith, ((), None, False)
        return MadeWith, (self.args, self.kwargs, self.known)


def _own(value: Any, depth: int = 0) -> Any:
    """Return a copy of what the caller may change: lists and dicts, and arrays that are no large data."""
    if depth > _DEEPEST:  # it may hold itself
        return value
    if type(value) is list or type(value) is tuple:
        return type(value)(_own(one, depth + 1) for one in value)
    if type(value) is dict:
        return {name: _own(one, depth + 1) for name, one in value.items()}
    return value.copy() if type(value) is np.ndarray and value.nbytes <= _SMALL else value


def _can_be_kept(value: Any) -> bool:
    if isinstance(value, list | tuple | dict):
        return all(map(_can_be_kept, value.values() if isinstance(value, dict) else value))
    return isinstance(value, _KEPT)
