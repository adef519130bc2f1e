"""Plain objects that hold Variables: the object graph is not looked for in there, and who puts some there is warned."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

import numpy as np

from graftax.core import user_line
from graftax.core.ours import is_ours
from graftax.variables.graph.config_objects import attributes_in
from graftax.variables.graph.node import Branch, Leaf, Node, ignored_attributes, is_inside, outermost, own_nodes
from graftax.variables.graph.walking import walk

# Nothing is looked for in these: numbers and text hold nothing, and functions, classes and modules are no state.
_NO_HOLDERS = (
    *(str, bytes, bool, int, float, complex, type(None), type, np.ndarray, np.generic),
    *(FunctionType, MethodType, BuiltinFunctionType, ModuleType),
)
_DEEPEST = 4

ASKED = "_gx_asked_weights"
"""The attribute with the weights that a Module asked for until now, and is to hold once it is complete."""


def look_for_lost(nodes: Iterable[Node]) -> None:
    """Warn of Variables in plain objects that are attributes of Modules, and that nothing else holds.

    Each Module is looked through once, when it is complete, which a layer is after its first call: before that, what a
    plain object has may still become an attribute as well. What a Module owns anywhere is not meant, nor is a Module
    above, nor what is in attributes that are ``untracked``.

    Args:
        nodes: The Modules, and anything else.
    """
    for module in nodes:
        if isinstance(module, Branch) and not module._gx_looked_through and not module._gx_lacks_weights:
            object.__setattr__(module, "_gx_looked_through", True)
            _look_through(module)


def note_added(module: Branch, weight: Node) -> None:
    """Remember a weight that a Module asked for, and is to hold once it is complete."""
    module.__dict__.setdefault(ASKED, []).append(weakref.ref(weight))


def forget_added(module: Branch, weight: object) -> None:
    """Forget a weight that a Module asked for, as something else stands in its place."""
    if asked := module.__dict__.get(ASKED):
        asked[:] = [added for added in asked if added() is not weight]


def _look_through(module: Branch) -> None:
    skip = ignored_attributes(type(module)) | module._gx_on_weight  # which whoever holds the weight looks through
    for added in module.__dict__.pop(ASKED, ()):
        weight = added()  # None if nobody keeps it
        meant = any(value is weight for name, value in module.__dict__.items() if name in skip)
        if weight is not None and not meant and _is_lost(module, weight):
            name = weight._gx_name or "kernel"
            user_line.warn(
                f"{type(module).__name__} made a weight by add_weight and holds it in no attribute, but in a closure, "
                f"say: it is not found there, neither trained nor saved. self.{name} = self.add_weight(...)"
            )
    for name, value in list(module.__dict__.items()):
        if name in skip or isinstance(value, _NO_HOLDERS):
            continue
        way_out = f'; or untracked = frozenset({{"{name}"}}) in {type(module).__name__}, if this is meant'
        _warn_if_lost(module, value, name, way_out)
    held = {id(value) for value in module.__dict__.values()}  # which has been looked at, or is meant
    for edges, weight in list(own_nodes(module)):
        for name, value in weight._gx_hanging():
            if id(value) not in held and not isinstance(value, (*_NO_HOLDERS, Node)):
                held.add(id(value))
                _warn_if_lost(module, value, ".".join([*map(str, edges), name]), "")


def _warn_if_lost(module: Branch, value: object, name: str, meant: str) -> None:
    """Warn of the first Variable in a plain object that nothing else holds; ``meant`` is another way out."""
    for holder, path, node in _in_plain_objects(value, name):
        if _is_lost(module, node):
            kind, what = type(holder).__name__, "a Variable" if isinstance(node, Leaf) else "a Module with Variables"
            user_line.warn(
                f"{type(module).__name__}.{path} is {what}, held by a plain object of the class {kind}: it is not "
                f"found there, neither trained nor saved. Make that class a Module, class {kind}(gx.Module){meant}."
            )
            return


def _in_plain_objects(
    value: object, path: str, holder: object = None, depth: int = 0
) -> Iterator[tuple[object, str, Node]]:
    """Yield the Nodes that plain objects hold, each with the object and the way there; ``holder`` is the one around."""
    if isinstance(value, Node):
        if holder is not None:  # else the Module has it, in containers at most
            yield holder, path, value
    elif isinstance(value, _NO_HOLDERS) or depth > _DEEPEST:
        return
    elif isinstance(value, list | tuple | dict):
        for key, element in list(value.items() if isinstance(value, dict) else enumerate(value)):
            yield from _in_plain_objects(element, f"{path}[{key!r}]", holder, depth + 1)
    elif not is_ours(type(value)):  # ours know what they keep
        for name, content in attributes_in(value):
            yield from _in_plain_objects(content, f"{path}.{name}", value, depth + 1)


def _is_lost(module: Branch, node: Node) -> bool:
    """Tell whether nothing holds a Node that would be trained or saved with a Module."""
    if node._gx_owner is not None or is_inside(module, node):
        return False
    if isinstance(node, Branch) and not any(isinstance(one, Leaf) and one.trainable for one in walk(node)):
        return False  # an optimizer, for example
    for _ in walk(outermost(module)):  # owns what was appended to lists since
        pass
    return node._gx_owner is None
