"""Modules and Variables that nothing holds: only a method of one is an attribute, or a Variable refers to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from graftax.core import user_line
from graftax.variables.graph.node import Branch, Leaf, Node, ignored_attributes, is_inside, outermost, own_nodes
from graftax.variables.graph.walking import walk

_ROLES = frozenset({"weight", "state"})
_OF_VARIABLES = frozenset({"trainability", "role", "autocast", "regularizer", "constraint", "_storage"})
_DEEPEST = 4


def look_for_unheld(nodes: Iterable[Node]) -> None:
    """Warn of what nothing holds where a method of it is used, or where a Variable has it as an attribute.

    To be called when the Variables of a program are asked for, not at the first call of a layer: what a method belongs
    to is often connected later, such as an embedding whose method gives the logits of a model.

    Args:
        nodes: Modules, each of which is looked through once, and anything else.
    """
    for module in nodes:
        if isinstance(module, Branch) and not module._gx_looked_for_unheld and not module._gx_lacks_weights:
            object.__setattr__(module, "_gx_looked_for_unheld", True)
            for path, owner in _owners_in(module):
                if _is_unheld(module, owner):
                    user_line.warn(
                        f"{type(module).__name__}.{path} is a method of {type(owner).__name__}, which no attribute "
                        "of a Module holds: its Variables are not found there, neither trained nor saved. Hold it, "
                        f"too: model.{owner.name} = {owner.name}"
                    )
            for way, name, node in _attributes_of_weights(module):
                if _is_unheld(module, node):
                    user_line.warn(
                        f"{type(module).__name__}.{way}.{name} is a {type(node).__name__} in an attribute of a "
                        "Variable, and no Module holds it: it is not found there, neither trained nor saved. Hold it, "
                        f"too: holder.{way}_{name} = holder.{way}.{name}"
                    )


def _owners_in(module: Branch) -> Iterator[tuple[str, Branch]]:
    """Yield what the methods in attributes, and on weights, belong to, each with its path."""
    skip = ignored_attributes(type(module)) | module._gx_called_only
    held = set()
    for name, value in list(module.__dict__.items()):
        # an initializer is called once, and what it reads is not trained by that
        if name not in skip and not name.endswith("initializer"):
            held.add(id(value))
            yield from _owners_of_methods(value, name)
    for edges, weight in list(own_nodes(module)):
        for name, thing in weight._gx_hanging():
            if id(thing) not in held:  # as layers of graftax have it
                yield from _owners_of_methods(thing, ".".join([*map(str, edges), name]))


def _attributes_of_weights(module: Branch) -> Iterator[tuple[str, str, Node]]:
    """Yield what Variables have as attributes of a program's own: the path of the Variable, that from there, and it."""
    for edges, weight in list(own_nodes(module)):
        if isinstance(weight, Leaf):
            for name, value in list(weight.__dict__.items()):
                if name not in _OF_VARIABLES and not name.startswith("_gx_"):
                    way = ".".join(map(str, edges))
                    yield from ((way, path, node) for path, node in _nodes_in(value, name))


def _owners_of_methods(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, Branch]]:
    if isinstance(value, list | tuple | dict):
        if depth < _DEEPEST:
            for key, element in list(value.items() if isinstance(value, dict) else enumerate(value)):
                yield from _owners_of_methods(element, f"{path}[{key!r}]", depth + 1)
        return
    while isinstance(value, partial):
        value = value.func
    if callable(value) and not isinstance(value, Node | type):
        owner = getattr(value, "__self__", None)
        if isinstance(owner, Branch):
            yield path, owner


def _nodes_in(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, Node]]:
    if isinstance(value, Node):
        yield path, value
    elif isinstance(value, list | tuple | dict) and depth < _DEEPEST:
        for key, element in list(value.items() if isinstance(value, dict) else enumerate(value)):
            yield from _nodes_in(element, f"{path}[{key!r}]", depth + 1)


def _is_unheld(module: Branch, node: Node) -> bool:
    """Tell whether nothing holds a Node whose values would belong to a program, and are not those of its root."""
    if node._gx_owner is not None or is_inside(module, node):
        return False
    # what is frozen on purpose, such as a teacher, is neither trained nor changed
    leaves = (one for one in walk(node) if isinstance(one, Leaf))
    if not any(leaf.role in _ROLES and not leaf.trainability.frozen for leaf in leaves):
        return False
    for _ in walk(outermost(module)):  # owns what was appended to lists since
        pass
    return node._gx_owner is None
