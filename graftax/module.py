"""Module: an object whose attributes form the object graph. Children are found by walking attributes and containers.

Paths come from the edges of that graph, never from names: an object hangs where its first owner keeps it. Definition
order is the order everywhere: attributes as first assigned, containers in their order, depth first, shared objects
once.
"""

from __future__ import annotations

import copy
import re
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

from graftax.errors import ArgumentError
from graftax.variables import creation, storage

if TYPE_CHECKING:
    from graftax.variables.variable import Variable

Edge: TypeAlias = str | int
Child: TypeAlias = "Node | list[Any] | tuple[Any, ...] | dict[Any, Any]"
N = TypeVar("N", bound="Node")

_BOOKKEEPING = frozenset({"_owner", "_edges", "_pending", "_captured", "_seed_root"})


class Structure:
    """A count of structural changes; a compiled function compares it to know whether to look closer."""

    def __init__(self) -> None:
        self.version = 0

    def bump(self) -> None:
        """Something that a trace may depend on has changed."""
        self.version += 1


structure = Structure()


class Pending(Protocol):
    """Values from a checkpoint that wait for the objects they belong to."""

    def claim(self, edge: Edge, variable: Variable) -> None:
        """A Variable has appeared under this edge: give it its value, if there is one."""
        ...

    def child(self, edge: Edge) -> Pending | None:
        """What waits below this edge, or None."""
        ...


@dataclass(frozen=True)
class SlotRecord:
    """A Variable that an optimizer keeps for another Variable."""

    name: str
    variable: Variable
    slot: Variable


class Node:
    """Something with a place in the object graph."""

    _owner: weakref.ref[Module] | None = None
    _edges: tuple[Edge, ...] = ()

    @property
    def owner(self) -> Module | None:
        """The Module that holds this object, the first one that did; None if there is none (any more)."""
        found = self._locate()
        return found[0] if found else None

    @property
    def path(self) -> str:
        """Where it hangs: the edges from its outermost owner, such as ``layers/0/kernel``; the owner adds none."""
        return "/".join(map(str, self.edges()))

    def edges(self) -> tuple[Edge, ...]:
        """The edges from the outermost owner."""
        found = self._locate()
        return (*found[0].edges(), *found[1]) if found else ()

    def _locate(self) -> tuple[Module, tuple[Edge, ...]] | None:
        owner = self._owner() if self._owner is not None else None
        if owner is None:
            return None
        if _follow(owner, self._edges) is self:
            return owner, self._edges
        # moved within its owner (a list was reordered), or gone
        for edges, node in _own_nodes(owner):
            if node is self:
                self._edges = edges
                return owner, edges
        self._owner = None
        return None


def _follow(owner: Module, edges: tuple[Edge, ...]) -> object:
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


class Module(Node):
    """The base of everything that holds Variables: layers, optimizers, metrics, models, reparametrisations.

    Attributes are its children if they are Modules or Variables, or lists, tuples or dicts of these, however nested.
    ``super().__init__()`` may be called or not.

    Example:
        >>> import graftax as gx
        >>> class Pair(Module):
        ...     def __init__(self):
        ...         self.first = gx.Variable([1.0, 2.0])
        ...         self.rest = [gx.Variable(3.0, trainable=False)]
        >>> pair = Pair()
        >>> [v.path for v in pair.variables]
        ['first', 'rest/0']
        >>> len(pair.trainable_variables)
        1
    """

    untracked: ClassVar[frozenset[str]] = frozenset()
    """Names of attributes whose content is not part of the object graph; those of base classes count too."""

    _pending: Pending | None = None
    _captured: tuple[creation.CreatorScope, ...] = ()
    _seed_root: tuple[int, int] | None = None  # see variables/keys.py
    _frozen = False
    _name: str | None = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        self = super().__new__(cls)
        active = creation.scopes.items
        if active:  # built later, it will still remember these
            object.__setattr__(self, "_captured", active)
        return self

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not re.fullmatch(r"[A-Za-z_.][\w.\-]*", name):
            raise ArgumentError(
                f"name={name!r} for {type(self).__name__}",
                "a name starts with a letter and has letters, digits, '_', '-' and '.'",
                'name="encoder"',
            )
        self._name = name

    # --- attributes -------------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        before = self.__dict__.get(name, _ABSENT)
        object.__setattr__(self, name, value)
        if before is not value and name in self.__dict__:
            if name not in ignored(type(self)):
                _adopt(self, (name,), value)
            if before is not _ABSENT:
                structure.bump()

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        structure.bump()

    # --- the graph --------------------------------------------------------------------------------------------------

    def children(self) -> Iterator[tuple[Edge, Child]]:
        """Edges and children in definition order; a container is a child if it holds a Module or Variable somewhere."""
        for name, value in self.__dict__.items():
            if name not in ignored(type(self)) and _holds_node(value, set()):
                yield name, value

    @property
    def name(self) -> str:
        """The given name, else the class name in snake case."""
        return self._name or snake_case(type(self).__name__)

    @property
    def submodules(self) -> list[Module]:
        """All Modules below this one, each once, depth first."""
        return [node for node in walk(self) if isinstance(node, Module) and node is not self]

    @property
    def variables(self) -> list[Variable]:
        """All Variables below this Module, each once, in definition order."""
        return [node for node in walk(self) if isinstance(node, Leaf)]  # type: ignore[misc]

    @property
    def trainable_variables(self) -> list[Variable]:
        """The Variables that optimizers may move."""
        return [v for v in self.variables if v.trainable]

    @property
    def non_trainable_variables(self) -> list[Variable]:
        """The rest."""
        return [v for v in self.variables if not v.trainable]

    def named_variables(self) -> dict[str, Variable]:
        """Variables by their path from this Module."""
        result: dict[str, Variable] = {}
        for edges, node in walk_with_edges(self):
            if isinstance(node, Leaf):
                result["/".join(map(str, edges))] = node  # type: ignore[assignment]
        return result

    @property
    def trainable(self) -> bool:
        """False freezes every Variable below, those still to be made included; True undoes that."""
        return not self._frozen

    @trainable.setter
    def trainable(self, value: bool) -> None:
        structure.bump()
        for node in walk(self):
            if isinstance(node, Leaf):
                node.frozen = not value
            elif isinstance(node, Module):
                node._frozen = not value

    # --- hooks ------------------------------------------------------------------------------------------------------

    def slots(self) -> Iterable[SlotRecord]:
        """Variables kept for other Variables; optimizers have some."""
        return ()

    def ensure_slot(self, name: str, variable: Variable) -> Variable | None:
        """The slot of that name for a Variable, made if need be; None if this Module keeps no such slot."""
        return None

    def get_state(self) -> Any:
        """Plain Python state for the checkpoint (numbers, strings, lists, dicts), or None."""
        return None

    def set_state(self, state: Any) -> None:
        """Take back what `get_state` gave."""

    def fingerprint(self) -> dict[str, Any]:
        """What a trace may depend on: plain attributes, which objects the children are, which are frozen."""
        skip = ignored(type(self))
        return {name: _print_of(value) for name, value in self.__dict__.items() if name not in skip}

    # --- copies -----------------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        new = object.__new__(type(self))
        memo[id(self)] = new
        for name, value in self.__dict__.items():
            if name not in _BOOKKEEPING:
                object.__setattr__(new, name, copy.deepcopy(value, memo))
        new._readopt()
        return new

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in _BOOKKEEPING}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._readopt()

    def _readopt(self) -> None:
        for name, value in self.__dict__.items():
            if name not in ignored(type(self)):
                _adopt(self, (name,), value)


class Leaf(Node):
    """A node without children: a Variable."""

    role: str
    frozen: bool = False


_ABSENT = object()


@cache
def ignored(kind: type[Module]) -> frozenset[str]:
    """Names of the attributes that are no part of the object graph."""
    return _BOOKKEEPING.union(*(base.__dict__.get("untracked", ()) for base in kind.__mro__))


def snake_case(name: str) -> str:
    """``CamelCaseThing`` as ``camel_case_thing``, ``Conv2DTranspose`` as ``conv2d_transpose``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])", "_", name).lower()


def items_of(container: Any) -> Iterator[tuple[Edge, Any]]:
    """Edges and elements of a list, tuple, named tuple or dict; nothing for other values."""
    if isinstance(container, dict):
        for key, value in container.items():
            if isinstance(key, str | int):
                yield key, value
            elif _holds_node(value, set()):
                raise ArgumentError(
                    f"a dict with the key {key!r} holds a Module or Variable",
                    "paths are made of strings and integers",
                    f"the key {str(key)!r}",
                )
    elif isinstance(container, list | tuple):
        names = getattr(container, "_fields", None)
        yield from zip(names or range(len(container)), container, strict=True)


def _holds_node(value: Any, seen: set[int]) -> bool:
    if isinstance(value, Node):
        return True
    if isinstance(value, list | tuple | dict) and id(value) not in seen:
        seen.add(id(value))
        elements = value.values() if isinstance(value, dict) else value
        return any(_holds_node(element, seen) for element in elements)
    return False


def _own_nodes(module: Module) -> Iterator[tuple[tuple[Edge, ...], Node]]:
    """The Nodes that a Module holds itself, directly or in containers."""
    seen: set[int] = set()

    def visit(edges: tuple[Edge, ...], value: Any) -> Iterator[tuple[tuple[Edge, ...], Node]]:
        if isinstance(value, Node):
            yield edges, value
        elif isinstance(value, list | tuple | dict) and id(value) not in seen:
            seen.add(id(value))
            for edge, element in items_of(value):
                yield from visit((*edges, edge), element)

    skip = ignored(type(module))
    for name, value in list(module.__dict__.items()):
        if name not in skip:
            yield from visit((name,), value)


def walk_with_edges(root: Node) -> Iterator[tuple[tuple[Edge, ...], Node]]:
    """The root and every Node below it with its edges from the root, each once, depth first, in definition order.

    On the way, objects that nobody owns yet (appended to a list, say) are adopted.
    """
    seen = {id(root)}
    yield (), root
    stack = [((), _own_nodes(root))] if isinstance(root, Module) else []
    owners: list[Any] = [root]
    while stack:
        prefix, nodes = stack[-1]
        entry = next(nodes, None)
        if entry is None:
            stack.pop()
            owners.pop()
            continue
        edges, node = entry
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node._owner is None:
            _adopt_node(owners[-1], edges, node)
        yield (*prefix, *edges), node
        if isinstance(node, Module):
            stack.append(((*prefix, *edges), _own_nodes(node)))
            owners.append(node)


def walk(root: Node) -> Iterator[Node]:
    """The root and every Node below it, each once, depth first, in definition order."""
    return (node for _, node in walk_with_edges(root))


def outermost(node: Node) -> Node:
    """The root of the graph in which the object hangs."""
    while (owner := node.owner) is not None:
        node = owner
    return node


# --- adoption ---------------------------------------------------------------------------------------------------------


def _adopt(owner: Module, edges: tuple[Edge, ...], value: Any, depth: int = 0) -> None:
    if isinstance(value, Node):
        _adopt_node(owner, edges, value)
    elif isinstance(value, list | tuple | dict) and depth < 32:
        for edge, element in items_of(value):
            _adopt(owner, (*edges, edge), element, depth + 1)


def _adopt_node(owner: Module, edges: tuple[Edge, ...], node: Node) -> None:
    if node is owner:
        return
    if node.owner is None and not (isinstance(node, Module) and _inside(owner, node)):
        node._owner = weakref.ref(owner)
        node._edges = edges
    if owner._frozen and isinstance(node, Leaf):
        node.frozen = True
    pending = owner._pending
    for edge in edges[:-1]:
        pending = pending.child(edge) if pending is not None else None
    if pending is not None:
        deliver(pending, edges[-1], node)


def _inside(node: Module, candidate: Module) -> bool:
    """True if ``candidate`` already is above ``node``: adopting it would close a circle."""
    above: Module | None = node
    while above is not None:
        if above is candidate:
            return True
        above = above.owner
    return False


def deliver(pending: Pending, edge: Edge, node: Node) -> None:
    """Give a Node, and all that hangs below it, the values that wait for it."""
    if isinstance(node, Module):
        below = pending.child(edge)
        if below is not None:
            set_pending(node, below)
    else:
        with storage.concretely():
            pending.claim(edge, node)  # type: ignore[arg-type]


def set_pending(module: Module, pending: Pending | None) -> None:
    """Let values wait below a Module; those whose Variables exist already are delivered at once."""
    object.__setattr__(module, "_pending", pending)
    if pending is None:
        return
    for edges, node in list(_own_nodes(module)):
        below: Pending | None = pending
        for edge in edges[:-1]:
            below = below.child(edge) if below is not None else None
        if below is not None:
            deliver(below, edges[-1], node)


def _print_of(value: Any) -> Any:
    if isinstance(value, Leaf):
        return ("variable", id(value), value.frozen, getattr(value, "trainable", None))
    if isinstance(value, list | tuple):
        return (type(value).__name__, tuple(_print_of(v) for v in value))
    if isinstance(value, dict):
        return ("dict", tuple((k, _print_of(v)) for k, v in value.items()))
    if isinstance(value, str | bytes | bool | int | float | complex | None):
        return (type(value).__name__, value)
    return ("object", id(value))
