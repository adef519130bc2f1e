"""The states that layers computed from data with `adapt`: set again before the layers are called."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from graftax.layers.discretization import Discretization
from graftax.layers.lookup import Lookup
from graftax.training.whole.description import Describing
from graftax.variables.graph.module import Module, walk_with_edges


def find_adapted_states(describing: Describing) -> list[list[Any]]:
    """Return for each such layer the number of the described object that holds it, its path there, and its state."""
    found, seen = [], set()
    objects = describing.objects
    for number in sorted(objects, reverse=True):  # the innermost first
        holder = objects[number]
        for edges, layer in walk_with_edges(holder) if isinstance(holder, Module) else ():
            if isinstance(layer, Lookup | Discretization) and id(layer) not in seen:
                seen.add(id(layer))
                path = "/".join(map(str, edges))
                found.append([number, path, describing.value(layer.get_state(), f"the state of {layer._gx_title()}")])
    return found


class AdaptedLayers:
    """Sets the states of layers of a model that is loaded.

    Args:
        description: The result of `find_adapted_states`; empty for files without one.
    """

    def __init__(self, description: list[list[Any]]) -> None:
        self._states: dict[int, dict[str, Any]] = defaultdict(dict)
        for number, path, state in description:
            self._states[number][path] = state

    def give(self, number: int, instance: object, value: Any) -> None:
        """Set the states of the layers of a constructed object; ``value`` makes a state from its description."""
        states = self._states.get(number)
        if states is None or not isinstance(instance, Module):
            return
        for edges, layer in walk_with_edges(instance):
            path = "/".join(map(str, edges))
            if path in states and isinstance(layer, Lookup | Discretization):
                layer.set_state(value(states[path]))
