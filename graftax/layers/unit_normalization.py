"""UnitNormalization: each element of the batch scaled to length 1."""

from __future__ import annotations

from collections.abc import Sequence

from graftax import ops
from graftax.core.typedefs import Array
from graftax.layers.arguments import array_shape, axes_from_front, axis_numbers, narrow, require_real, widen
from graftax.layers.layer import Layer
from graftax.layers.masking import check_mask, expand_mask, zero_hidden_nan
from graftax.layers.policy import DTypePolicy


class UnitNormalization(Layer):
    """Scales each element to length 1 over some axes, by default the last: ``x / norm(x)``, and 0 for 0.

    Where a mask tells positions along these axes apart, those that it hides do not count.

    Args:
        axis: The axis, or axes, of the norm. Defaults to the last one.
        name: As for `Layer`.
        dtype: As for `Layer`; the norm is taken in float32 at least.

    Shape:
        ``(...) -> (...)``

    Raises:
        ArgumentError: an axis is no integer or given twice.
        ShapeError: an input without those axes.

    Example:
        >>> import numpy as np
        >>> [round(x, 4) for x in UnitNormalization()(np.float32([3, 4])).tolist()]
        [0.6, 0.8]
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
        axes = axes_from_front("UnitNormalization", self.axis, len(shape))
        if mask is not None:
            mask = check_mask(mask, shape)
        given, x = x, zero_hidden_nan(widen(require_real(x)), mask)
        counted = x
        if mask is not None and min(axes) < mask.ndim:
            counted = ops.where(expand_mask(mask, x.ndim), x, 0)
        total = ops.sum(ops.square(counted), axis=axes, keepdims=True)
        return narrow(x * ops.rsqrt(ops.maximum(total, 1e-12)), given, self.compute_dtype)
