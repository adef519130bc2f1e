"""The attribute of a layer that is an activation: names are taken at any assignment, as the constructor takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graftax.layers import activations
from graftax.layers.activations import Activation, ActivationLike

if TYPE_CHECKING:
    from graftax.layers.layer import Layer


class NamedActivation:
    """Has the function in the layer's ``__dict__``, where the object graph is looked for."""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    def __get__(self, layer: Layer | None, kind: type[Any]) -> Activation:
        if layer is None or self._name not in layer.__dict__:
            raise AttributeError(self._name)
        function: Activation = layer.__dict__[self._name]
        return function

    def __set__(self, layer: Layer, value: ActivationLike) -> None:
        layer.__dict__[self._name] = activations.get(value)

    def __delete__(self, layer: Layer) -> None:
        del layer.__dict__[self._name]
