"""Rescaling: values times a factor, plus another."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftax import ops
from graftax.backend.host import check_plain
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.static_numbers import check_constant
from graftax.core.typedefs import Array, ArrayLike, unwrap
from graftax.layers.arguments import array_shape, widen
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy


class Rescaling(Layer):
    """``x * scale + offset``, in the dtype that the layer computes in: ``Rescaling(1 / 255)`` for images of bytes.

    Args:
        scale: The factor; a number, or one for each channel.
        offset: What is added; a number, or one for each channel. Defaults to 0.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(...) -> (...)``

    Raises:
        ArgumentError: a number is not finite, or none.
        ShapeError: the input has other channels than there are numbers.

    Example:
        >>> import numpy as np
        >>> Rescaling(1 / 127.5, offset=-1)(np.uint8([0, 255])).tolist()
        [-1.0, 1.0]
    """

    _gx_takes_wide = True
    supports_masking = True
    compiles_call = True

    def __init__(
        self,
        scale: ArrayLike,
        offset: ArrayLike = 0.0,
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, dtype=dtype)
        self.scale, self.offset = _check_finite("scale", scale), _check_finite("offset", offset)

    def call(self, x: Array) -> Array:
        shape = array_shape(x)
        for name, part in (("scale", self.scale), ("offset", self.offset)):
            ends = zip(reversed(part.shape), reversed(shape), strict=False)
            if part.ndim > len(shape) or any(m not in (1, n) for m, n in ends):
                raise ShapeError(
                    f"{name} of shape {part.shape} for an input of shape {tuple(shape)}",
                    "the output has the shape of the input: one number is for all of it, or for each channel",
                    f"{name} of {shape[-1]} numbers, one for each channel" if shape else f"one number as {name}",
                )
        given = widen(x)
        scale, offset = (ops.asarray(part, str(given.dtype)) for part in (self.scale, self.offset))
        return ops.cast(given * scale + offset, self._gx_dtypes.compute_dtype)


def _check_finite(name: str, value: object) -> np.ndarray[Any, Any]:
    array = np.zeros(0)
    check_constant(f"Rescaling: {name}", value)
    check_plain(value, name)
    try:
        array = np.asarray(unwrap(value))
        good = array.dtype.kind in "iuf" and array.size > 0 and bool(np.isfinite(array.astype("float32")).all())
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ArgumentError(f"{name}={value!r:.60}", "it is a finite number, or several", f"{name}=1 / 255")
    return array.astype("float64")  # as given, for layers that compute so
