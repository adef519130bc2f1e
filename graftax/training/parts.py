"""Parts: the objects of a model that the loops need, found by one walk and cached until the object graph changes."""

from __future__ import annotations

from collections.abc import Iterator
from operator import is_
from typing import Any

from graftax.layers.layer import Layer
from graftax.layers.stateful import Stateful
from graftax.losses.loss import Loss
from graftax.metrics.metric import Metric
from graftax.variables.graph.module import Module
from graftax.variables.graph.node import Edge, ignored_attributes
from graftax.variables.graph.reserved import LOSS
from graftax.variables.graph.structure import structure
from graftax.variables.graph.walking import walk_with_edges
from graftax.variables.state.storage import frames
from graftax.variables.variable import Variable

_CONTAINERS = (list, tuple, dict)


class Parts:
    """The result of one walk.

    Args:
        model: The model.
    """

    def __init__(self, model: Module) -> None:
        self.metrics: dict[str, Metric] = {}
        """The metrics in the graph, by path, except those inside of other metrics."""
        self.stateful: list[Stateful] = []
        """The layers that may keep their state from call to call."""
        self.states: list[Variable] = []
        """The Variables of the role "state"."""
        self.calls_python = False
        """Whether a layer, loss or metric runs arbitrary Python."""
        self.has_other_losses = False
        """Whether a model below was compiled with a loss that has Variables."""
        self._version = structure.version
        self._containers: list[tuple[Any, list[Any]]] = []
        found: set[tuple[Edge, ...]] = set()
        for edges, node in walk_with_edges(model):
            if isinstance(node, Metric) and not any(edges[:depth] in found for depth in range(1, len(edges))):
                found.add(edges)
                self.metrics["/".join(map(str, edges))] = node
            elif isinstance(node, Stateful):
                self.stateful.append(node)
            elif isinstance(node, Variable) and node.role == "state":
                self.states.append(node)
            if isinstance(node, Layer | Loss | Metric) and node.calls_python:
                self.calls_python = True
            if isinstance(node, Module):
                self.has_other_losses |= (
                    bool(edges) and vars(node).get("_gx_objectives") is not None and LOSS in vars(node)
                )
                object.__setattr__(node, "_gx_watched", True)  # the counter of assignments to attributes
                self._containers += ((one, _content(one)) for one in _containers_of(node))

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()  # not copied: a copy of the model searches its own graph

    def are_the_same(self) -> bool:
        """Return True if the graph is unchanged: no attribute was assigned, and no list or dict has other elements."""
        if self._version != structure.version:
            return False
        for one, held in self._containers:
            now = _content(one)
            if len(now) != len(held) or False in map(is_, now, held):
                return False
        return True


def parts_of(model: Module) -> Parts:
    """Return the parts of a model, from the cache if they are up to date."""
    kept: Parts | None = model.__dict__.get("_gx_parts")
    if kept is not None and frames.top is None and kept.are_the_same():
        return kept
    found = Parts(model)
    if frames.top is None:  # while compiling, the walk itself must run: it records what the function depends on
        object.__setattr__(model, "_gx_parts", found)
    return found


def _containers_of(module: Module) -> Iterator[Any]:
    """Yield the lists and dicts in the attributes of a Module, including nested ones."""
    skip, seen = ignored_attributes(type(module)), set[int]()
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
