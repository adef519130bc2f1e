"""Masking: makes a mask of the steps that hold nothing."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from graftax import ops
from graftax.core.dtypes import is_floating
from graftax.core.errors import ArgumentTypeError
from graftax.core.typedefs import Array, ArrayLike
from graftax.layers.arguments import array_shape, single_shape
from graftax.layers.layer import Layer
from graftax.layers.masking import as_bool, combine_masks, hide
from graftax.layers.policy import DTypePolicy


class Masking(Layer):
    """Makes a mask that hides each step whose features all have one value, and sets them to 0.

    The layers and losses that follow get the mask, as from an `Embedding` with ``mask_zero``. Inputs are compared in
    their own dtype, before they are cast to the compute dtype.

    Args:
        mask_value: The value of what is hidden; nan hides steps of nan. Defaults to 0.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(..., features) -> (..., features)``, with a mask of shape ``(...)``

    Raises:
        ArgumentTypeError: the value is no number.
        ShapeError: an input with fewer than 2 axes.

    Example:
        >>> import numpy as np, graftax as gx
        >>> x = np.float32([[[1, 2], [0, 0]]])
        >>> float(gx.Sequential([Masking(), gx.layers.GlobalAveragePooling1D()])(x)[0, 1])
        2.0
    """

    def __init__(
        self, mask_value: ArrayLike = 0.0, name: str | None = None, dtype: str | DTypePolicy | None = None
    ) -> None:
        super().__init__(name, dtype=dtype)
        number: float | None = None
        if not isinstance(mask_value, str | bytes):
            with suppress(TypeError, ValueError):
                number = float(np.asarray(mask_value))
        if number is None:
            raise ArgumentTypeError(f"mask_value={mask_value!r:.60}", "it is one number", "mask_value=0.0")
        self.mask_value = number

    @property
    def _gx_call_dtype(self) -> None:
        """Return None: rounded, other numbers would be equal to the value, or what is equal would not be."""

    def call(self, x: Array) -> Array:
        hidden = hide(x, self._mask_of(x))
        return ops.cast(hidden, self.compute_dtype) if is_floating(str(hidden.dtype)) else hidden

    def compute_mask(self, inputs: Array, mask: Array | None) -> Array:
        """Return True where a feature has another value, and where a mask that comes lets through."""
        return combine_masks(None if mask is None else as_bool(mask), self._mask_of(inputs))  # type: ignore[return-value]

    def _mask_of(self, x: Array) -> Array:
        single_shape(array_shape(x), least=2)
        same = ops.isnan(x) if self.mask_value != self.mask_value else ops.equal(x, self.mask_value)
        return ops.logical_not(ops.all(same, axis=-1))
