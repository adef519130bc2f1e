"""Likeness: whether two layers would compute the same from the same values of their Variables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from graftax.core.ours import is_ours
from graftax.layers.layer import Layer
from graftax.variables.graph.module import Module, walk
from graftax.variables.graph.node import Node, ignored_attributes
from graftax.variables.graph.prints import comparison_key, is_plain
from graftax.variables.state.storage import touch
from graftax.variables.variable import Variable

_OF_MAKING = ("_initializer", "_constraint", "kernel_regularizer", "bias_regularizer")
_CODE = (FunctionType, BuiltinFunctionType, type)


def first_difference(first: Module, second: Module) -> str | None:
    """Return the first setting in which two Modules differ, as ``class.attribute``; None if they are alike.

    Values of Variables, names, and settings for making weights do not count; what is trained counts where a call may
    read it. What is compiled depends on what is compared.

    Args:
        first: A Module.
        second: Another Module.
    """
    nodes, others = list(walk(first)), list(walk(second))
    if len(nodes) != len(others):
        return f"the number of parts, {len(nodes)} and {len(others)}"
    compared, may_read = _Comparison(nodes, others), any(map(_may_read_trainable, nodes))
    for mine, its in zip(nodes, others, strict=True):
        touch(mine)
        touch(its)
        if type(mine) is not type(its):
            return f"the class, {type(mine).__name__} and {type(its).__name__}"
        if may_read and _is_trained(mine) != _is_trained(its):
            return f"{mine._gx_path or type(mine).__name__}, what is trained"
        if isinstance(mine, Variable) and isinstance(its, Variable):
            if _form_of(mine) != _form_of(its):
                return f"{mine.path or 'a Variable'}, its shape, dtype, role or autocast"
        elif isinstance(mine, Module) and isinstance(its, Module):
            if _policies_of(mine) != _policies_of(its):
                return f"{mine._gx_path or type(mine).__name__}, its dtype policy or remat policy"
            settings, its_settings = dict(_settings(mine)), dict(_settings(its))
            for name in {**settings, **its_settings}:
                there = name in settings and name in its_settings
                if not there or not compared.is_alike(settings[name], its_settings[name]):
                    return f"{type(mine).__name__}.{name}"
    return None


def _form_of(variable: Variable) -> tuple[Any, ...]:
    return variable.shape, variable.dtype, variable.role, variable.autocast


def _policies_of(module: Module) -> tuple[Any, ...]:
    return (module._gx_dtypes, module._gx_remat) if isinstance(module, Layer) else ()


def _is_trained(node: Node) -> bool:
    return isinstance(node, Variable | Module) and node.trainable


def _may_read_trainable(node: Node) -> bool:
    """Tell whether a call may compute something else where weights are frozen."""
    return isinstance(node, Layer) and (node._gx_reads_trainable or not is_ours(type(node)))


def _settings(module: Module) -> Iterator[tuple[str, Any]]:
    skip = ignored_attributes(type(module))
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

    def is_alike(self, first: Any, second: Any) -> bool:
        """Tell whether two values are the same, or copies of each other."""
        places = self._places.get(id(first)), self._other_places.get(id(second))
        if places != (None, None):
            return places[0] == places[1]
        if first is second or (id(first), id(second)) in self._met:
            return True
        if type(first) is not type(second) or isinstance(first, (Node, *_CODE)):
            return False
        if is_plain(first):
            return comparison_key(first) == comparison_key(second)
        self._met[id(first), id(second)] = first, second
        return self._same_content(first, second)

    def _same_content(self, first: Any, second: Any) -> bool:
        if isinstance(first, list | tuple):
            return len(first) == len(second) and all(map(self.is_alike, first, second))
        if isinstance(first, dict):
            return first.keys() == second.keys() and all(self.is_alike(first[key], second[key]) for key in first)
        if isinstance(first, set | frozenset):
            return bool(first == second)
        if isinstance(first, MethodType):
            return first.__func__ is second.__func__ and self.is_alike(first.__self__, second.__self__)
        if isinstance(first, partial):
            return self.is_alike([first.func, first.args, first.keywords], [second.func, second.args, second.keywords])
        if hasattr(first, "dtype") and hasattr(first, "shape"):
            return (first.dtype, tuple(first.shape)) == (second.dtype, tuple(second.shape)) and np.array_equal(
                first, second
            )
        held = getattr(first, "__dict__", None)
        return held is None or self.is_alike(held, vars(second))
