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
from graftax.layers.masking import as_bool, expand_mask, for_each, hide, zero_hidden_nan
from graftax.layers.policy import DTypePolicy
from graftax.ops.checks import axis_in_range


class Dot(Layer):
    """The sums of products of two arrays over one axis of each, for each element of the batch.

    Args:
        axes: The axis of the sum in both, or one for each of the two.
        normalize: Whether both are scaled to length 1 along it first, which gives cosines. Defaults to False.
        name: As for `Layer`.
        dtype: As for `Layer`.

    What a mask hides along these axes adds nothing; masks of the axes that stay are handed on.

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

    def call(self, inputs: Sequence[Array], mask: Any = None) -> Array:
        several = tree.map_structure(shapes.shape_of, inputs)
        if not isinstance(several, list | tuple) or shapes.is_shape(several) or len(several) != 2:
            raise ArgumentTypeError("no list of two arrays", "a product has two sides", f"{self.name}([x, y])")
        x, y = (ops.asarray(part) for part in inputs)
        places = self._places((x, y))
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
        if mask is not None:
            parts = zip((x, y), for_each(mask, [x, y]), places, strict=True)
            x, y = (_without_hidden(part, one, place) for part, one, place in parts)
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

    def compute_mask(self, inputs: Sequence[Array], mask: Sequence[Array | None] | None) -> Array | None:
        """Return True where the masks of all axes that stay let through; those of the axis of the sum are used up."""
        places = self._places(inputs)
        left = [_left_of(one, place) for one, place in zip(mask or (None, None), places, strict=True)]
        first, second = left
        if second is None:
            return first
        stays = [n for i, n in enumerate(inputs[0].shape) if i not in (0, places[0])] if second.ndim > 1 else []
        wide = ops.reshape(second, (second.shape[0], *[1] * len(stays), *second.shape[1:]))
        whole = ops.broadcast_to(wide, (second.shape[0], *stays, *second.shape[1:]))
        if first is None:
            return whole
        axes = max(first.ndim, whole.ndim)
        return ops.logical_and(expand_mask(first, axes), expand_mask(whole, axes))

    def _places(self, parts: Sequence[Array]) -> list[int]:
        """Return the axis of the sum in both, counted from the front."""
        pairs = zip(parts, self.axes, strict=True)
        return [axis_in_range("Dot", axis, part.ndim) for part, axis in pairs]  # type: ignore[arg-type]


def _without_hidden(x: Array, mask: Array | None, place: int) -> Array:
    """Return an array with 0 where a mask of the axis of the sum hides; one of other axes leaves finite numbers."""
    return zero_hidden_nan(x, mask) if mask is None or place >= mask.ndim else hide(x, mask)


def _left_of(mask: Array | None, place: int) -> Array | None:
    """Return what is left of a mask when an axis is summed over: None for one that was of this axis."""
    if mask is None or place >= mask.ndim:
        return None if mask is None else as_bool(mask)
    left = ops.any(as_bool(mask), axis=place)
    return left if left.ndim > 1 else None


def _unit(x: Array, axis: int) -> Array:
    return x * ops.rsqrt(ops.maximum(ops.sum(ops.square(x), axis=axis, keepdims=True), 1e-12))
