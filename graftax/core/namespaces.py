"""What a package offers, and its `__getattr__`: names that it has not are answered by `graftax.core.missing_names`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graftax.core.later import import_later

if TYPE_CHECKING:
    from graftax.core import missing_names
    from graftax.core.known_names import ForeignNames
else:
    missing_names = import_later("graftax.core.missing_names")


def make_getattr(space: str, foreign: ForeignNames | None = None) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a namespace.

    Args:
        space: Its name in `graftax`, empty for that itself.
        foreign: Names that other libraries have for what would be found here. Defaults to None, no names.
    """

    def answer(name: str) -> Any:
        if name.startswith("_"):  # what tools ask of any module
            title = ".".join(filter(None, ("graftax", space)))
            raise AttributeError(f"module {title!r} has no attribute {name!r}", name=name)
        raise missing_names.explain_missing(space, name, foreign)

    return answer


def names_in(module: dict[str, Any], *modules: str) -> list[str]:
    """Return the public names that a package imported: its ``__all__``, which so repeats none of them.

    Args:
        module: The variables of the package.
        modules: Names of modules that are public, too; the others are attributes only because something imported them.

    Example:
        >>> names_in({"Dense": int, "inspect": inspect, "_hidden": int})
        ['Dense']
    """
    return sorted(
        name
        for name, found in module.items()
        if not name.startswith("_") and (name in modules or not inspect.ismodule(found))
    )
