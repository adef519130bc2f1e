"""Dot: the products of two arrays, element by element of the batch."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from graftax import ops
from graftax.core import tree
from graftax.core.errors import ArgumentError, ArgumentTypeError, ShapeError
from graftax.core.typedefs import Array
from graftax.layers import shapes
from graftax.layers.arguments import axis_numbers, check_flag, narrow, to_floating, widen
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.ops.checks import axis_in_range


class Dot(Layer):
    """The sums of products of two arrays over one axis of each, for each element of the batch.

    Args:
        axes: The axis of the sum in both, or one for each of the two.
        normalize: Whether both are scaled to length 1 along it first, which gives cosines. Defaults to False.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``[(batch, ..., n), (batch, ..., n)] -> (batch, ..., ...)``, the other axes of the first and then those of the
        second; ``(batch, 1)`` where there are none

    Raises:
        ArgumentError: an axis is no integer, or that of the batch.
        ArgumentTypeError: not two arrays.
        ShapeError: the axes have different sizes.

    Example:
        >>> import numpy as np
        >>> Dot(axes=1)([np.float32([[1, 2]]), np.float32([[3, 4]])]).tolist()
        [[11.0]]
    """

    compiles_call = True

    def __init__(
        self,
        axes: int | Sequence[int],
        normalize: bool = False,
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, dtype=dtype)
        pair = axes if isinstance(axes, list | tuple) else (axes, axes)
        if len(pair) != 2:
            raise ArgumentError(
                f"axes={axes!r:.60}", "it is one axis, or one for each of the two arrays", "axes=(2, 1)"
            )
        self.axes = tuple(axis_numbers("axes", axis) for axis in pair)
        self.normalize = check_flag("normalize", normalize)

    def call(self, inputs: Sequence[Array]) -> Array:
        several = tree.map_structure(shapes.shape_of, inputs)
        if not isinstance(several, list | tuple) or shapes.is_shape(several) or len(several) != 2:
            raise ArgumentTypeError("no list of two arrays", "a product has two sides", f"{self.name}([x, y])")
        x, y = (ops.asarray(part) for part in inputs)
        places = []
        for part, axis in zip((x, y), self.axes, strict=True):
            places.append(axis_in_range("Dot", axis, part.ndim))  # type: ignore[arg-type]
        if not all(places):
            raise ArgumentError(f"axes={self.axes}", "axis 0 is the batch, which stays", "axes=1, or axes=-1")
        if x.shape[0] != y.shape[0] or x.shape[places[0]] != y.shape[places[1]]:
            raise ShapeError(
                f"arrays of shapes {tuple(x.shape)} and {tuple(y.shape)}, axes={tuple(places)}",
                "both have the same batch, and the same size along their axis",
                "ops.swapaxes, or other axes=",
            )
        x, y = to_floating(x, self.compute_dtype), to_floating(y, self.compute_dtype)
        given = x
        if self.normalize:
            x, y = (_unit(widen(part), place) for part, place in zip((x, y), places, strict=True))
        letters = iter(string.ascii_lowercase[2:])
        names = [
            "".join("a" if i == 0 else "b" if i == place else next(letters) for i in range(part.ndim))
            for part, place in zip((x, y), places, strict=True)
        ]
        result = "a" + "".join(name.replace("a", "").replace("b", "") for name in names)
        out = ops.einsum(f"{names[0]},{names[1]}->{result}", x, y)
        return narrow(out if out.ndim > 1 else out[:, None], given, self.compute_dtype)

    def compute_mask(self, inputs: Any, mask: Any) -> None:
        """Return None: what the axes of the result stand for is not known."""


def _unit(x: Array, axis: int) -> Array:
    return x * ops.rsqrt(ops.maximum(ops.sum(ops.square(x), axis=axis, keepdims=True), 1e-12))
