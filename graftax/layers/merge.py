"""Layers that make one array of several."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from graftax import ops
from graftax.errors import ArgumentTypeError
from graftax.layers import shapes
from graftax.layers.arguments import axis_number, narrow, wide
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.typedefs import Array


class Merge(Layer):
    """The base of layers of a list of arrays, which they broadcast and combine pair by pair."""

    supports_masking = True  # of its inputs together, as compute_mask says

    def build(self, input_shape: Any) -> None:
        if shapes.is_shape(input_shape) or isinstance(input_shape, dict) or len(input_shape) < 2:
            raise ArgumentTypeError(
                "not a list of arrays" if len(input_shape) != 1 else "a list of one array",
                f"{type(self).__name__} combines at least two",
                f"{self.name}([x, y])",
            )

    def pair(self, x: Array, y: Array) -> Array:
        """Two arrays combined; subclasses must define it."""
        raise TypeError(f"{type(self).__name__} must define pair(x, y)")

    def call(self, inputs: Sequence[Array]) -> Array:
        return reduce(self.pair, inputs)

    def compute_mask(self, inputs: Sequence[Array], mask: Sequence[Array | None] | None) -> Array | None:
        """True where every input that has a mask lets through."""
        present = [m for m in mask or () if m is not None]
        return reduce(ops.logical_and, present) if present else None


class Add(Merge):
    """The sum of several arrays.

    Shape:
        ``[(...), (...), ...] -> (...)``, broadcast

    Raises:
        ArgumentTypeError: fewer than two arrays.
        ShapeError: the shapes cannot be broadcast.

    Example:
        >>> import numpy as np
        >>> Add()([np.float32([1, 2]), np.float32([3, 4])]).tolist()
        [4.0, 6.0]
    """

    def pair(self, x: Array, y: Array) -> Array:
        return ops.add(x, y)


class Subtract(Merge):
    """The difference of two arrays.

    Shape:
        ``[(...), (...)] -> (...)``, broadcast

    Raises:
        ArgumentTypeError: not two arrays.
        ShapeError: the shapes cannot be broadcast.

    Example:
        >>> import numpy as np
        >>> Subtract()([np.float32([1, 2]), np.float32([3, 5])]).tolist()
        [-2.0, -3.0]
    """

    def pair(self, x: Array, y: Array) -> Array:
        return ops.subtract(x, y)

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        if len(input_shape) != 2:
            raise ArgumentTypeError(f"a list of {len(input_shape)} arrays", "a difference has two sides", "[x, y]")


class Multiply(Merge):
    """The product of several arrays, element by element.

    Shape:
        ``[(...), (...), ...] -> (...)``, broadcast

    Raises:
        ArgumentTypeError: fewer than two arrays.
        ShapeError: the shapes cannot be broadcast.

    Example:
        >>> import numpy as np
        >>> Multiply()([np.float32([1, 2]), np.float32([3, 4])]).tolist()
        [3.0, 8.0]
    """

    def pair(self, x: Array, y: Array) -> Array:
        return ops.multiply(x, y)


class Average(Merge):
    """The mean of several arrays, element by element.

    Shape:
        ``[(...), (...), ...] -> (...)``, broadcast

    Raises:
        ArgumentTypeError: fewer than two arrays.
        ShapeError: the shapes cannot be broadcast.

    Example:
        >>> import numpy as np
        >>> Average()([np.float32([1, 2]), np.float32([3, 4])]).tolist()
        [2.0, 3.0]
    """

    def pair(self, x: Array, y: Array) -> Array:
        return ops.add(x, y)

    def call(self, inputs: Sequence[Array]) -> Array:
        total = super().call([wide(x) for x in inputs])
        return narrow(total / len(inputs), inputs[0])


class Maximum(Merge):
    """The largest of several arrays, element by element.

    Shape:
        ``[(...), (...), ...] -> (...)``, broadcast

    Raises:
        ArgumentTypeError: fewer than two arrays.
        ShapeError: the shapes cannot be broadcast.

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
        ShapeError: the shapes cannot be broadcast.

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
        axis: The axis; the sizes of the others must agree.
        name: As for `Layer`.
        dtype: As for `Layer`.

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

    def __init__(self, axis: int = -1, name: str | None = None, dtype: str | DTypePolicy | None = None) -> None:
        super().__init__(name, dtype=dtype)
        self.axis = axis_number("axis", axis)

    def call(self, inputs: Sequence[Array]) -> Array:
        return ops.concatenate(list(inputs), axis=self.axis)

    def compute_mask(self, inputs: Sequence[Array], mask: Sequence[Array | None] | None) -> Array | None:
        """The masks joined too if they have the axis, else True where every mask lets through."""
        present = [m for m in mask or () if m is not None]
        axis = self.axis % inputs[0].ndim
        if not present or axis >= present[0].ndim:
            return super().compute_mask(inputs, mask)
        whole = [x.shape[: present[0].ndim] for x in inputs]
        return ops.concatenate(
            [ops.ones(size, "bool") if m is None else m for size, m in zip(whole, mask or (), strict=True)], axis=axis
        )
