"""Softmax: shares of one, of what a mask shows."""

from __future__ import annotations

from collections.abc import Sequence

from graftax import ops
from graftax.core.typedefs import Array
from graftax.layers.arguments import array_shape, axis_numbers, to_floating
from graftax.layers.layer import Layer
from graftax.layers.masking import check_mask, expand_mask
from graftax.layers.policy import DTypePolicy


class Softmax(Layer):
    """``exp(x)`` normalised to sum 1 over an axis, or over several.

    Args:
        axis: The axis, or axes, of the sum. Defaults to the last one.
        name: As for `Layer`.
        dtype: As for `Layer`; the sum is taken in float32 at least.

    A call takes ``mask=``, True for what counts, of the shape of the input or of its first axes. What it hides gets 0,
    and so does everything where it hides all.

    Shape:
        ``(...) -> (...)``

    Raises:
        ArgumentError: an axis is no integer, or given twice.
        ShapeError: the mask has other sizes than the input.

    Example:
        >>> import numpy as np
        >>> Softmax()(np.zeros((1, 3), "float32"), mask=np.array([[True, False, True]])).tolist()
        [[0.5, 0.0, 0.5]]
    """

    supports_masking = True
    compiles_call = True

    def __init__(
        self, axis: int | Sequence[int] = -1, name: str | None = None, dtype: str | DTypePolicy | None = None
    ) -> None:
        super().__init__(name, dtype=dtype)
        self.axis = axis_numbers("axis", axis)

    def call(self, x: Array, mask: Array | None = None) -> Array:
        shape = array_shape(x)
        x = to_floating(x, self.compute_dtype)
        if mask is None:
            return ops.softmax(x, self.axis)
        shown = ops.broadcast_to(expand_mask(check_mask(mask, shape), len(shape)), shape)
        return ops.softmax(ops.where(shown, x, float("-inf")), self.axis)
