"""MadeWith: what a constructor was given, kept so that another object like it can be made."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from graftax.core.keywords import Constructed
from graftax.variables.graph.node import Node

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
        self.args, self.kwargs, self.known = args, kwargs or {}, is_known

    def __deepcopy__(self, memo: dict[int, Any]) -> MadeWith:
        try:
            return MadeWith(*copy.deepcopy((self.args, self.kwargs), memo), self.known)
        except Exception:  # noqa: BLE001 - a file, a generator: the object itself has made something of it
            return MadeWith(is_known=False)

    def __reduce__(self) -> tuple[Any, ...]:
        if not _can_be_kept([*self.args, *self.kwargs.values()]):
            return MadeWith, ((), None, False)
        return MadeWith, (self.args, self.kwargs, self.known)


def _can_be_kept(value: Any) -> bool:
    if isinstance(value, list | tuple | dict):
        return all(map(_can_be_kept, value.values() if isinstance(value, dict) else value))
    return isinstance(value, _KEPT)
