"""Node: something with a place in the object graph. Its owner holds it in an attribute, or in containers below one."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Any, TypeAlias, cast

from graftax.core.errors import ArgumentError
from graftax.core.spellings import seen_at
from graftax.core.undefined import undefined_error
from graftax.variables.graph.config_objects import Look
from graftax.variables.graph.prints import Print, print_of
from graftax.variables.graph.reserved import Names, Word, check_class
from graftax.variables.trainability import Trainability

Edge: TypeAlias = str | int

UNCHANGING = frozenset({type(None), bool, int, float, complex, str, bytes})
"""Types of values that copies share."""

BOOKKEEPING = frozenset(
    {
        *("_gx_owner_ref", "_gx_edges", "_gx_pending", "_gx_captured", "_gx_seed_root", "_gx_watched"),
        *("_gx_looked_through", "_gx_looked_for_unheld", "_gx_asked_weights"),
    }
)
"""Attributes of Nodes that are no part of the graph, nor of copies."""


class Node:
    """Something with a place in the object graph."""

    # weak: who keeps a layer alone, cut out of its model, does not keep the model alive
    _gx_owner_ref: weakref.ref[Branch] | None = None
    _gx_edges: tuple[Edge, ...] = ()
    _gx_watched = False  # some trace depends on its plain attributes

    _gx_on_weight: frozenset[str] = frozenset()
    """Attributes of an expression that are no parts of it, but hang on it as on a Variable."""

    def _gx_hanging(self) -> Sequence[tuple[str, object]]:
        """Return what hangs on a weight, by the names of attributes: its regularizer, its constraint."""
        return ()

    @property
    def _gx_owner(self) -> Branch | None:
        """Return the Module that holds this object, the first one that did; None if there is none (any more)."""
        found = self._gx_locate()
        return found[0] if found else None

    @property
    def _gx_path(self) -> str:
        """Return where it hangs: the edges from its outermost owner, as in ``layers/0/kernel``; the owner adds none."""
        return "/".join(map(str, self._gx_way()))

    @property
    def _gx_seen_path(self) -> str:
        """Return the path from where a selector begins, to a function that selects; else where it hangs."""
        seen = seen_at.top
        return seen[1] if seen is not None and seen[0] is self else self._gx_path

    def _gx_way(self) -> tuple[Edge, ...]:
        """Return the edges from the outermost owner."""
        found = self._gx_locate()
        return (*found[0]._gx_way(), *found[1]) if found else ()

    def _gx_traced_attributes(self) -> dict[str, Any]:
        """Return what a trace may depend on besides values, as it is now, by name."""
        return {}

    def _gx_fingerprint(self) -> dict[str, Print]:
        """Return how that is now, such that it can be compared later."""
        return {name: print_of(value, look=self._gx_look()) for name, value in self._gx_traced_attributes().items()}

    def _gx_called_objects(self) -> list[object]:
        """Return objects besides attributes of which methods are called, such as losses."""
        return []

    def _gx_look(self) -> Look | None:
        """Return how to look into config objects there; None for a new look at each."""
        return None

    def _gx_print_for(self, name: str) -> Print | None:
        """Return how one attribute is now, as in the fingerprint; None if it is absent."""
        return self._gx_fingerprint().get(name)

    def _gx_locate(self) -> tuple[Branch, tuple[Edge, ...]] | None:
        owner = self._gx_owner_ref() if self._gx_owner_ref is not None else None
        if owner is None:
            return None
        # edges are trusted only while they lead here: lists and dicts change without a word to their Module
        if _follow(owner, self._gx_edges) is self:
            return owner, self._gx_edges
        # moved within its owner (a list was reordered), or gone
        for edges, node in own_nodes(owner):
            if node is self:
                self._gx_edges = edges
                return owner, edges
        self._gx_owner_ref = None
        return None


class Branch(Node):
    """A node that others hang below: a Module, as those know it."""

    _gx_seed_root: tuple[int, int] | None = None  # see variables/keys.py
    _gx_lacks_weights = False  # a layer that is not built
    _gx_looked_through = False  # for plain objects that hold Variables
    _gx_looked_for_unheld = False  # for what nothing holds, but methods of which are attributes
    _gx_called_only: frozenset[str] = frozenset()
    """Attributes with functions of others, which say nothing of what belongs to it, such as that of a metric."""
    _gx_in_tree = True  # has a line in what is shown of the Module that holds it

    def _gx_note_hanging(self, weight: Node) -> None:
        """Hear that something else hangs on a weight that this holds."""

    @property
    def name(self) -> str:
        """Return what it is called in messages."""
        raise undefined_error(self, "name")


class Leaf(Node):
    """A node without children: a Variable."""

    role: str
    trainable: bool
    trainability: Trainability

    @property
    def path(self) -> str:
        """Return where it hangs in the object graph; its name while nothing holds it.

        A function that selects variables sees the path from the Module that they are selected from.
        """
        return self._gx_seen_path

    def _gx_hanging(self) -> Sequence[tuple[str, object]]:
        """Return its regularizer and its constraint, where it has any."""
        held = self.__dict__
        penalty, projection = held.get("regularizer"), held.get("constraint")
        if penalty is None and projection is None:  # most Variables, in every walk
            return ()
        return [("regularizer", penalty), ("constraint", projection)]

    def _gx_traced_attributes(self) -> dict[str, Any]:
        """Return all that is ever changed about a Variable besides its value."""
        found: dict[str, Any] = {"trainable": self.trainable}
        for name in ("regularizer", "constraint"):
            if (value := self.__dict__.get(name)) is not None:
                found[name] = value
        if not self.__dict__.get("autocast", True):
            found["autocast"] = False
        home: Any = self.__dict__["_storage"].home
        if home is not None and home.fixed:
            found["home"] = home
        return found


def _follow(owner: Branch, edges: tuple[Edge, ...]) -> object:
    here: Any = owner.__dict__.get(str(edges[0]))
    for edge in edges[1:]:
        try:
            here = here[edge]
        except (KeyError, IndexError, TypeError):
            try:
                here = getattr(here, str(edge))  # a named tuple
            except AttributeError:
                return None
    return here


class _NamesByClass(dict[type[Any], Names]):
    """What each class and its bases say of the names of attributes, found when it is first asked for.

    Raises:
        AssignmentError: a class has something under a name that is taken which cannot stand there.
    """

    def __missing__(self, kind: type[Any]) -> Names:
        words: dict[str, Word] = {}
        for base in reversed(kind.__mro__):
            words |= base.__dict__.get("_gx_words", {})
        check_class(kind, words)
        ignored = BOOKKEEPING.union(*(base.__dict__.get("untracked", ()) for base in kind.__mro__))
        self[kind] = Names(ignored, words)
        return self[kind]


names_by_class = _NamesByClass()


def ignored_attributes(kind: type[Any]) -> frozenset[str]:
    """Return names of the attributes that are no part of the object graph."""
    return names_by_class[kind].ignored


def items_of(container: object) -> Iterator[tuple[Edge, Any]]:
    """Yield edges and elements of a list, tuple, named tuple or dict; nothing for other values."""
    if isinstance(container, dict):
        for key, value in container.items():
            if isinstance(key, str | int):
                yield key, value
            elif holds_node(value):
                raise ArgumentError(
                    f"a dict with the key {key!r} holds a Module or Variable",
                    "paths are made of strings and integers",
                    f"the key {str(key)!r}",
                )
    elif isinstance(container, list | tuple):
        names = getattr(container, "_fields", None)
        yield from zip(names or range(len(container)), container, strict=True)


def holds_node(value: object, seen: set[int] | None = None) -> bool:
    """Return True for a Node, and for a container that has one somewhere."""
    if isinstance(value, Node):
        return True
    seen = set() if seen is None else seen
    if isinstance(value, list | tuple | dict) and id(value) not in seen:
        seen.add(id(value))
        elements = value.values() if isinstance(value, dict) else value
        return any(holds_node(element, seen) for element in elements)
    return False


def own_nodes(module: Node) -> Iterator[tuple[tuple[Edge, ...], Node]]:
    """Yield the Nodes that a Module holds itself, directly or in containers, then those that hang on its weights."""
    own = list(_nodes_of_attributes(module))
    yield from own
    # every walk comes here, and nearly all weights have neither
    adorned = [(edges, node) for edges, node in own if node._gx_hanging()]
    if adorned:
        held = {id(node) for _, node in own}
        for edge, node in (found for edges, weight in adorned for found in nodes_on(weight, edges, module)):
            if id(node) not in held:  # a layer has most of them in attributes, too, such as ``kernel_regularizer``
                held.add(id(node))
                yield (edge,), node


def nodes_on(weight: Node, edges: tuple[Edge, ...], holder: Node) -> Iterator[tuple[str, Node]]:
    """Yield the Nodes that hang on a weight, each with its edge from the Module that holds the weight.

    Nothing hangs below a Variable, so its Module has them: ``kernel.regularizer`` is one edge. What a part of an
    expression has in common with the whole hangs on the whole.

    Args:
        weight: The weight.
        edges: From the Module to the weight.
        holder: The Module.
    """
    on_whole = [thing for _, thing in holder._gx_hanging()]
    for name, thing in weight._gx_hanging():
        if isinstance(thing, Node) and not any(thing is one for one in on_whole):
            yield ".".join([*map(str, edges), name]), thing


def nodes_on_weights(module: Node) -> list[tuple[str, Node]]:
    """Return the Nodes that hang on the weights that a Module holds itself, also those that it has in attributes."""
    return [found for edges, node in _nodes_of_attributes(module) for found in nodes_on(node, edges, module)]


def _nodes_of_attributes(module: Node) -> Iterator[tuple[tuple[Edge, ...], Node]]:
    skip = ignored_attributes(type(module))
    if beside := module._gx_on_weight:
        skip |= beside
    seen: set[int] = set()
    for name, value in list(module.__dict__.items()):
        if type(value) in _PLAIN or name in skip:
            continue
        if isinstance(value, Node):
            yield (name,), value
        elif isinstance(value, _CONTAINERS):
            yield from _nodes_in((name,), value, seen)


def _nodes_in(edges: tuple[Edge, ...], container: Any, seen: set[int]) -> Iterator[tuple[tuple[Edge, ...], Node]]:
    if id(container) in seen:
        return
    seen.add(id(container))
    for edge, element in items_of(container):
        if isinstance(element, Node):
            yield (*edges, edge), element
        elif isinstance(element, _CONTAINERS):
            yield from _nodes_in((*edges, edge), element, seen)


# every walk looks at every attribute of every Module: the types of most values tell that there is no Node in them
_PLAIN = frozenset({type(None), bool, int, float, str, FunctionType, weakref.ref})
_CONTAINERS = (list, tuple, dict)


def own(owner: Node, edges: tuple[Edge, ...], node: Node) -> None:
    """Let the Node hang there, unless that would close a circle."""
    if isinstance(node, Leaf) or not is_inside(owner, node):
        node._gx_owner_ref = weakref.ref(cast(Branch, owner))
        node._gx_edges = edges


def is_inside(node: Node, candidate: Node) -> bool:
    """Return True if ``candidate`` already is above ``node``: adopting it would close a circle."""
    above: Node | None = node
    while above is not None:
        if above is candidate:
            return True
        above = above._gx_owner
    return False


def outermost(node: Node) -> Node:
    """Return the root of the graph in which the object hangs."""
    while (owner := node._gx_owner) is not None:
        node = owner
    return node
