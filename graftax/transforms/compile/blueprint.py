"""Blueprint: what a Module computes besides the values of its Variables, as something that can be compared.

Two layers with one blueprint run the same program: a compiled forward made for one serves the other.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator
from types import FunctionType

from graftax.core.ours import is_ours
from graftax.variables.graph.module import Module, walk
from graftax.variables.graph.node import ignored_attributes
from graftax.variables.graph.prints import comparison_key, is_plain
from graftax.variables.variable import Variable

_NOT_COMPUTED_WITH = ("_initializer", "_regularizer", "_constraint")  # ends of names of settings for making weights


def blueprint(module: Module) -> Hashable | None:
    """Return how a Module is made; None where its call may run code of others, or depends on other objects.

    Code from outside is left alone, since it may stop in a debugger, print, or look at values. Where one layer inside
    does not compile its call, the whole does not.
    """
    nodes = list(walk(module))
    number = {id(node): i for i, node in enumerate(nodes)}
    parts: list[Hashable] = []
    try:
        for node in nodes:
            if type(node) is Variable:
                parts.append((node.shape, node.dtype, node.trainable, node._storage.home))
            elif isinstance(node, Module) and is_ours(type(node)) and getattr(node, "compiles_call", True):
                parts.append((type(node), *_settings(node, number)))
            else:
                return None
        hash(result := tuple(parts))
    except (_OtherObject, TypeError):
        return None
    return result


class _OtherObject(Exception):
    """Something that can be compared by identity only."""


def _settings(node: Module, number: dict[int, int]) -> Iterator[Hashable]:
    skip = ignored_attributes(type(node))
    for name, value in list(vars(node).items()):
        if name not in skip and name != "_gx_name" and not name.endswith(_NOT_COMPUTED_WITH):
            yield name, _part(value, number)


def _part(value: object, number: dict[int, int]) -> Hashable:
    if is_plain(value):
        return type(value), comparison_key(value)
    if id(value) in number:
        return Module, number[id(value)]
    if isinstance(value, list | tuple):
        return (type(value), *(_part(element, number) for element in value))
    if isinstance(value, dict):
        return (dict, *((key, _part(element, number)) for key, element in value.items()))
    if isinstance(value, FunctionType) and is_ours(value) and _is_global(value):
        return value
    if isinstance(value, Hashable) and type(value).__hash__ is not object.__hash__ and is_ours(type(value)):
        return value  # a DTypePolicy, for example
    raise _OtherObject


def _is_global(function: FunctionType) -> bool:
    return getattr(sys.modules.get(function.__module__), function.__name__, None) is function
