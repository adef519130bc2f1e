"""What hangs below an object of a program, as a checkpoint sees it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graftax.checkpoint.index import Edge
from graftax.variables.graph.module import Module, Node, items_of, walk


def children_of(thing: object) -> Iterator[tuple[Edge, Any]]:
    """Yield edges and what is under them, of a Module, or of a list, tuple or dict."""
    if isinstance(thing, Module):
        yield from thing._gx_held()
    elif isinstance(thing, list | tuple | dict):
        for edge, child in items_of(thing):
            if isinstance(child, Node | list | tuple | dict):
                yield str.__str__(edge) if isinstance(edge, str) else int(edge), child


def keeps_state(module: Module) -> bool:
    """True if the Module has Python state for a checkpoint."""
    return type(module).get_state is not Module.get_state


def keeps_slots(module: Module) -> bool:
    """True if the Module may have slots for Variables."""
    return type(module)._gx_slot_records is not Module._gx_slot_records


def settle(thing: Any, seen: set[int]) -> None:
    """Let Modules make what they make when they are asked, and take in what nobody owns, such as what was appended."""
    if isinstance(thing, Module):
        for _ in walk(thing):  # both happen on the way
            pass
    elif isinstance(thing, list | tuple | dict) and id(thing) not in seen:
        seen.add(id(thing))
        for _, child in items_of(thing):
            settle(child, seen)
