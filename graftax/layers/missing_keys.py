"""A key that the call of a layer asks for, and that its input, a dict, does not have."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any

from graftax.core.errors import ArgumentError
from graftax.core.known_names import closest


def missing_key_error(title: str, error: KeyError, inputs: Iterable[object]) -> ArgumentError | None:
    """Return the error for a key that is not in the input of a layer; None where another dict has been asked.

    Args:
        title: The layer, for the message.
        error: What its call raised.
        inputs: What it was called with.
    """
    asked = _asked_mapping(error.__traceback__)
    key = error.args[0] if error.args else None
    if asked is None or key in asked or all(set(one) != set(asked) for one in _mappings(inputs)):
        return None
    near = closest(key, [one for one in asked if isinstance(one, str)]) if isinstance(key, str) else None
    example = ", ".join(f"{one!r}: ..." for one in [*asked, key])
    return ArgumentError(
        f"{title} got a dict with the key{'s' * (len(asked) != 1)} {', '.join(map(repr, asked)) or 'of none'}",
        f"its call asks for {key!r}",
        f"{near!r} in place of {key!r} on one of both sides"
        if near
        else f"{{{example}}}; or x.get({key!r}) in the call, where it may be missing",
    )


def _asked_mapping(traceback: TracebackType | None) -> Mapping[Any, Any] | None:
    """Return the variable that was asked where an error was raised, as in ``inputs["a"]``; None for anything else."""
    if traceback is None:
        return None
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    code, places = traceback.tb_frame.f_code, list(traceback.tb_frame.f_code.co_positions())
    first, last, begin, end = places[traceback.tb_lasti // 2]
    if first is None or first != last:
        return None
    text = linecache.getline(code.co_filename, first).encode()[begin:end].decode()  # columns are counted in bytes
    name, bracket, rest = text.partition("[")
    found = traceback.tb_frame.f_locals.get(name.strip()) if bracket and "[" not in rest else None
    return found if isinstance(found, Mapping) else None


def _mappings(inputs: Iterable[object]) -> Iterator[Mapping[Any, Any]]:
    for one in inputs:
        if isinstance(one, Mapping):
            yield one
            yield from _mappings(one.values())
        elif isinstance(one, list | tuple):
            yield from _mappings(one)
