"""Names of classes and functions in files: public ones of graftax, and those that the user passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

from graftax.core.errors import ArgumentError, ArgumentTypeError
from graftax.core.known_names import closest
from graftax.core.ours import is_ours
from graftax.core.selectors import Selector

Custom: TypeAlias = "Mapping[str, Callable[..., Any]] | Iterable[Callable[..., Any]]"

_SPACES = {
    "layers": "graftax.layers",
    "activations": "graftax.layers.activations",
    "losses": "graftax.losses",
    "metrics": "graftax.metrics",
    "optimizers": "graftax.optimizers",
    "schedules": "graftax.optimizers.schedules",
    "initializers": "graftax.variables.initializers",
    "regularizers": "graftax.variables.regularizers",
    "constraints": "graftax.variables.constraints",
    "reparam": "graftax.reparam",
    "ops": "graftax.ops",
}
_ALONE = {"Model": "graftax.training.model", "Sequential": "graftax.training.sequential"}
_ALONE |= {"SeedGenerator": "graftax.variables.random"}
_ALONE |= {"is_adapter": "graftax.reparam.adapted"}
_CUSTOM = "custom."


def name_of(value: Any) -> str | None:
    """Return the name of a class or a function: a public one of graftax, else ``custom.`` and its own.

    None for a function without a usable name, such as a lambda.
    """
    name = getattr(value, "__name__", None)
    if not isinstance(name, str):
        return None
    ours = is_ours(value)
    if ours:
        for space in ("", *_SPACES):
            public = f"{space}.{name}" if space else name
            if _public_object(public) is value:
                return public
        return None
    return f"{_CUSTOM}{name}" if name.isidentifier() and "<locals>.<lambda>" not in value.__qualname__ else None


def is_public_selector(value: Selector) -> bool:
    """Tell whether a selector is one of graftax's own, such as ``gx.is_adapter``."""
    name = getattr(value, "__name__", None)
    return name in _ALONE and _public_object(name) is value


@cache
def _public_object(name: str) -> Any:
    """Return the object of a public name of graftax; None for any other text."""
    space, _, last = name.rpartition(".")
    if not last.isidentifier() or last.startswith("_"):
        return None
    if not space:
        return getattr(import_module(_ALONE[last]), last) if last in _ALONE else None
    if space not in _SPACES:
        return None
    module = import_module(_SPACES[space])
    return getattr(module, last) if last in dir(module) else None


def custom_by_name(custom: Custom) -> dict[str, Any]:
    """Return the classes and functions of the user, by name.

    Raises:
        ArgumentTypeError: one of them is not callable, or has no name.
    """
    if isinstance(custom, Mapping):
        found = dict(custom)
    else:
        found = {getattr(one, "__name__", ""): one for one in (custom if isinstance(custom, Iterable) else [custom])}
    for name, one in found.items():
        if not isinstance(name, str) or not name.isidentifier() or not callable(one):
            raise ArgumentTypeError(
                f"custom= has {name!r}: {one!r:.60}", "it has classes and functions", "custom=[MyLayer, my_activation]"
            )
    return found


def own_names(described: object) -> list[str]:
    """Return the names of all classes and functions that a description of a model has, and that are not graftax's."""
    names: dict[str, None] = {}
    if isinstance(described, Mapping | list):
        if isinstance(described, list) and described[:1] == ["object"] and len(described) > 3:
            name = described[3]
            if isinstance(name, str) and name.startswith(_CUSTOM):
                names[name.removeprefix(_CUSTOM)] = None
        for part in described.values() if isinstance(described, Mapping) else described:
            names.update(dict.fromkeys(own_names(part)))
    return [*names]


def look_up(name: str, custom: Mapping[str, Any], used: set[str], described: object = None) -> Any:
    """Return what a name in a file stands for; note which of the user's were needed.

    Args:
        name: The name.
        custom: What the user gave.
        used: Where to note it.
        described: The description that has it, for an error that tells all names that are not given. Defaults to None.

    Raises:
        ArgumentError: the name is unknown.
    """
    if name.startswith(_CUSTOM):
        own = name.removeprefix(_CUSTOM)
        if own in custom:
            used.add(own)
            return custom[own]
        raise _not_given([one for one in own_names(described) if one not in custom] or [own], custom)
    thing = _public_object(name)
    if thing is None:
        raise ArgumentError(
            f"the file has {name!r}", "this version of graftax has no such thing", "the version that saved the file"
        )
    return thing


def _not_given(names: list[str], custom: Mapping[str, Any]) -> ArgumentError:
    near = {name: closest(name, custom) or name for name in names}
    kept = [f"{one!r}: {getattr(thing, '__name__', one)}" for one, thing in custom.items() if one not in near.values()]
    lines = ", ".join([*kept, *(f"{name!r}: {meant}" for name, meant in near.items())])
    several = len(names) > 1
    return ArgumentError(
        f"the file has {', '.join(map(repr, names))}, which {'are' if several else 'is'} none of graftax's",
        "no code of a file is run and no module that it names is imported, so "
        f"{'they' if several else 'it'} must be given" + (f"; custom= has {', '.join(custom)}" if custom else ""),
        f"load_model(path, custom={{{lines}}})",
    )
