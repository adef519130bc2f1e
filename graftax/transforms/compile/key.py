"""What tells the calls of a compiled function apart: structure, shapes and dtypes, and what is no array by value."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Hashable
from typing import Any, Final, cast

from graftax.backend.host import no_plain_numbers
from graftax.backend.tracing import Tracing
from graftax.core import scopes
from graftax.core.errors import CompileError
from graftax.core.tree import flatten_with_paths
from graftax.core.typedefs import VariableLike
from graftax.variables.graph.node import Branch
from graftax.variables.graph.prints import comparison_key, is_plain

SCALARS = (bool, int, float, complex)

OTHER_MODULE: Final = "another Module than before"
"""How the difference ends where an argument was another Module."""

_ARRAY: Final = "array"
_SCALAR: Final = "scalar"
_VARIABLE: Final = "variable"
_STATIC: Final = "static"
_kinds: dict[type, str] = {}


def key_of(leaves: list[Any], tree: object) -> tuple[Hashable, list[Any]]:
    """Return what tells calls apart, and the arrays and numbers among the arguments.

    Raises:
        CompileError: an argument is no array and cannot be hashed.
    """
    parts: list[Any] = [tree, scopes.ambient()]
    dynamic = []
    for leaf in leaves:
        kind = _kinds.get(type(leaf)) or _look_at(leaf)
        if kind is _ARRAY:
            parts.append((leaf.shape, leaf.dtype, getattr(leaf, "weak_type", False)))
            dynamic.append(leaf)
        elif kind is _SCALAR:
            parts.append(type(leaf))
            dynamic.append(leaf)
        elif kind is _VARIABLE:  # its == compares elements
            parts.append((type(leaf), id(leaf)))
        else:
            try:
                hash(leaf)
            except TypeError as error:
                raise _not_hashable(leaf) from error
            parts.append((type(leaf), leaf, _parts(leaf)))
    return tuple(parts), dynamic


def _not_hashable(leaf: object) -> CompileError:
    kind, why = type(leaf), "an argument that is no array is static, and must be hashable to be told apart"
    instead = "pass arrays, numbers, strings, tuples, functions or modules"
    if isinstance(leaf, Branch) and dataclasses.is_dataclass(leaf):
        why += "; a dataclass that compares its fields is not"
        instead = f"@dataclasses.dataclass(eq=False) above class {kind.__name__}"
    elif dataclasses.is_dataclass(leaf):
        why += "; a dataclass that compares its fields is not"
        instead = (
            f"@dataclasses.dataclass(eq=False) above class {kind.__name__}(graftax.Module): then it may hold layers "
            "and Variables, and its fields may change; @dataclasses.dataclass(frozen=True) for settings alone"
        )
    elif kind.__module__ != "builtins":
        instead = f"class {kind.__name__}(graftax.Module), without __eq__: then it may hold layers, and change"
    return CompileError(f"an argument {leaf!r:.80} of type {kind.__name__}", why, instead)


def _parts(value: object) -> Hashable:
    """Return what tells equal objects apart that hold things of other types: ``{1}`` and ``{True}``.

    Of objects whose class has an equality of its own, but is no dataclass, that says all.
    """
    if is_plain(value):
        return type(value), comparison_key(value)
    if isinstance(value, tuple):
        return tuple(map(_parts, value))
    if isinstance(value, frozenset):
        return frozenset(map(_parts, value))
    if dataclasses.is_dataclass(value) and type(value).__hash__ is not object.__hash__:
        compared = (field.name for field in dataclasses.fields(value) if field.compare and field.hash is not False)
        return tuple(_parts(getattr(value, name)) for name in compared)
    return None


def is_static(leaf: object) -> bool:
    """Return True for what is neither an array nor a number."""
    return _look_at(leaf) not in (_ARRAY, _SCALAR)


def _look_at(leaf: object) -> str:
    """Return which of four kinds a leaf is of; a type that says it is remembered, for there may be hundreds."""
    kind = type(leaf)
    if kind in SCALARS:
        found = _SCALAR
    elif isinstance(leaf, VariableLike):
        found = _VARIABLE
    else:
        if (unfit := no_plain_numbers(leaf, "an argument")) is not None:
            raise unfit
        is_array = not isinstance(leaf, type) and hasattr(leaf, "shape") and hasattr(leaf, "dtype")
        found = _ARRAY if is_array else _STATIC
    if found is _SCALAR or (found is _ARRAY and hasattr(kind, "shape")):
        _kinds[kind] = found
    return found


def describe(fn: Callable[..., Any], transforms: Tracing, before: Hashable, after: Hashable) -> str:
    """Tell what differs between two keys of a compiled function, for the log of traces."""
    old, new = cast("tuple[Any, ...]", before), cast("tuple[Any, ...]", after)
    if old[0] != new[0]:
        had, has = ([*argument_names(fn, transforms, key[0], len(key) - 2)] for key in (old, new))
        changes = [
            f"{text} {', '.join(found[:3])}{', …' if len(found) > 3 else ''}"
            for text, found in (
                ("with", [name for name in has if name not in had]),
                ("without", [name for name in had if name not in has]),
            )
            if found
        ]
        return f"the arguments have another structure: {' and '.join(changes) or 'a list, tuple or dict changed'}"
    if old[1] != new[1]:
        return scopes.describe_ambient(old[1], new[1])
    for i, (a, b) in enumerate(zip(old[2:], new[2:], strict=True)):
        if a != b:
            name = argument_names(fn, transforms, new[0], len(new) - 2)[i]
            if _is_module(a) and _is_module(b) and a[1] is not b[1]:
                return f"argument {name}: {_show(b)}, {OTHER_MODULE}"
            return f"argument {name}: {_show(a)} -> {_show(b)}"
    return "the same arguments as before"


def result_names(transforms: Tracing, structure: object, count: int) -> list[str]:
    """Return what the results are called in messages: ``the result 'loss'`` of a dict of results."""
    leaves = flatten_with_paths(transforms.unflatten(structure, _leaves(count)))
    paths = {leaf.index: path for path, leaf in leaves if isinstance(leaf, _Leaf)}  # None is no result
    return [f"the result {paths[i]!r}" if paths.get(i) else "the result" for i in range(count)]


def _leaves(count: int) -> list[Any]:
    return [_Leaf(i) for i in range(count)]


def argument_names(fn: Callable[..., Any], transforms: Tracing, tree: object, count: int) -> list[str]:
    """Return what the leaves of the arguments are called: ``x``, or ``batch/0`` inside of one."""
    args, kwargs, *_ = transforms.unflatten(tree, _leaves(count))
    try:
        given: Any = inspect.signature(fn).bind_partial(*args, **kwargs).arguments
    except (TypeError, ValueError):  # a function without a signature
        given = {**{str(i): one for i, one in enumerate(args)}, **kwargs}
    names = {leaf.index: path for path, leaf in flatten_with_paths(dict(given)) if isinstance(leaf, _Leaf)}
    return [names.get(i, f"leaf {i}") for i in range(count)]


def _is_module(part: Any) -> bool:
    return isinstance(part, tuple) and len(part) > 1 and isinstance(part[1], Branch)


class _Leaf:
    def __init__(self, index: int) -> None:
        self.index = index


def _show(part: Any) -> str:
    if isinstance(part, type):
        return f"a Python {part.__name__}"
    if isinstance(part[0], type) and issubclass(part[0], VariableLike):
        return f"a {part[0].__name__}"
    if not isinstance(part[0], type):
        return f"{part[1]}{list(part[0])}" + (" (weak)" if part[2] else "")
    return repr(part[1])
