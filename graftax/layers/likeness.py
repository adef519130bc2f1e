"""Likeness: whether two layers would compute the same from the same values of their Variables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from graftax.variables.graph.module import Module, walk
from graftax.variables.graph.node import Node, ignored
from graftax.variables.graph.prints import is_plain, told_apart
from graftax.variables.state.storage import touch
from graftax.variables.variable import Variable

_OF_MAKING = ("_initializer", "_constraint", "kernel_regularizer", "bias_regularizer")
_CODE = (FunctionType, BuiltinFunctionType, type)


def first_difference(one: Module, other: Module) -> str | None:
    """Return the first setting in which two Modules differ, as ``class.attribute``; None if they are alike.

    Values of Variables, what is trained, names, and settings for making weights do not count. What is compiled
    depends on what is compared.

    Args:
        one: A Module.
        other: The one that it is compared with.
    """
    nodes, others = list(walk(one)), list(walk(other))
    if len(nodes) != len(others):
        return f"the number of parts, {len(nodes)} and {len(others)}"
    compared = _Comparison(nodes, others)
    for mine, its in zip(nodes, others, strict=True):
        touch(mine)
        touch(its)
        if type(mine) is not type(its):
            return f"the class, {type(mine).__name__} and {type(its).__name__}"
        if isinstance(mine, Variable) and isinstance(its, Variable):
            if (mine.shape, mine.dtype, mine.role) != (its.shape, its.dtype, its.role):
                return f"{mine.path or 'a Variable'}, its shape, dtype or role"
        elif isinstance(mine, Module) and isinstance(its, Module):
            settings, its_settings = dict(_settings(mine)), dict(_settings(its))
            for name in {**settings, **its_settings}:
                there = name in settings and name in its_settings
                if not there or not compared.alike(settings[name], its_settings[name]):
                    return f"{type(mine).__name__}.{name}"
    return None


def _settings(module: Module) -> Iterator[tuple[str, Any]]:
    skip = ignored(type(module))
    for name, value in list(vars(module).items()):
        if name not in skip and not name.startswith("_gx_") and not name.endswith(_OF_MAKING):
            yield name, value


class _Comparison:
    """Compares what two Modules hold, which may be copies of each other.

    Args:
        nodes: The Modules and Variables of one.
        others: Those of the other one, in the same order.
    """

    def __init__(self, nodes: list[Node], others: list[Node]) -> None:
        self._places = {id(node): place for place, node in enumerate(nodes)}
        self._other_places = {id(node): place for place, node in enumerate(others)}
        self._met: dict[tuple[int, int], tuple[Any, Any]] = {}  # objects may lie in each other

    def alike(self, one: Any, other: Any) -> bool:
        """Tell whether two values are the same, or copies of each other."""
        places = self._places.get(id(one)), self._other_places.get(id(other))
        if places != (None, None):
            return places[0] == places[1]
        if one is other or (id(one), id(other)) in self._met:
            return True
        if type(one) is not type(other) or isinstance(one, (Node, *_CODE)):
            return False
        if is_plain(one):
            return told_apart(one) == told_apart(other)
        self._met[id(one), id(other)] = one, other
        return self._same_content(one, other)

    def _same_content(self, one: Any, other: Any) -> bool:
        if isinstance(one, list | tuple):
            return len(one) == len(other) and all(map(self.alike, one, other))
        if isinstance(one, dict):
            return one.keys() == other.keys() and all(self.alike(one[key], other[key]) for key in one)
        if isinstance(one, set | frozenset):
            return bool(one == other)
        if isinstance(one, MethodType):
            return one.__func__ is other.__func__ and self.alike(one.__self__, other.__self__)
        if isinstance(one, partial):
            return self.alike([one.func, one.args, one.keywords], [other.func, other.args, other.keywords])
        if hasattr(one, "dtype") and hasattr(one, "shape"):
            return (one.dtype, tuple(one.shape)) == (other.dtype, tuple(other.shape)) and np.array_equal(one, other)
        held = getattr(one, "__dict__", None)
        return held is None or self.alike(held, vars(other))
