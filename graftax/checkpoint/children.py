"""The children of an object in the object graph, as a checkpoint sees them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

from graftax.checkpoint.index import Edge
from graftax.variables.graph.module import Module, Node, items_of, walk
from graftax.variables.graph.node import Leaf, outermost, own_nodes


def children_of(container: object) -> Iterator[tuple[Edge, Any]]:
    """Yield the edges of a Module, list, tuple or dict, each with the child that it leads to."""
    if isinstance(container, Module):
        yield from container._gx_held()
    elif isinstance(container, list | tuple | dict):
        for edge, child in items_of(container):
            if isinstance(child, Node | list | tuple | dict):
                yield str.__str__(edge) if isinstance(edge, str) else int(edge), child


def hanging_on_lone(roots: Mapping[str, Any]) -> dict[str, Node]:
    """Return what hangs on Variables that no Module holds, such as a regularizer with Variables, by names for roots.

    Args:
        roots: Variables, and lists, tuples and dicts of them, by name; what Modules hold hangs below these.
    """
    found: dict[str, Node] = {}
    seen: set[int] = set()
    waiting: list[tuple[str, Any]] = list(roots.items())[::-1]
    while waiting:
        path, thing = waiting.pop()
        if isinstance(thing, Leaf):
            found |= {f"{path}.{name}": one for name, one in thing._gx_hanging() if isinstance(one, Node)}
        elif not isinstance(thing, Node) and id(thing) not in seen:
            seen.add(id(thing))
            waiting += [(f"{path}.{edge}", child) for edge, child in list(children_of(thing))[::-1]]
    return found


def hung_on_lone(name: str, roots: Container[str]) -> bool:
    """Tell whether a saved root, none of these, is what hung on a Variable of one of these."""
    first, dot, rest = name.partition(".")
    return bool(dot) and name not in roots and first in roots and rest.endswith(("regularizer", "constraint"))


def keeps_state(module: Module) -> bool:
    """Return True if the Module has Python state for a checkpoint."""
    return type(module).get_state is not Module.get_state


def keeps_slots(module: Module) -> bool:
    """Return True if the Module may have slots for Variables."""
    return type(module)._gx_slot_records is not Module._gx_slot_records


def models_among(roots: Mapping[str, Any]) -> list[Module]:
    """Return what may be trained, the likeliest first: by its paths rules of an optimizer say which slots there are.

    These are the roots, but after what it holds one that is a whole program: it has an optimizer, and cannot be called;
    then what holds a root that is a part.
    """
    given = [root for root in _modules_in(list(roots.values()), set()) if not keeps_slots(root)]
    held = {id(root): [node for _, node in own_nodes(root) if isinstance(node, Module)] for root in given}
    programs = [root for root in given if not callable(root) and any(map(keeps_slots, held[id(root)]))]
    within = [node for root in programs for node in held[id(root)] if not keeps_slots(node)]
    whole = [root for root in map(outermost, given) if isinstance(root, Module)]
    models = [root for root in given if root not in programs]
    return list({id(one): one for one in (*models, *within, *programs, *whole)}.values())


def _modules_in(value: object, seen: set[int]) -> Iterator[Module]:
    if isinstance(value, Module):
        yield value
    elif isinstance(value, list | tuple | dict) and id(value) not in seen:
        seen.add(id(value))
        for _, child in items_of(value):
            yield from _modules_in(child, seen)


def adopt_pending(value: Any, seen: set[int]) -> None:
    """Let Modules create their lazy state, and adopt objects without an owner, such as those appended to a list."""
    if isinstance(value, Module):
        for _ in walk(value):  # asking for the children does both
            pass
    elif isinstance(value, list | tuple | dict) and id(value) not in seen:
        seen.add(id(value))
        for _, child in items_of(value):
            adopt_pending(child, seen)
