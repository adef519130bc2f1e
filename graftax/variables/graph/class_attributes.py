"""What the classes of users give their Modules: plain attributes of a class, which all its objects read."""

from __future__ import annotations

import sys
from typing import Any

from graftax.core import libraries

_OF_THE_GRAPH = frozenset({"untracked", "checkpoint_aliases", "_abc_impl"})


def given_by_class(kind: type[Any]) -> dict[str, Any]:
    """Return the attributes of a class and of its bases, as they are now, but for methods, properties and the like.

    Classes of graftax, of the libraries below it and of Python never change, and give nothing.

    Example:
        >>> class Net:
        ...     rate = 0.5
        ...
        ...     def call(self): ...
        >>> Net.__module__ = "train"
        >>> given_by_class(Net)
        {'rate': 0.5}
    """
    found: dict[str, Any] = {}
    for base in reversed(_of_users[kind]):
        for name, value in list(vars(base).items()):
            if name.startswith(("__", "_gx_")) or name in _OF_THE_GRAPH:
                continue
            if hasattr(type(value), "__get__"):  # and hides what a base has under that name
                found.pop(name, None)
            else:
                found[name] = value
    return found


def is_of_user(kind: type[Any]) -> bool:
    """Return True for a class that is not of graftax, a library below it, or Python."""
    return kind in _of_users[kind]


def bases_of_user(kind: type[Any]) -> tuple[type[Any], ...]:
    """Return those among a class and its bases that are not of graftax, a library below it, or Python."""
    return _of_users[kind]


def in_class(kind: type[Any], name: str) -> object:
    """Return what a class or its bases keep under a name, such as a property; None if there is nothing."""
    for base in kind.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


class _OfUsers(dict[type[Any], tuple[type[Any], ...]]):
    """For each class those among its bases, and itself, that are not of graftax, a library below it, or Python."""

    def __missing__(self, kind: type[Any]) -> tuple[type[Any], ...]:
        others = _LIBRARIES | libraries.names()
        self[kind] = tuple(
            base for base in kind.__mro__ if base.__module__.partition(".")[0] not in others or _is_nameless(base)
        )
        return self[kind]


def _is_nameless(kind: type[Any]) -> bool:
    """Return True for a class made by code that has no ``__name__``, so that it seems to be one of Python itself."""
    return bool(vars(kind).get("__module__") == "builtins")  # which classes of Python do not keep there


_of_users = _OfUsers()
_LIBRARIES = frozenset(sys.stdlib_module_names)
