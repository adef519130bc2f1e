"""Sequential: layers one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from graftax.core import user_line
from graftax.core.errors import ArgumentTypeError
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.training.model import Model
from graftax.variables import masks
from graftax.variables.graph.reserved import OF_SEQUENTIAL, Words


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

    _gx_words: ClassVar[Words] = OF_SEQUENTIAL
    supports_masking = True  # each layer says what becomes of a mask
    _gx_hands_on_masks = True
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
            before, x = x, layer(x)
            if not isinstance(layer, Layer) and masks.mask_of(before) is not None and masks.mask_of(x) is None:
                self._gx_warn_of_mask(i, layer)
            if x is None:
                raise ArgumentTypeError(
                    f"layers/{i} ({getattr(type(layer), '__name__', layer)}) returned None",
                    "its output is what the next layer, or the loss, computes with",
                    "return the output at the end of its call",
                )
        return x

    def _gx_warn_of_mask(self, i: int, function: Callable[..., Any]) -> None:
        if not self._gx_warned:
            object.__setattr__(self, "_gx_warned", True)
            user_line.warn(
                f"the mask of the input of layers/{i} ({type(function).__name__}) is dropped: functions hand none on. "
                "Write layers.Activation(function), or a Layer with supports_masking = True, where each position is "
                "computed on its own."
            )

    def compute_mask(self, inputs: Any, mask: Any) -> Any:
        """Return None: the last layer has set the mask already."""
        return None
