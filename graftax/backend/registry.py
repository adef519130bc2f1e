"""Which backend is in charge: names to lazy factories, one default, scopes on top. Nothing is imported early."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from graftax.backend.protocol import Backend
from graftax.core import libraries
from graftax.core.errors import BackendError
from graftax.core.scopes import ScopeStack, register_sign

_BUILT_IN = {"jax": "graftax.backend.jax.backend", "numpy": "graftax.backend.numpy.backend"}
_GROUP = "graftax.backends"

_loaded: dict[str, Backend] = {}
_default: list[str] = []  # the one global choice; empty until made
_scope: ScopeStack[Backend] = ScopeStack("backend")
register_sign(_scope.read)
register_sign(_default.copy)


def available() -> list[str]:
    """Return names that `use` takes: built-in ones, and those that packages register as ``graftax.backends``."""
    return [*_BUILT_IN, *(e.name for e in entry_points(group=_GROUP) if e.name not in _BUILT_IN)]


def load(name: str) -> Backend:
    """Return the backend of that name, imported on first use.

    Raises:
        BackendError: there is none of that name, or its package is not installed.
    """
    if name not in _loaded:
        backend = _factory(name)()
        libraries.add(backend)
        _loaded[name] = backend
    return _loaded[name]


def backends_with(group: str) -> list[str]:
    """Return the names of the backends that have a group, of those that can be imported."""
    found = []
    for name in available():
        with suppress(Exception):  # the package of somebody else is broken: it offers nothing now
            if load(name).has(group):
                found.append(name)
    return found


def _factory(name: str) -> Callable[[], Backend]:
    if name in _BUILT_IN:
        try:
            return cast(Callable[[], Backend], import_module(_BUILT_IN[name]).create)
        except ImportError as error:
            raise BackendError(
                f"the backend {name!r} cannot be imported: {error}",
                "its package is missing or broken",
                f"pip install {name}, or choose another: {', '.join(available())}",
            ) from error
    for entry in entry_points(group=_GROUP):
        if entry.name == name:
            return cast(Callable[[], Backend], entry.load())
    raise BackendError(
        f"no backend is called {name!r}",
        f"known are {', '.join(available())}",
        'graftax.backend.use("jax"), or set GRAFTAX_BACKEND',
    )


def current() -> Backend:
    """Return the backend in charge: the innermost scope, else the global choice, else ``GRAFTAX_BACKEND``, else jax."""
    scoped = _scope.read()
    if scoped:
        return scoped[-1]
    if not _default:
        name = os.environ.get("GRAFTAX_BACKEND", "jax")
        load(name)
        _default.append(name)
    return _loaded[_default[0]]


class _Use:
    """What `use` returns: the choice is made already; as a ``with`` block it is undone at the end."""

    def __init__(self, name: str) -> None:
        self._before = list(_default)
        self._backend = load(name)
        _default[:] = [name]

    def __enter__(self) -> Backend:
        _default[:] = self._before
        self._scope = _scope.entered(self._backend)
        self._scope.__enter__()
        return self._backend

    def __exit__(self, *failure: object) -> None:
        self._scope.__exit__(None, None, None)


def use(name: str) -> _Use:
    """Choose a backend: for good as a plain call, or for a block (and this thread) in a ``with`` statement.

    Args:
        name: ``"jax"``, ``"numpy"`` or a name that an installed package registers.

    Raises:
        BackendError: there is no such backend.

    Example:
        >>> with use("numpy") as backend:
        ...     current().name
        'numpy'
    """
    return _Use(name)


@contextmanager
def scope(backend: Backend) -> Iterator[Backend]:
    """Put a backend object in charge for a block; for backends that are not registered, as in tests."""
    new = libraries.add(backend)
    try:
        with _scope.entered(backend):
            yield backend
    finally:
        if new:
            libraries.remove(backend)
