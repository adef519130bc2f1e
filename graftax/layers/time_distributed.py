"""TimeDistributed: a layer applied to each step of a sequence."""

from __future__ import annotations

from typing import Any

from graftax import ops
from graftax.core import tree
from graftax.core.errors import ArgumentTypeError
from graftax.core.typedefs import Array
from graftax.layers.arguments import array_shape, single_shape
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy


class TimeDistributed(Layer):
    """Applies a layer to each step of a sequence alone, as if all steps were one larger batch.

    A mask of ``(batch, steps)`` passes on to the output; the layer inside sees what it hides, too, as finite numbers.

    Args:
        layer: The layer.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`; the layer inside keeps its own.

    Shape:
        ``(batch, steps, ...) -> (batch, steps, ...)``, the rest as the layer inside takes it

    Raises:
        ArgumentTypeError: it is no layer.
        ShapeError: an input with fewer than 2 axes.

    Example:
        >>> import numpy as np, graftax as gx
        >>> frames = np.ones((2, 5, 8, 8, 3), "float32")
        >>> TimeDistributed(gx.layers.Conv2D(4, 3))(frames).shape
        (2, 5, 6, 6, 4)
    """

    supports_masking = True
    compiles_call = True

    def __init__(
        self, layer: Layer, name: str | None = None, trainable: bool = True, dtype: str | DTypePolicy | None = None
    ) -> None:
        super().__init__(name, trainable, dtype)
        if not isinstance(layer, Layer):
            raise ArgumentTypeError(f"layer={layer!r:.60}", "it is a layer", "TimeDistributed(Dense(8))")
        self.layer = layer

    def call(self, x: Array) -> Any:
        batch, steps, *rest = single_shape(array_shape(x), least=2)
        out: Any = self.layer(ops.reshape(x, (batch * steps, *rest)))
        return tree.map_structure(lambda part: ops.reshape(part, (batch, steps, *part.shape[1:])), out)
