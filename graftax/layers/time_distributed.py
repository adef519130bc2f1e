"""TimeDistributed: a layer applied to each step of a sequence."""

from __future__ import annotations

from typing import Any

from graftax import ops
from graftax.core import tree
from graftax.core.errors import ArgumentTypeError
from graftax.core.typedefs import Array, Shape
from graftax.layers import masking
from graftax.layers.arguments import array_shape, single_shape
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.variables import masks
from graftax.variables.graph.module import walk


class TimeDistributed(Layer):
    """Applies a layer to each step of a sequence alone, as if all steps were one larger batch.

    A mask of ``(batch, steps)`` passes on to the output. The layer inside computes what it hides, too, of finite
    numbers; statistics inside, such as those of a `BatchNormalization`, leave it out.

    A mask with more axes, as of an `Embedding` of words in sentences, goes to the layer inside, step by step. The
    output has the mask that this layer gives; where it gives none, a step is visible if anything in it is. A mask that
    the layer inside makes of its own, as an `Embedding` of 0 as padding, is that of the output, too.

    Args:
        layer: The layer.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`; it changes nothing, since the layer inside keeps its own, and gets inputs as they come.

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
    _gx_hands_on_masks = True  # what the layer inside says of them

    def __init__(
        self, layer: Layer, name: str | None = None, trainable: bool = True, dtype: str | DTypePolicy | None = None
    ) -> None:
        super().__init__(name, trainable, dtype)
        if not isinstance(layer, Layer):
            raise ArgumentTypeError(f"layer={layer!r:.60}", "it is a layer", "TimeDistributed(Dense(8))")
        self.layer = layer

    @property
    def _gx_call_dtype(self) -> None:
        """Return None: the layer inside casts what it gets to what it needs."""

    def call(self, x: Array) -> Any:
        batch, steps, *rest = single_shape(array_shape(x), least=2)
        rows = ops.reshape(x, (batch * steps, *rest))
        mask = masks.mask_of(x)
        within = mask is not None and mask.ndim > 2
        told = within or _mixes_samples(self.layer)
        if mask is not None and told:
            rows = masking.mark(rows, _of_rows(mask, (batch, steps, *rest)))
        inner: Any = self.layer(rows)
        out: Any = tree.map_structure(lambda part: ops.reshape(part, (batch, steps, *part.shape[1:])), inner)
        first = ops.any(mask, axis=tuple(range(2, mask.ndim))) if mask is not None and within else mask
        for i, (part, whole) in enumerate(zip(tree.flatten(inner), tree.flatten(out), strict=True)):
            made = _of_steps(part, (batch, steps)) if mask is None or within or not told else None
            if made is not None and not within and mask is not None:  # made inside, of steps of which some are hidden
                made = ops.logical_and(made, masking.expand_mask(mask, made.ndim))
            if made is None and i == 0:
                made = first
            if made is not None:
                masks.set_mask(whole, made, masks.is_calm(part))
        return out


def _mixes_samples(layer: Layer) -> bool:
    return any(isinstance(node, Layer) and node._gx_mixes_samples for node in walk(layer))


def _of_rows(mask: Array, shape: Shape) -> Array:
    """Return the mask of a sequence as that of its steps in a row, with the axis after them that most masks have."""
    axes = max(mask.ndim, 3 if len(shape) > 3 else 2)
    whole = ops.broadcast_to(masking.expand_mask(mask, axes), shape[:axes])
    return ops.reshape(whole, (-1, *shape[2:axes]))


def _of_steps(rows: Array, steps: Shape) -> Array | None:
    """Return the mask that rows carry as that of a sequence; None where they carry none that fits them."""
    mask = masks.mask_of(rows)
    if mask is None or tuple(mask.shape) != tuple(rows.shape[: mask.ndim]):
        return None
    return ops.reshape(mask, (*steps, *mask.shape[1:]))
