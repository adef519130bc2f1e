"""What kind of value an argument of a constructor takes, as its annotation says: numbers, flags and names.

Only plain Python values are looked at; arrays, Variables and whatever else an annotation may mean pass.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from graftax.core.errors import ArgumentTypeError
from graftax.core.hyperparameters import said_number

_WORDS = {"bool": "True or False", "int": "an integer", "float": "a number", "str": "a name", "None": "None"}
_SEQUENCE = "Sequence["
_OBJECTS = frozenset({"DTypePolicy"})
"""Other parts of annotations that mean no plain value."""
_EXAMPLES: dict[str, Any] = {"bool": True, "int": 8, "float": 0.5, "str": "float32", "None": None}
_PLAIN = (bool, int, float, str, bytes, type(None), list, tuple, dict, set)


def plain_kinds(init: Callable[..., None]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a constructor whose annotations name plain values only."""
    found = {}
    for name, parameter in inspect.signature(init).parameters.items():
        parts = _parts(parameter)
        if parts and all(part in _WORDS or part in _OBJECTS or part.startswith(_SEQUENCE) for part in parts):
            found[name] = parameter
    return found


def misfit(kind: type[Any], parameter: inspect.Parameter, value: object) -> ArgumentTypeError | None:
    """Return the error for a value that an argument does not take; None if it does."""
    parts = _parts(parameter)
    if _fits_any(parts, value):
        return None
    name = parameter.name
    wanted = " or ".join(_WORDS.get(part, "a sequence") for part in parts if part not in _OBJECTS)
    default = parameter.default
    example = _EXAMPLES.get(parts[0], (1, 2)) if default is parameter.empty else default
    said = said_number(value)
    if said is not None and "float" in parts:
        example = said
    elif said is not None and "int" in parts and said == int(said):
        example = int(said)
    return ArgumentTypeError(f"{kind.__name__} got {name}={value!r:.40}", f"it is {wanted}", f"{name}={example!r}")


def checked_flag(name: str, value: Any) -> bool:
    """Return the value, if it is True or False; NumPy's own, 0 and 1 are that, too.

    Raises:
        ArgumentTypeError: it is something else.
    """
    plain = value.item() if str(getattr(value, "dtype", "")) == "bool" and hasattr(value, "item") else value
    if not _is_of_kind("bool", plain):
        raise ArgumentTypeError(f"{name}={value!r:.60}", "it is True or False", f"{name}=False")
    return bool(plain)


def flags_of(fn: Callable[..., Any]) -> Mapping[str, int | None]:
    """Return the parameters of a function annotated ``bool``, with their places; None for those by keyword only."""
    parameters = inspect.signature(fn).parameters.values()
    return {
        one.name: None if one.kind is one.KEYWORD_ONLY else place
        for place, one in enumerate(parameters)
        if one.annotation == "bool"
    }


def no_flag(
    flags: Mapping[str, int | None], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> ArgumentTypeError | None:
    """Return the error for an argument of a call that is no bool where it must be one; None if there is none."""
    for name, place in flags.items():
        given = args[place] if place is not None and place < len(args) else kwargs.get(name, False)
        if given is not True and given is not False:
            try:
                checked_flag(name, given)
            except ArgumentTypeError as error:
                return error
    return None


def _parts(parameter: inspect.Parameter) -> list[str]:
    annotation = parameter.annotation
    return re.split(r" \| (?![^\[]*\])", annotation) if isinstance(annotation, str) else []


def _fits_any(parts: list[str], value: object) -> bool:
    return not isinstance(value, _PLAIN) or any(_is_of_kind(part, value) for part in parts)


def _is_of_kind(part: str, value: object) -> bool:
    if part == "None":
        return value is None
    if part == "bool":
        return isinstance(value, bool) or (isinstance(value, int) and value in (0, 1))
    if part == "str":
        return isinstance(value, str)
    if part.startswith(_SEQUENCE):
        inner = part.removeprefix(_SEQUENCE).removesuffix("]").split(" | ")
        plain = all(one in _WORDS for one in inner)
        return isinstance(value, list | tuple) and (not plain or all(_fits_any(inner, one) for one in value))
    if part == "float":
        return isinstance(value, int | float) and not isinstance(value, bool) and value == value
    return part == "int" and isinstance(value, int) and not isinstance(value, bool)
