"""Names in code: which variables and attributes a function names, and the methods of a class."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache, partialmethod
from types import CodeType, FunctionType
from typing import Any

from graftax.variables.graph.class_attributes import bases_of_user

_GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_FREE = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"})
# methods of lists, dicts, sets and deques that return nothing: to call them tells nothing of what is in these
_PUTTING = frozenset({"add", "append", "appendleft", "extend", "extendleft", "insert", "update"})
# called by Python where no code names them, but not where an object is used
_NOT_USED = frozenset(
    {
        *("__init__", "__new__", "__post_init__", "__del__", "__repr__", "__str__", "__getstate__", "__setstate__"),
        *("__init_subclass__", "__reduce__", "__reduce_ex__", "__copy__", "__deepcopy__", "__eq__", "__hash__"),
    }
)


@lru_cache(maxsize=1024)  # to take the code apart takes longer than all else here
def global_names(code: CodeType) -> list[str]:
    """Return the globals that code names, and the code inside of it."""
    return sorted(set(_names_in(code, _GLOBALS)))


@lru_cache(maxsize=1024)
def attribute_names(code: CodeType) -> frozenset[str]:
    """Return the attributes that code asks for by name, and the code inside of it."""
    return frozenset(_names_in(code, _ATTRIBUTES))


@lru_cache(maxsize=1024)
def names_put_into(code: CodeType) -> frozenset[str]:
    """Return the variables outside of some code, and parameters, into which it only puts things."""
    put: set[str] = set()
    read: set[str] = set()
    _sort_uses(code, put, read, _parameters_of(code))
    return frozenset(put - read)


def _parameters_of(code: CodeType) -> frozenset[str]:
    return frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _sort_uses(code: CodeType, put: set[str], read: set[str], parameters: frozenset[str] = frozenset()) -> None:
    name: str | None = None  # of the variable that the last step loaded
    for step in dis.get_instructions(code):
        if name is not None:
            (put if step.opname in _ATTRIBUTES and step.argval in _PUTTING else read).add(name)
        *others, name = _loaded_variables(step, code, parameters)
        read.update(one for one in others if one is not None)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            _sort_uses(inner, put, read)


def _loaded_variables(step: dis.Instruction, code: CodeType, parameters: frozenset[str]) -> list[str | None]:
    """Return the variables that a step loads; None for one that does not count, and where there is none."""
    if step.opname in _GLOBALS:
        return [step.argval]
    if step.opname in _FREE:
        return [step.argval if step.argval in code.co_freevars or step.argval in parameters else None]
    if step.opname.startswith("LOAD_FAST"):  # in some versions of Python, one step loads two
        loaded = step.argval if isinstance(step.argval, tuple) else (step.argval,)
        return [one if one in parameters else None for one in loaded]
    return [None]


def _names_in(code: CodeType, operations: frozenset[str]) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if step.opname in operations:
            yield step.argval
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names_in(inner, operations)


def methods_of(kind: type[Any]) -> list[tuple[str, FunctionType]]:
    """Return the functions of a class, by name, and of its bases: methods, and what is behind properties.

    Classes of graftax, of the libraries below it and of Python have none that count, and how objects are made and
    shown does not count either.
    """
    found: list[tuple[str, FunctionType]] = []
    for base in bases_of_user(kind):
        for name, value in list(vars(base).items()):
            if name not in _NOT_USED and isinstance(function := _function_behind(value), FunctionType):
                found.append((name, function))
    return found


def makers_of(kind: type[Any]) -> list[FunctionType]:
    """Return the methods of a class with which its objects are made."""
    found = [vars(base).get(name) for base in bases_of_user(kind) for name in _MAKING]
    return [function for one in found if isinstance(function := _function_behind(one), FunctionType)]


_MAKING = ("__new__", "__init__", "__post_init__")


def _function_behind(value: object) -> Callable[..., Any] | None:
    if isinstance(value, property):
        return value.fget
    if isinstance(value, staticmethod | classmethod):
        return _function_behind(value.__func__)
    if isinstance(value, cached_property | partialmethod):
        return _function_behind(value.func)
    wrapped = None if isinstance(value, FunctionType | type) else getattr(value, "__dict__", {}).get("__wrapped__")
    return value if isinstance(value, FunctionType) else wrapped
