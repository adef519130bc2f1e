"""The state of a callback that subclasses one of graftax: what that says, and the attributes that it adds."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from types import CodeType
from typing import Any

from graftax.training.hooks.callback import Callback
from graftax.training.hooks.plain_attributes import PlainAttributes
from graftax.variables.variable import Variable

_ADDED = "attributes of the subclass"


def adds_attributes(callback: object) -> bool:
    """Tell whether a callback may remember more than the class of graftax that says its state.

    Example:
        >>> import graftax as gx
        >>> class Notes(gx.callbacks.EarlyStopping):
        ...     __module__ = "program"
        >>> adds_attributes(Notes()), adds_attributes(gx.callbacks.EarlyStopping())
        (True, False)
    """
    kind = type(callback)
    if not isinstance(callback, Callback) or _is_ours(kind):
        return False
    says = next(base for base in kind.__mro__ if "get_state" in vars(base))
    return _is_ours(says) and any(_is_ours(base) for base in kind.__mro__ if base not in Callback.__mro__)


class OwnAttributes:
    """What a built-in callback says of its state, together with the plain attributes that a subclass of it adds.

    Args:
        callback: The callback, after its ``on_train_begin``.
        saved: As `PlainAttributes` takes it. Defaults to None.

    Example:
        >>> import graftax as gx
        >>> class Notes(gx.callbacks.EarlyStopping):
        ...     seen = 0
        >>> before, after = Notes(patience=3), Notes(patience=5)
        >>> state = OwnAttributes(before)
        >>> before.seen, before.wait = 7, 2
        >>> OwnAttributes(after).set_state(state.get_state())
        >>> after.seen, after.wait, after.patience
        (7, 2, 5)
    """

    def __init__(self, callback: Callback, saved: Callable[[], Iterable[Variable]] | None = None) -> None:
        self.callback = callback
        self._added = PlainAttributes(callback, _assigned_by_ours(type(callback)), saved)

    def get_state(self) -> Any:
        """Return the state of the built-in callback, with that of the subclass if there is one."""
        said, added = self.callback.get_state(), self._added.get_state()
        return said if added is None else {"state": said, _ADDED: added}

    def set_state(self, state: object) -> None:
        """Give both their own."""
        said = state
        if isinstance(state, Mapping) and _ADDED in state:
            said = state["state"]
            self._added.set_state(state[_ADDED])
        if said is not None:
            self.callback.set_state(said)


def _is_ours(kind: type[Any]) -> bool:
    return kind.__module__.startswith("graftax.")


def _assigned_by_ours(kind: type[Any]) -> frozenset[str]:
    """Return the names of attributes that methods of graftax assign: their state is what `get_state` says."""
    found: set[str] = set()
    for base in kind.__mro__:
        for value in vars(base).values() if _is_ours(base) else ():
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
