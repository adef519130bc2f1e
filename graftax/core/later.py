"""Modules that few runs need: they explain an error or a missing name, or draw what `print` shows.

A file imports such a module for type checkers and editors like any other. The program imports it when something of it
is first used::

    if TYPE_CHECKING:
        from graftax.core import misbound
    else:
        misbound = import_later("graftax.core.misbound")

`LATER` in `tests/architecture/plan.py` lists them, with the reason of each. All else is imported at the top.
`CONTRIBUTING.md` says which modules may wait, and which tests look at them.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


class _Later(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked of anything, by `inspect` and `doctest`: no reason to import
            raise AttributeError(name)
        return getattr(import_module(self.__name__), name)


def import_later(name: str) -> ModuleType:
    """Return what stands for a module, which is imported when it is first asked for something.

    Example:
        >>> import_later("graftax.core.known_names").closest("Rellu", ["elu", "relu"])
        'relu'
    """
    return _Later(name)
