"""What a namespace of graftax answers to a name that it has not: the one that was meant, wherever that is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from typing import Any

from graftax.core.errors import MissingAttributeError
from graftax.core.foreign_names import NAMES
from graftax.core.known_names import ForeignNames, closest, squash

SPACES = (
    "layers", "activations", "losses", "metrics", "optimizers", "optimizers.schedules", "initializers", "regularizers",
    "constraints", "callbacks", "data", "summary", "training", "reparam", "adapters", "random", "backend", "export",
    "ops", "generation", "distribution",
)  # fmt: skip
_MANY = 60


def explain_missing(space: str, name: str, foreign: ForeignNames | None = None) -> AttributeError:
    """Return what a namespace raises for a name that it has not: of a module that is being imported, the plain error.

    Args:
        space: Its name in `graftax`, empty for that itself.
        name: The name.
        foreign: Names that other libraries have for what would be found here. Defaults to None, no names.
    """
    if _is_submodule(space, name) and closest(name, public_names(space)) is None:  # the import of it asks, too
        return AttributeError(f"module {_title(space)!r} has no attribute {name!r}", name=name)
    return missing_name_error(space, name, foreign)


def _is_submodule(space: str, name: str) -> bool:
    module = _module(space)
    path = vars(module).get("__path__")
    return bool(path) and PathFinder.find_spec(f"{module.__name__}.{name}", path) is not None


def missing_name_error(space: str, name: str, foreign: ForeignNames | None = None) -> MissingAttributeError:
    """Return the error for a name that a namespace has not."""
    answer = (foreign or {}).get(squash(name)) if f"{space}.{name}" not in NAMES else None
    return MissingAttributeError(f"{_title(space)} has no {name!r}", *(answer or _answer(space, name)))


@cache  # some programs ask for names that are not there again and again
def _answer(space: str, name: str) -> tuple[str, str]:
    """Return what the namespace has, and the line to write."""
    title = _title(space)
    names = list(public_names(space))
    there = f"it has {', '.join(names)}" if len(names) <= _MANY else f"dir({title}) lists what it has"
    line = NAMES.get(f"{space}.{name}") or NAMES.get(name)
    if line is None:
        near, exact = closest(name, names), _find_elsewhere(space, lambda own: name in own and name)
        here = f"{title}.{near}" if near else ""
        first, second = (here, exact) if space else (exact, here)  # near `Metric` in graftax is the module `metrics`
        line = first or second or _find_elsewhere(space, lambda own: closest(name, own)) or f"dir({title})"
    return there, line


def public_names(space: str) -> Iterator[str]:
    """Yield the names that a namespace offers."""
    module = _module(space)
    home = module.__name__ if module.__file__ and "__init__" in module.__file__ else module.__name__.rpartition(".")[0]
    for name in getattr(module, "__all__", None) or list(vars(module)):
        if not name.startswith("_") and (hasattr(module, "__all__") or _is_own(getattr(module, name), home)):
            yield name


def _is_own(value: object, home: str) -> bool:
    return (inspect.isclass(value) or inspect.isfunction(value)) and value.__module__.startswith(home)


def _find_elsewhere(space: str, fits: Callable[[list[str]], str | bool | None]) -> str:
    """Return where another namespace has a name that fits."""
    for other in ("", *SPACES):
        if other != space and (near := fits(list(public_names(other)))):
            return f"{_title(other)}.{near}"
    return ""


def _module(space: str) -> Any:
    module: Any = import_module("graftax")
    for part in filter(None, space.split(".")):
        module = getattr(module, part)
    return module


def _title(space: str) -> str:
    return ".".join(filter(None, ("graftax", space)))
