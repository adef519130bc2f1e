"""Adoption: what an attribute is given hangs below its Module from then on, with the values that wait for it.

In containers such as sets it is not looked for: who puts Variables there is warned.
"""

from __future__ import annotations

from collections import ChainMap, UserDict, UserList, deque
from collections.abc import Iterable
from types import MappingProxyType
from typing import Any

import numpy as np

from graftax.core import user_line
from graftax.core.typedefs import VariableLike
from graftax.variables.graph.copies import Copied, Pending
from graftax.variables.graph.freezing import Freezing
from graftax.variables.graph.node import Edge, Leaf, Node, holds_node, is_inside, items_of, nodes_on, own, own_nodes
from graftax.variables.state import storage

_VIEWS = tuple(map(type, ({}.keys(), {}.values(), {}.items())))
_MAPPINGS = (MappingProxyType, UserDict, ChainMap)

_HIDING_PLACES: tuple[type[Any], ...] = (set, frozenset, deque, np.ndarray, UserList, *_MAPPINGS, *_VIEWS)
"""Looking through these is cheap and changes nothing, which is not known of every sequence of somebody's own."""


class Adopting(Copied, Freezing):
    """The part of a Module that other Nodes hang below."""

    def _gx_note_hanging(self, weight: Node) -> None:
        """Let what hangs on a weight since now hang below this, and have it looked through for what is lost."""
        object.__setattr__(self, "_gx_looked_through", False)
        object.__setattr__(self, "_gx_looked_for_unheld", False)
        for edge, node in nodes_on(weight, weight._gx_edges, self):
            adopt_node(self, (edge,), node)


def adopt(owner: Adopting, edges: tuple[Edge, ...], value: object, depth: int = 0) -> None:
    """Let what is found in an attribute hang below a Module, with the values that wait for it."""
    if isinstance(value, Node):
        adopt_node(owner, edges, value)
    elif isinstance(value, list | tuple | dict) and depth < 32:
        for edge, element in items_of(value):
            adopt(owner, (*edges, edge), element, depth + 1)
    elif isinstance(value, _HIDING_PLACES):
        _warn_if_hidden(owner, edges[0], value)


def _warn_if_hidden(owner: object, name: object, value: Any) -> None:
    """Warn if such a container, assigned to an attribute or within one, holds Modules or Variables."""
    if isinstance(value, np.ndarray):
        elements: Iterable[Any] = value.flat if value.dtype == object else ()
    else:
        elements = value.values() if isinstance(value, _MAPPINGS) else value
    if not any(holds_node(element) for element in elements):
        return
    kind = "an ndarray of objects" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
    why = ", since a set has no order" if isinstance(value, set | frozenset) else ""
    user_line.warn(
        f"{type(owner).__name__}.{name} is {kind} that holds Modules or Variables: they are not found in there, "
        f"neither trained nor saved{why}. Use a list or a dict.",
    )


def adopt_node(owner: Adopting, edges: tuple[Edge, ...], node: Node) -> None:
    """Let a Node hang below a Module: nobody else owns it, and what is frozen or waits there reaches it."""
    if node is owner:
        return
    if node._gx_owner is None:
        own(owner, edges, node)
    if owner._gx_frozen:  # what is made below a frozen Module later, by a first call, is frozen, too
        if isinstance(node, Leaf):
            node.trainability = node.trainability.with_frozen(True)
        elif isinstance(node, Freezing) and not node._gx_frozen and not is_inside(owner, node):
            node.trainable = False
    pending = owner._gx_pending
    for edge in edges[:-1]:
        pending = pending.child(edge) if pending is not None else None
    if pending is not None:
        deliver(pending, edges[-1], node)
    for edge, held in nodes_on(node, edges, owner):
        adopt_node(owner, (edge,), held)


def deliver(pending: Pending, edge: Edge, node: Node) -> None:
    """Give a Node, and all that hangs below it, the values that wait for it."""
    if isinstance(node, VariableLike):  # a Variable, or an expression for which the value of a plain one may wait
        with storage.concretely():
            pending.claim(edge, node)  # type: ignore[arg-type]
    if isinstance(node, Adopting):
        below = pending.child(edge)
        if below is not None:
            set_pending(node, below)


def set_pending(module: Adopting, pending: Pending | None) -> None:
    """Let values wait below a Module; those whose Variables exist already are delivered at once.

    A Module below which values of the same restore wait already keeps them: it is held twice, or holds its own parent.
    """
    if pending is not None and module._gx_pending is not None and pending.is_of(module._gx_pending):
        return
    object.__setattr__(module, "_gx_pending", pending)
    if pending is None:
        return
    pending.hung_on(module)
    for edges, node in list(own_nodes(module)):
        below: Pending | None = pending
        for edge in edges[:-1]:
            below = below.child(edge) if below is not None else None
        if below is not None:
            deliver(below, edges[-1], node)
