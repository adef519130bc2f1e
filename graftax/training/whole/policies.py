"""Dtype policies of a whole model: noted for each layer of it, given back before the layer makes weights."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from graftax.layers import building, policy
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.variables.graph.module import walk_with_edges
from graftax.variables.graph.node import Edge, Node, own_nodes


def noted(objects: Mapping[int, object]) -> list[list[Any]]:
    """Return of each layer that was described its number, its policy, and those below with others, by path."""
    found = []
    for number, layer in objects.items():
        if isinstance(layer, Layer):
            own = layer._gx_dtypes.name
            others = [[path, below._gx_dtypes.name] for path, below in _layers(layer) if below._gx_dtypes.name != own]
            found.append([number, own, others])
    return found


class Policies:
    """Gives layers that are made again the policies that they had, whatever the global policy is now.

    Args:
        said: What `noted` has given; none for files that do not tell.
    """

    def __init__(self, said: list[list[Any]]) -> None:
        self._said: dict[int, tuple[DTypePolicy, dict[str, DTypePolicy]]] = {
            number: (DTypePolicy(own), {path: DTypePolicy(name) for path, name in others})
            for number, own, others in said
        }
        self._of: dict[int, tuple[Layer, DTypePolicy, dict[str, DTypePolicy]]] = {}  # with the layer, by its id

    def assumed(self, number: int) -> AbstractContextManager[None]:
        """Let a layer be constructed where its own policy is that of layers that are given none."""
        return policy.assumed.entered(self._said[number][0]) if number in self._said else nullcontext()

    def give(self, number: int, made: object) -> None:
        """Give a layer that was constructed, and those that it has by now, their policies."""
        if number in self._said and isinstance(made, Layer):
            self._of[id(made)] = (made, *self._said[number])
            self.settle(made)

    def settle(self, model: Layer) -> None:
        """Give a layer and all below their policies, weights or not."""
        _, own, others = self._of.get(id(model), (model, None, {}))
        if own is not None:
            for path, layer in _layers(model):
                _set(layer, others.get(path, own))

    def before_build(self, layer: object) -> None:
        """Give a layer that a `build` has made its policy, before it makes weights itself."""
        edges: tuple[Edge, ...] = ()
        node: Node = layer  # type: ignore[assignment]
        while id(node) not in self._of:
            found = node._gx_locate()
            if found is None:
                return
            node, edges = found[0], (*found[1], *edges)
        _, own, others = self._of[id(node)]
        if isinstance(layer, Layer):
            _set(layer, others.get("/".join(map(str, edges)), own))


def _layers(layer: Layer) -> list[tuple[str, Layer]]:
    return [("/".join(map(str, edges)), node) for edges, node in walk_with_edges(layer) if isinstance(node, Layer)]


def _set(layer: Layer, new: DTypePolicy) -> None:
    if layer._gx_dtypes != new:
        layer._gx_policy = new
        for _, weight in own_nodes(layer):
            building.note_dtypes(layer, weight)
