"""Layers that make one array of several."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from graftax import ops
from graftax.core import tree
from graftax.core.broadcasting import broadcast_shape
from graftax.core.errors import ArgumentTypeError, ShapeError
from graftax.core.typedefs import Array, Shape
from graftax.core.undefined import undefined_error
from graftax.layers import shapes
from graftax.layers.arguments import axis_number, narrow, to_floating, widen
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy


class Merge(Layer):
    """The base of layers of a list of arrays, which they broadcast and combine pair by pair."""

    supports_masking = True  # of its inputs together, as compute_mask says
    _calculates: ClassVar[bool] = False
    """Whether integers may give what their dtype has no room for: they are taken in the dtype of the layer."""
    _broadcasts: ClassVar[bool] = True

    def build(self, input_shape: Any) -> None:
        self._check_several(input_shape)

    def pair(self, x: Array, y: Array) -> Array:
        """Combine two arrays; subclasses must define it."""
        raise undefined_error(self, "pair(x, y)")

    def call(self, inputs: Sequence[Array]) -> Array:
        arrays = self.check_inputs(inputs)
        return reduce(self.pair, [to_floating(x, self.compute_dtype) for x in arrays] if self._calculates else arrays)

    def check_inputs(self, inputs: Sequence[Array]) -> list[Array]:
        """Return the inputs, if they are what the layer combines: a later call is not asked by `build`."""
        self._check_several(tree.map_structure(shapes.shape_of, inputs))
        arrays = [ops.asarray(x) for x in inputs]
        if self._broadcasts:
            _check_batches(arrays)
        return arrays

    def _check_several(self, input_shape: Any) -> None:
        several = isinstance(input_shape, list | tuple) and not shapes.is_shape(input_shape)
        if not several or len(input_shape) < 2:
            raise ArgumentTypeError(
                "a list of one array" if several and len(input_shape) == 1 else "not a list of arrays",
                f"{type(self).__name__} combines at least two",
                f"{self.name}([x, y])",
            )

    def compute_mask(self, inputs: Sequence[Array], mask: Sequence[Array | None] | None) -> Array | None:
        """Return True where every input that has a mask lets through, each as its input is broadcast."""
        present = [(x, m) for x, m in zip(inputs, mask or (), strict=False) if m is not None]
        if not present:
            return None
        shape = broadcast_shape(*(np.shape(x) for x in inputs))
        axes = max(len(shape) - x.ndim + m.ndim for x, m in present)
        return reduce(ops.logical_and, [_place_mask(m, len(shape) - x.ndim, tuple(shape[:axes])) for x, m in present])


def _check_batches(arrays: Sequence[Array]) -> None:
    """Raise if the batch of an array would stand along another axis of one with more axes, which is as long."""
    most = max(arrays, key=lambda x: x.ndim)
    for i, x in enumerate(arrays):
        if 1 < x.ndim < most.ndim and x.shape[0] == most.shape[0] != 1:
            more = ", ".join(["None"] * (most.ndim - x.ndim))
            raise ShapeError(
                f"arrays of shapes {', '.join(str(tuple(x.shape)) for x in arrays)}",
                f"by NumPy's rule, the first axis of inputs[{i}] is axis {most.ndim - x.ndim} of the others, and it is "
                "as long as the batch",
                f"inputs[{i}][:, {more}] for numbers of each sample, inputs[{i}][{more}] for an array without a batch",
            )


class Add(Merge):
    """The sum of several arrays; of integers in the dtype that the layer computes in.

    Shape:
        ``[(...), (...), ...] -> (...)``, broadcast

    Raises:
        ArgumentTypeError: fewer than two arrays.
        ShapeError: the shapes cannot be broadcast, or the batch of one would stand along another axis.

    Example:
        >>> import numpy as np
        >>> Add()([np.float32([1, 2]), np.float32([3, 4])]).tolist()
        [4.0, 6.0]
    """

    _calculates = True

    def pair(self, x: Array, y: Array) -> Array:
        return ops.add(x, y)


class Subtract(Merge):
    """The difference of two arrays; of integers in the dtype that the layer computes in.

    Shape:
        ``[(...), (...)] -> (...)``, broadcast

    Raises:
        ArgumentTypeError: not two arrays.
        ShapeError: the shapes cannot be broadcast, or the batch of one would stand along another axis.

    Example:
        >>> import numpy as np
        >>> Subtract()([np.float32([1, 2]), np.float32([3, 5])]).tolist()
        [-2.0, -3.0]
    """

    _calculates = True

    def pair(self, x: Array, y: Array) -> Array:
        return ops.subtract(x, y)

    def check_inputs(self, inputs: Sequence[Array]) -> list[Array]:
        arrays = super().check_inputs(inputs)
        if len(arrays) != 2:
            raise ArgumentTypeError(f"a list of {len(arrays)} arrays", "a difference has two sides", "[x, y]")
        return arrays


class Multiply(Merge):
    """The product of several arrays, element by element; of integers in the dtype that the layer computes in.

    Shape:
        ``[(...), (...), ...] -> (...)``, broadcast

    Raises:
        ArgumentTypeError: fewer than two arrays.
        ShapeError: the shapes cannot be broadcast, or the batch of one would stand along another axis.

    Example:
        >>> import numpy as np
        >>> Multiply()([np.float32([1, 2]), np.float32([3, 4])]).tolist()
        [3.0, 8.0]
    """

    _calculates = True

    def pair(self, x: Array, y: Array) -> Array:
        return ops.multiply(x, y)


class Average(Merge):
    """The mean of several arrays, element by element.

    Shape:
        ``[(...), (...), ...] -> (...)``, broadcast

    Raises:
        ArgumentTypeError: fewer than two arrays.
        ShapeError: the shapes cannot be broadcast, or the batch of one would stand along another axis.

    Example:
        >>> import numpy as np
        >>> Average()([np.float32([1, 2]), np.float32([3, 4])]).tolist()
        [2.0, 3.0]
    """

    supports_masking = True

    def pair(self, x: Array, y: Array) -> Array:
        return ops.add(x, y)

    def call(self, inputs: Sequence[Array]) -> Array:
        arrays = self.check_inputs(inputs)
        total = reduce(self.pair, [widen(x) for x in arrays])
        return narrow(total / len(arrays), arrays[0], self.compute_dtype)


class Maximum(Merge):
    """The largest of several arrays, element by element.

    Shape:
        ``[(...), (...), ...] -> (...)``, broadcast

    Raises:
        ArgumentTypeError: fewer than two arrays.
        ShapeError: the shapes cannot be broadcast, or the batch of one would stand along another axis.

    Example:
        >>> import numpy as np
        >>> Maximum()([np.float32([1, 4]), np.float32([3, 2])]).tolist()
        [3.0, 4.0]
    """

    def pair(self, x: Array, y: Array) -> Array:
        return ops.maximum(x, y)


class Minimum(Merge):
    """The smallest of several arrays, element by element.

    Shape:
        ``[(...), (...), ...] -> (...)``, broadcast

    Raises:
        ArgumentTypeError: fewer than two arrays.
        ShapeError: the shapes cannot be broadcast, or the batch of one would stand along another axis.

    Example:
        >>> import numpy as np
        >>> Minimum()([np.float32([1, 4]), np.float32([3, 2])]).tolist()
        [1.0, 2.0]
    """

    def pair(self, x: Array, y: Array) -> Array:
        return ops.minimum(x, y)


class Concatenate(Merge):
    """Several arrays joined along an axis.

    Args:
        axis: The axis; the sizes of the others must agree. Defaults to -1.
        name: As for `Layer`. Defaults to None.
        dtype: As for `Layer`. Defaults to None.

    Shape:
        ``[(..., a), (..., b), ...] -> (..., a + b + ...)`` for the last axis

    Raises:
        ArgumentTypeError: fewer than two arrays.
        ShapeError: the sizes of another axis differ.

    Example:
        >>> import numpy as np
        >>> Concatenate()([np.ones((2, 3), "float32"), np.ones((2, 4), "float32")]).shape
        (2, 7)
    """

    supports_masking = True
    _broadcasts = False

    def __init__(self, axis: int = -1, name: str | None = None, dtype: str | DTypePolicy | None = None) -> None:
        super().__init__(name, dtype=dtype)
        self.axis = axis_number("axis", axis)

    def call(self, inputs: Sequence[Array]) -> Array:
        return ops.concatenate(self.check_inputs(inputs), axis=self.axis)

    def compute_mask(self, inputs: Sequence[Array], mask: Sequence[Array | None] | None) -> Array | None:
        """Join the masks, too, if they have the axis; else return True where every mask lets through."""
        present = [(x, m) for x, m in zip(inputs, mask or (), strict=False) if m is not None]
        axis = self.axis % inputs[0].ndim
        axes = max((m.ndim for _, m in present), default=0)
        if axis < axes:
            parts = [
                ops.ones(x.shape[:axes], "bool") if m is None else m for x, m in zip(inputs, mask or (), strict=True)
            ]
            whole = [_place_mask(m, 0, tuple(x.shape[:axes])) for x, m in zip(inputs, parts, strict=True)]
            return ops.concatenate(whole, axis=axis)
        shape = inputs[0].shape[:axes]
        return reduce(ops.logical_and, [_place_mask(m, 0, tuple(shape)) for _, m in present]) if present else None


def _place_mask(mask: Array, first: int, shape: Shape) -> Array:
    """Return the mask of an input whose axes begin at ``first`` of those of the output, for these sizes."""
    after = len(shape) - first - mask.ndim
    return ops.broadcast_to(ops.reshape(mask, (*[1] * first, *mask.shape, *[1] * after)), shape)
