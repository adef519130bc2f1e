"""Dicts and lists that the user gave to `compile` and `fit`: models have copies, and a change that nobody sees is told.

Several models may be compiled with one of them, and a run computes with what it was given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graftax.core import tree, user_line
from graftax.core.errors import GraftaxError


def own_factors(weights: Mapping[str, Any] | Sequence[Any] | None) -> Any:
    """Return a dict or list of the factors that `compile` was given, for one model alone."""
    if isinstance(weights, Mapping):
        return dict(weights)
    return None if weights is None else list(weights)


class GivenArgument:
    """A dict or list that was given as an argument, and what was in it then.

    Args:
        method: What it was given to.
        name: The name of the argument.
        given: The value; nothing is told of others than dicts and lists.
        instead: What to write for a change; ``{key!r}`` and ``{value!r}`` are the first key, or place, that has another
            value now, and this value.

    Example:
        >>> import warnings
        >>> weights = {0: 1.0, 1: 5.0}
        >>> given = GivenArgument("fit", "class_weight", weights, "fit(..., class_weight=...) after this fit")
        >>> weights[1] = 2.0
        >>> with warnings.catch_warnings(record=True) as told:
        ...     warnings.simplefilter("always")
        ...     given.warn_if_changed()
        ...     given.warn_if_changed()
        >>> len(told), "1 was 5.0 and is 2.0" in str(told[0].message)
        (1, True)
    """

    def __init__(self, method: str, name: str, given: object, instead: str) -> None:
        self._method, self._name, self._instead = method, name, instead
        self._given: Any = given if isinstance(given, dict | list) else None
        self._before = _parts(self._given)

    def note(self) -> None:
        """Take what is in it now as what was given: it may have been changed for other models."""
        self._before = _parts(self._given)

    def warn_if_changed(self) -> None:
        """Warn, once, if there is something else in it than when it was given."""
        given = self._given
        if given is None:
            return
        now, then = _parts(given), self._before
        if len(now) == len(then) and all(key in now and now[key] is value for key, value in then.items()):
            return
        changed = next((key for key in {**then, **now} if not _same(now.get(key), then.get(key))), None)
        if changed is None:
            return
        self._given = None
        self._before = {}
        was, value = then.get(changed), now.get(changed)
        user_line.warn(
            f"The {type(given).__name__} that {self._method} was given as {self._name} has changed since then: "
            f"{changed!r} was {was!r:.60} and is {value!r:.60}. It has no effect on what was given before: there is a "
            f"copy. Instead: {self._instead.format(key=changed, value=value)}"
        )


def _parts(given: Any) -> dict[Any, Any]:
    """Return what is in a container, and in those in it, by key, place or path."""
    if isinstance(given, dict) and not any(isinstance(part, dict | list | tuple) for part in given.values()):
        return dict(given)
    if isinstance(given, list) and not any(isinstance(part, dict | list | tuple) for part in given):
        return dict(enumerate(given))
    try:
        return dict(tree.flatten_with_paths(given)) if given is not None else {}
    except GraftaxError:
        return {}


def _same(one: object, other: object) -> bool:
    return one is other or (isinstance(one, int | float | str) and type(one) is type(other) and one == other)
