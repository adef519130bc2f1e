"""The attributes that classes of this package assign themselves, beside those of a subclass from elsewhere."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterator
from itertools import pairwise
from types import CodeType
from typing import Any

from graftax.core.descriptors import is_ours

_known: dict[type[Any], frozenset[str]] = {}  # what reads code takes milliseconds


def assigned_by_ours(kind: type[Any]) -> frozenset[str]:
    """Return the names of attributes that methods of this package, those that a class inherits, assign to ``self``.

    Example:
        >>> import graftax as gx
        >>> class Mine(gx.callbacks.EarlyStopping):
        ...     __module__ = "program"
        ...
        ...     def on_train_begin(self, logs=None):
        ...         self.seen = 0
        >>> found = assigned_by_ours(Mine)
        >>> "patience" in found, "seen" in found
        (True, False)
    """
    if kind not in _known:
        _known[kind] = frozenset(name for base in kind.__mro__ if is_ours(base) for name in _names_assigned_in(base))
    return _known[kind]


def _names_assigned_in(kind: type[Any]) -> Iterator[str]:
    for value in vars(kind).values():
        code = getattr(inspect.unwrap(value) if callable(value) else value, "__code__", None)
        if isinstance(code, CodeType) and code.co_argcount:
            yield from _names_assigned_to(code.co_varnames[0], code)


def _names_assigned_to(name: str, code: CodeType) -> Iterator[str]:
    """Yield the attributes of a local variable that some code assigns, and not those of what it holds."""
    for before, one in pairwise(dis.get_instructions(code)):
        loaded = before.argval if isinstance(before.argval, tuple) else (before.argval,)  # two at once, or one
        if one.opname == "STORE_ATTR" and loaded[-1:] == (name,):
            yield one.argval
