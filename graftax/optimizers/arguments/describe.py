"""A repr that shows arguments: those of ``__init__`` whose attribute of the same name is not the default."""

from __future__ import annotations

import inspect
from typing import Any


def call_of(instance: object, **shown: Any) -> str:
    """Return ``Class(argument=value, ...)``, as in the signatures of the class and its bases.

    Args:
        instance: An object that keeps its arguments under their names.
        **shown: Arguments to show in any case, with the values to show.
    """
    found: dict[str, str] = {}
    for kind in type(instance).__mro__:
        signature = inspect.signature(vars(kind)["__init__"]) if "__init__" in vars(kind) else None
        for name, parameter in list(signature.parameters.items())[1:] if signature else ():
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL) or name in found:
                continue
            kept = getattr(
                instance, "_gx_name" if name == "name" else name, parameter.default
            )  # a name not given is no argument
            value = shown.get(name, kept)
            hidden = name not in shown and _is_same(value, parameter.default)
            found[name] = "" if hidden else f"{name}={value!r}"
        if signature is None or any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
            continue
        break
    return f"{type(instance).__name__}({', '.join(filter(None, found.values()))})"


def _is_same(value: object, default: object) -> bool:
    return value is default or (isinstance(value, str | int | float | tuple) and value == default)
