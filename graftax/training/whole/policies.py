"""Dtype policies of a whole model: saved for each layer, and set again before the layer makes weights."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from graftax.layers import building, policy
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.variables.graph.module import walk_with_edges
from graftax.variables.graph.node import Edge, Node, own_nodes


def policies_of(objects: Mapping[int, object]) -> list[list[Any]]:
    """Return for each described layer its number, its policy, and the layers below with another policy, by path."""
    found = []
    for number, layer in objects.items():
        if isinstance(layer, Layer):
            own = layer._gx_dtypes.name
            others = [[path, below._gx_dtypes.name] for path, below in _layers(layer) if below._gx_dtypes.name != own]
            found.append([number, own, others])
    return found


class Policies:
    """Sets the dtype policies of the layers of a model that is loaded, whatever the global policy is.

    Args:
        description: The result of `policies_of`; empty for files without one.
    """

    def __init__(self, description: list[list[Any]]) -> None:
        self._policies: dict[int, tuple[DTypePolicy, dict[str, DTypePolicy]]] = {
            number: (DTypePolicy(own), {path: DTypePolicy(name) for path, name in others})
            for number, own, others in description
        }
        self._of: dict[int, tuple[Layer, DTypePolicy, dict[str, DTypePolicy]]] = {}  # with the layer, by its id

    def under_policy(self, number: int) -> AbstractContextManager[None]:
        """Use the policy of a layer as the default while the layer is constructed."""
        return policy.assumed.entered(self._policies[number][0]) if number in self._policies else nullcontext()

    def give(self, number: int, layer: object) -> None:
        """Set the policy of a constructed layer, and of the layers that it has so far."""
        if number in self._policies and isinstance(layer, Layer):
            self._of[id(layer)] = (layer, *self._policies[number])
            self.settle(layer)

    def settle(self, model: Layer) -> None:
        """Set the policies of a layer and of all layers below it, with or without weights."""
        _, own, others = self._of.get(id(model), (model, None, {}))
        if own is not None:
            for path, layer in _layers(model):
                _set(layer, others.get(path, own))

    def before_build(self, layer: object) -> None:
        """Set the policy of a layer that a ``build`` has made, before it makes weights."""
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
