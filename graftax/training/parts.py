"""Parts: what the loops look for in the object graph of a model, found by one walk and kept as long as that stays."""

from __future__ import annotations

from collections.abc import Iterator
from operator import is_
from typing import Any

from graftax.layers.layer import Layer
from graftax.layers.stateful import Stateful
from graftax.metrics.metric import Metric
from graftax.variables.graph.module import Module
from graftax.variables.graph.node import Edge, ignored
from graftax.variables.graph.structure import structure
from graftax.variables.graph.walking import walk_with_edges
from graftax.variables.state.storage import frames

_CONTAINERS = (list, tuple, dict)


class Parts:
    """What one walk has found.

    Args:
        model: The model.
    """

    def __init__(self, model: Module) -> None:
        self.metrics: dict[str, Metric] = {}
        """Those anywhere in the graph, by path, but for those inside of other metrics."""
        self.stateful: list[Stateful] = []
        """The layers that may keep their state from call to call."""
        self.calls_python = False
        """Whether a layer runs Python in its call."""
        self._version = structure.version
        self._containers: list[tuple[Any, list[Any]]] = []
        found: set[tuple[Edge, ...]] = set()
        for edges, node in walk_with_edges(model):
            if isinstance(node, Metric) and not any(edges[:depth] in found for depth in range(1, len(edges))):
                found.add(edges)
                self.metrics["/".join(map(str, edges))] = node
            elif isinstance(node, Stateful):
                self.stateful.append(node)
            if isinstance(node, Layer) and node.calls_python:
                self.calls_python = True
            if isinstance(node, Module):
                object.__setattr__(node, "_gx_watched", True)  # an assignment to an attribute counts as a change
                self._containers += ((one, _content(one)) for one in _containers_of(node))

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()  # a copy of the model looks for itself

    def are_the_same(self) -> bool:
        """Return True if a walk would find the same: no attribute was assigned, no list or dict has other elements."""
        if self._version != structure.version:
            return False
        for one, held in self._containers:
            now = _content(one)
            if len(now) != len(held) or False in map(is_, now, held):
                return False
        return True


def parts_of(model: Module) -> Parts:
    """Return what there is now."""
    kept: Parts | None = model.__dict__.get("_gx_parts")
    if kept is not None and frames.top is None and kept.are_the_same():
        return kept
    found = Parts(model)
    if frames.top is None:  # a function that is being compiled depends on what it walks through
        object.__setattr__(model, "_gx_parts", found)
    return found


def _containers_of(module: Module) -> Iterator[Any]:
    """Yield the lists and dicts in the attributes of a Module, also those inside of each other and of tuples."""
    skip, seen = ignored(type(module)), set[int]()
    stack = [one for name, one in module.__dict__.items() if isinstance(one, _CONTAINERS) and name not in skip]
    while stack:
        one = stack.pop()
        if id(one) not in seen:
            seen.add(id(one))
            if not isinstance(one, tuple):
                yield one
            stack += (element for element in _content(one) if isinstance(element, _CONTAINERS))


def _content(container: Any) -> list[Any]:
    return [*container, *container.values()] if isinstance(container, dict) else [*container]
