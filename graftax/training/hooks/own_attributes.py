"""The state of a callback that subclasses one of graftax: what that says, and the attributes that it adds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from graftax.core.assigned_names import assigned_by_ours
from graftax.core.descriptors import is_ours
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
    if not isinstance(callback, Callback) or is_ours(kind):
        return False
    says = next(base for base in kind.__mro__ if "get_state" in vars(base))
    return is_ours(says) and any(is_ours(base) for base in kind.__mro__ if base not in Callback.__mro__)


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
        self._added = PlainAttributes(callback, assigned_by_ours(type(callback)), saved)

    def get_state(self) -> Any:
        """Return the state of the built-in callback, with that of the subclass if there is one."""
        said, added = self.callback.get_state(), self._added.get_state()
        return said if added is None else {"state": said, _ADDED: added}

    def warn_before_saving(self, state: object) -> None:
        """Warn of what the subclass adds, as `PlainAttributes` does of its own."""
        if isinstance(state, Mapping) and _ADDED in state:
            self._added.warn_before_saving(state[_ADDED])

    def set_state(self, state: object, tells: bool = True) -> None:
        """Give both their own; ``tells`` as `PlainAttributes` takes it."""
        said = state
        if isinstance(state, Mapping) and _ADDED in state:
            said = state["state"]
            self._added.set_state(state[_ADDED], tells)
        if said is not None:
            self.callback.set_state(said)


def warn_before_saving(callbacks: Iterable[tuple[str, int, object]], states: Iterable[Sequence[Any]]) -> None:
    """Warn of attributes of callbacks that a checkpoint with these states lacks.

    Args:
        callbacks: The class of each, which one of that class it is, and what tells its state.
        states: Each with the class, the state, and which one of that class it is of.
    """
    tellers = {(name, which): teller for name, which, teller in callbacks}
    for name, state, which, *_ in states:
        teller = tellers.get((name, which))
        if isinstance(teller, PlainAttributes | OwnAttributes):
            teller.warn_before_saving(state)
