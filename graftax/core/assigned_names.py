"""The attributes that classes of this package assign themselves, beside those of a subclass from elsewhere."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from types import CodeType
from typing import Any


def is_ours(kind: type[Any]) -> bool:
    """Tell whether a class is one of this package.

    Example:
        >>> is_ours(int)
        False
    """
    return kind.__module__.startswith("graftax.")


@cache
def assigned_by_ours(kind: type[Any]) -> frozenset[str]:
    """Return the names of attributes that methods of this package, those that a class inherits, assign to ``self``.

    Example:
        >>> import graftax as gx
        >>> class Mine(gx.callbacks.EarlyStopping):
        ...     def on_train_begin(self, logs=None):
        ...         self.seen = 0
        >>> found = assigned_by_ours(Mine)
        >>> "patience" in found, "seen" in found
        (True, False)
    """
    found: set[str] = set()
    for base in kind.__mro__:
        for value in vars(base).values() if is_ours(base) else ():
            code = getattr(inspect.unwrap(value) if callable(value) else value, "__code__", None)
            if isinstance(code, CodeType) and code.co_argcount:
                found.update(_assigned_to(code.co_varnames[0], code))
    return frozenset(found)


def _assigned_to(name: str, code: CodeType) -> Iterator[str]:
    """Yield the attributes of a local variable that some code assigns, and not those of what it holds."""
    for before, one in pairwise(dis.get_instructions(code)):
        loaded = before.argval if isinstance(before.argval, tuple) else (before.argval,)  # two at once, or one
        if one.opname == "STORE_ATTR" and loaded[-1:] == (name,):
            yield one.argval
