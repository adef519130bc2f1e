"""The outline of a program, only its edges: so a partial restore need not build the whole graph.

The outline of 5,000 Variables costs a tenth of the time of their `Graph`. It records the parent of each object on the
shortest path from the roots, and all other parents. So it can tell which objects some selectors may mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graftax.checkpoint.children import children_of, keeps_slots, keeps_state
from graftax.checkpoint.index import Edge
from graftax.checkpoint.paths import escape
from graftax.variables.graph.copies import Copied
from graftax.variables.graph.module import Module
from graftax.variables.graph.node import Node, ignored_attributes

Heads = Sequence[tuple[str, ...]]
"""The first components of all paths that selectors may mean."""

_PART = 4  # if the part has more than 1 of this many objects, the whole graph is built


class _Kinds(dict[type[Any], int]):
    """The kind of objects by class: ignored, a leaf, a Module, or a container."""

    def __missing__(self, kind: type[Any]) -> int:
        if issubclass(kind, Module):
            found = _MODULE
        elif issubclass(kind, Node):
            found = _LEAF
        else:
            found = _CONTAINER if issubclass(kind, list | tuple | dict) else _OTHER
        self[kind] = found
        return found


_OTHER, _LEAF, _MODULE, _CONTAINER = range(4)


class Outline:
    """All objects below some roots, by id, in the order of `Graph`.

    Args:
        roots: Names and objects.

    ``is_settled`` is False if Modules have lazy state to create, or objects without an owner to adopt. ``is_plain`` is
    False if there are keys that `Graph` may refuse.
    """

    def __init__(self, roots: Mapping[str, Any]) -> None:
        self.roots = roots
        self.is_settled = self.is_plain = True
        self.holders: dict[int, list[Any]] = {id(thing): [] for thing in roots.values()}
        self.with_leaves: set[str] = set()
        kinds = _Kinds()
        level: list[tuple[Any, Any, str]] = [
            (thing, None, name) for name, thing in roots.items() if kinds[type(thing)] != _LEAF
        ]
        self.with_leaves.update(name for name, thing in roots.items() if kinds[type(thing)] == _LEAF)
        holders = self.holders
        while level:
            deeper: list[tuple[Any, Any, str]] = []
            for thing, module, root in level:
                if isinstance(thing, Module):
                    module = thing
                    skip = ignored_attributes(type(thing))
                    held: Iterable[Any] = [v for name, v in list(thing.__dict__.items()) if name not in skip]
                    if _lacks_state(thing):
                        self.is_settled = False
                    if keeps_state(thing):
                        self.with_leaves.add(root)
                elif isinstance(thing, dict):
                    held = list(thing.values())
                    self.is_plain &= _has_plain_keys(thing)
                else:
                    held = thing
                for value in held:
                    kind = kinds[type(value)]
                    if kind == _OTHER:
                        continue
                    known = holders.get(id(value))
                    if known is not None:
                        known.append(thing)
                        continue
                    holders[id(value)] = [thing]
                    if kind == _LEAF:
                        self.with_leaves.add(root)
                    else:
                        deeper.append((value, module, root))
                    if kind != _CONTAINER and module is not None and _is_nobodys(value, module):
                        self.is_settled = False
            level = deeper

    def narrow(self, heads: Heads) -> Narrow | None:
        """Return the part that paths with these heads may be in; None if that is not small, or has special cases."""
        if not (self.is_settled and self.is_plain):
            return None
        narrow = Narrow()
        inside, above = self._follow(heads, narrow.ways)
        limit = len(self.holders) // _PART
        kept = list(above)
        while inside:
            thing = inside.pop()
            if id(thing) not in narrow.inside:
                narrow.inside.add(id(thing))
                if len(narrow.inside) > limit:
                    return None
                kept.append(thing)
                inside += [child for _, child in children_of(thing)]
        while kept:
            thing = kept.pop()
            if id(thing) not in narrow.kept:
                if isinstance(thing, Module) and keeps_slots(thing):
                    return None  # slots depend on Variables in other parts of the program
                narrow.kept.add(id(thing))
                kept += self.holders.get(id(thing), ())
        for name, thing in self.roots.items():
            if id(thing) not in narrow.kept and name not in self.with_leaves:
                return None  # shared objects, which only `Match` can judge
        narrow.with_leaves = frozenset(map(escape, self.with_leaves))
        return narrow if len(narrow.kept) <= limit else None

    def _follow(self, heads: Heads, ways: dict[int, set[str]]) -> tuple[list[Any], list[Any]]:
        """Return the objects below paths of edges or given names, and those above; ``ways`` are the next components."""
        inside: list[Any] = []
        above: list[Any] = []
        level: list[tuple[Iterable[tuple[Edge, Any]], list[tuple[str, ...]]]] = [(self.roots.items(), list(heads))]
        while level:
            deeper: list[tuple[Iterable[tuple[Edge, Any]], list[tuple[str, ...]]]] = []
            for held, paths in level:
                rest: dict[str, list[tuple[str, ...]]] = {}
                for path in paths:
                    rest.setdefault(path[0], []).append(path[1:])
                for edge, child in held:
                    name = getattr(child, "_gx_name", None)
                    for component in {escape(edge), name}:
                        if component not in rest:
                            continue
                        going_on = [path for path in rest[component] if path]
                        if len(going_on) < len(rest[component]):
                            inside.append(child)
                        if going_on:
                            above.append(child)
                            ways.setdefault(id(child), set()).update(path[0] for path in going_on)
                            deeper.append((children_of(child), going_on))
            level = deeper
        return inside, above


class Narrow:
    """A part of a program, as ids of objects.

    ``inside`` are the objects in it; ``ways`` are those above it, with the next components on the way to it; ``kept``
    are all of these and all objects that hold one of them. ``with_leaves`` are the roots that have leaves.
    """

    def __init__(self) -> None:
        self.inside: set[int] = set()
        self.ways: dict[int, set[str]] = {}
        self.kept: set[int] = set()
        self.with_leaves: frozenset[str] = frozenset()

    def may_hold(self, value: object, edge: Edge) -> bool:
        """Return False if nothing below that edge can be selected."""
        return id(value) in self.inside or escape(edge) in self.ways.get(id(value), ())


def _lacks_state(module: Module) -> bool:
    return type(module)._gx_lacks_state is not Copied._gx_lacks_state and module._gx_lacks_state()


def _is_nobodys(node: Node, module: Module) -> bool:
    owner = node._gx_owner_ref
    known = None if owner is None else owner()
    return known is not module and node._gx_owner is None


def _has_plain_keys(container: dict[Any, Any]) -> bool:
    kinds = {type(key) for key in container}
    return kinds <= {str} or kinds <= {int}
