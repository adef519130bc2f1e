"""Settings that are functions: what can be known of a function in a file, such that another one is noticed.

A function is known by its name, without the module, since a script that is run and one that is imported have the same
functions under different modules. What made a function or an object also counts: plain arguments of a ``partial``,
plain values that a lambda or local function was made with, and plain attributes of an object that is called. The code
is compared only for lambdas, which have no names, and only between programs of one version of Python.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any, TypeGuard

from graftax.variables.graph.node import Node

NAME = "<function>"
"""The key under which a function has its name, which marks the dict as a function."""
_CODE = f"code of {sys.implementation.cache_tag}"

ToPlain = Callable[[object], "tuple[Any] | None"]
"""A function of a value that returns a tuple with its plain form; None for a value without one."""


def describe_function(function: object, to_plain: ToPlain) -> dict[str, Any]:
    """Return what can be known of a function, or of an object that can be called.

    Example:
        >>> describe_function(abs, lambda value: (value,))
        {'<function>': 'abs'}
        >>> describe_function(partial(round, ndigits=2), lambda value: (value,))
        {'<function>': 'partial', 'of': {'<function>': 'round'}, 'ndigits': 2}
    """
    if isinstance(function, partial):
        of = describe_function(function.func, to_plain)
        given = {str(i): value for i, value in enumerate(function.args)} | function.keywords
        return {NAME: "partial", "of": of, **_plain_entries(given, to_plain)}
    name = getattr(function, "__qualname__", None)
    if not isinstance(name, str):
        return {NAME: type(function).__qualname__, **_attributes(function, to_plain)}
    if isinstance(function, MethodType):
        return {NAME: name, **_attributes(function.__self__, to_plain)}
    # one with a name of its own is known by that; of one that a call made, the name says only where
    if not isinstance(function, FunctionType) or "<" not in name:
        return {NAME: name}
    code = {_CODE: _digest_of(function.__code__)} if name.endswith("<lambda>") else {}
    return {NAME: name, **code, **_plain_entries(_made_with(function), to_plain)}


def is_function_setting(value: object) -> TypeGuard[dict[str, Any]]:
    """Return True for what `describe_function` returned, also when it has been saved in a file."""
    return isinstance(value, dict) and isinstance(value.get(NAME), str)


def is_same_function(one: dict[str, Any], other: dict[str, Any], is_same: Callable[[object, object], bool]) -> bool:
    """Return True if nothing that is known of both functions differs."""
    return all(is_same(value, other[key]) for key, value in one.items() if key in other)


def text_of_function(described: Mapping[str, Any]) -> str:
    """Return how a function is shown in messages.

    Example:
        >>> text_of_function({NAME: "round", "ndigits": 2})
        'round(ndigits=2)'
    """
    more = [
        f"{key}={text_of_function(value) if is_function_setting(value) else repr(value)}"
        for key, value in described.items()
        if key != NAME
    ]
    return f"{described[NAME]}({', '.join(more)})" if more else str(described[NAME])


def _attributes(thing: object, to_plain: ToPlain) -> dict[str, Any]:
    """Return the plain public attributes of an object; none of a class, and of what has a place in the object graph."""
    if isinstance(thing, Node | type) or inspect.ismodule(thing):
        return {}
    held = getattr(thing, "__dict__", {})
    return _plain_entries({name: value for name, value in held.items() if not name.startswith("_")}, to_plain)


def _made_with(function: FunctionType) -> dict[str, Any]:
    """Return defaults of parameters, and values from around the function, by name."""
    found = dict(function.__kwdefaults__ or {})
    for parameter in inspect.signature(function).parameters.values():
        if parameter.default is not parameter.empty:
            found[parameter.name] = parameter.default
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # it has no value yet
            continue
        if not isinstance(value, list | dict):  # which such a function keeps rather than reads, as a cache
            found[name] = value
    return found


def _plain_entries(values: Mapping[str, object], to_plain: ToPlain) -> dict[str, Any]:
    plain = {name: to_plain(value) for name, value in values.items()}
    return {name: found[0] for name, found in plain.items() if found is not None}


def _digest_of(code: CodeType) -> str:
    return hashlib.sha256(repr(_parts_of(code)).encode()).hexdigest()[:16]


def _parts_of(code: CodeType) -> tuple[object, ...]:
    constants = [_constant(value) for value in code.co_consts]
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars


def _constant(value: object) -> object:
    if isinstance(value, CodeType):
        return _parts_of(value)
    return sorted(map(repr, value)) if isinstance(value, frozenset) else value  # whose order is by chance
