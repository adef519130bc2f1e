"""What layers learnt from data by `adapt`: given back before they are called, since their calls need it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from graftax.layers.discretization import Discretization
from graftax.layers.lookup import Lookup
from graftax.training.whole.description import Describing
from graftax.variables.graph.module import Module, walk_with_edges


def learnt(describing: Describing) -> list[list[Any]]:
    """Return of each such layer the number of the object that was described and holds it, its path there, its state."""
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
    """Gives layers that are made again what they had learnt.

    Args:
        said: What `learnt` has given; none for files that do not tell.
    """

    def __init__(self, said: list[list[Any]]) -> None:
        self._said: dict[int, dict[str, Any]] = defaultdict(dict)
        for number, path, state in said:
            self._said[number][path] = state

    def give(self, number: int, made: object, value: Any) -> None:
        """Give the layers of an object that was constructed their states; ``value`` makes one of its description."""
        said = self._said.get(number)
        if said is None or not isinstance(made, Module):
            return
        for edges, layer in walk_with_edges(made):
            path = "/".join(map(str, edges))
            if path in said and isinstance(layer, Lookup | Discretization):
                layer.set_state(value(said[path]))
