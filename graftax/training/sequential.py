"""Sequential: layers one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from graftax.errors import ArgumentTypeError
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.training.model import Model


class Sequential(Model):
    """A model whose layers pass their output on to the next.

    Args:
        layers: Layers, or functions of one array.
        name: Its name.
        trainable: Whether its Variables may be trained.
        dtype: A dtype policy or its name; layers keep their own.

    Shape:
        As the first layer takes to as the last one gives.

    Raises:
        ArgumentTypeError: something in the list cannot be called.

    Example:
        >>> import numpy as np, graftax as gx
        >>> model = Sequential([gx.layers.Dense(4, activation="relu"), gx.layers.Dense(1)])
        >>> model(np.ones((2, 3), "float32")).shape
        (2, 1)
        >>> [v.path for v in model.variables]
        ['layers/0/kernel', 'layers/0/bias', 'layers/1/kernel', 'layers/1/bias']
    """

    supports_masking = True  # each layer says what becomes of a mask
    compiles_call = True  # where all layers do

    def __init__(
        self,
        layers: Iterable[Callable[[Any], Any]] = (),
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        self.layers: list[Callable[[Any], Any]] = []
        if not isinstance(layers, Iterable) or isinstance(name, Layer):
            raise ArgumentTypeError(
                f"Sequential got {layers!r} as layers",
                "it takes one list of layers",
                "gx.Sequential([gx.layers.Dense(10), ...])",
            )
        for layer in layers:
            self.add(layer)
        super().__init__(name, trainable, dtype)

    def add(self, layer: Callable[[Any], Any]) -> None:
        """Put a layer at the end."""
        if not callable(layer) or isinstance(layer, type):
            raise ArgumentTypeError(
                f"Sequential got {layer!r}",
                "a layer is an object that can be called on an array",
                f"{layer.__name__}(...)" if isinstance(layer, type) else "gx.layers.Dense(10)",
            )
        self.layers = [*self.layers, layer]

    def call(self, x: Any) -> Any:
        """Pass ``x`` through all layers."""
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if x is None:
                raise ArgumentTypeError(
                    f"layers/{i} ({getattr(type(layer), '__name__', layer)}) returned None",
                    "its output is what the next layer, or the loss, computes with",
                    "return the output at the end of its call",
                )
        return x

    def compute_mask(self, inputs: Any, mask: Any) -> Any:
        """The last layer has set it already."""
        return None
