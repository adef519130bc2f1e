"""Zeros put around the axes of space, and borders cut off them, channels last."""

from __future__ import annotations

from typing import ClassVar

from graftax import ops
from graftax.core.errors import ShapeError
from graftax.core.typedefs import Array
from graftax.layers.arguments import array_shape, single_shape
from graftax.layers.borders import Padding, Pairs, standardize_padding
from graftax.layers.layer import Layer
from graftax.layers.masked_space import move_mask
from graftax.layers.policy import DTypePolicy


class ZeroPadding(Layer):
    """The base of `ZeroPadding1D`, `ZeroPadding2D` and `ZeroPadding3D`, which describe the arguments."""

    supports_masking = True
    compiles_call = True
    space: ClassVar[int]

    def __init__(self, padding: Padding = 1, name: str | None = None, dtype: str | DTypePolicy | None = None) -> None:
        super().__init__(name, dtype=dtype)
        self.padding: Pairs = standardize_padding(padding, self.space)  # type: ignore[assignment]  # no words are known

    def call(self, x: Array) -> Array:
        single_shape(array_shape(x), self.space + 2, self.space + 2)
        return ops.pad(x, ((0, 0), *self.padding, (0, 0)))

    def compute_mask(self, inputs: Array, mask: Array | None) -> Array | None:
        """Return that of the input, False where zeros are added."""
        return move_mask(mask, inputs, self.call)


class Cropping(Layer):
    """The base of `Cropping1D`, `Cropping2D` and `Cropping3D`, which describe the arguments."""

    supports_masking = True
    compiles_call = True
    space: ClassVar[int]

    def __init__(self, cropping: Padding = 1, name: str | None = None, dtype: str | DTypePolicy | None = None) -> None:
        super().__init__(name, dtype=dtype)
        self.cropping: Pairs = standardize_padding(cropping, self.space, name="cropping")  # type: ignore[assignment]

    def call(self, x: Array) -> Array:
        sizes = single_shape(array_shape(x), self.space + 2, self.space + 2)[1:-1]
        if any(n and low + high >= n for n, (low, high) in zip(sizes, self.cropping, strict=True)):
            raise ShapeError(
                f"cropping={self.cropping} of an input of shape {tuple(x.shape)}",
                "nothing would be left of an axis",
                "smaller numbers, or a larger input",
            )
        kept = (slice(low, n - high) for n, (low, high) in zip(sizes, self.cropping, strict=True))
        return x[(slice(None), *kept)]

    def compute_mask(self, inputs: Array, mask: Array | None) -> Array | None:
        """Return what is left of that of the input."""
        return move_mask(mask, inputs, self.call)


class ZeroPadding1D(ZeroPadding):
    """Zeros before and after one axis, such as time.

    Args: as for `ZeroPadding2D`, with one axis of space.

    Shape:
        ``(batch, steps, channels) -> (batch, new_steps, channels)``

    Example:
        >>> import numpy as np
        >>> ZeroPadding1D(1)(np.ones((2, 6, 3), "float32")).shape
        (2, 8, 3)
    """

    space = 1


class ZeroPadding2D(ZeroPadding):
    """Zeros before and after two axes, such as those of an image; where there is a mask, they do not count.

    Args:
        padding: How many zeros on all sides, or for each axis a number or a pair for before and after. Defaults
            to 1.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, height, width, channels) -> (batch, new_height, new_width, channels)``

    Raises:
        ArgumentError: a number is below 0, or there are more or fewer than axes.
        ShapeError: the input has other axes.

    Example:
        >>> import numpy as np
        >>> ZeroPadding2D(1)(np.ones((2, 6, 6, 3), "float32")).shape
        (2, 8, 8, 3)
    """

    space = 2


class ZeroPadding3D(ZeroPadding):
    """Zeros before and after three axes, such as those of a volume.

    Args: as for `ZeroPadding2D`, with three axes of space.

    Shape:
        ``(batch, depth, height, width, channels) -> (batch, new_depth, new_height, new_width, channels)``

    Example:
        >>> import numpy as np
        >>> ZeroPadding3D(1)(np.ones((2, 6, 6, 6, 3), "float32")).shape
        (2, 8, 8, 8, 3)
    """

    space = 3


class Cropping1D(Cropping):
    """Values cut off before and after one axis, such as time.

    Args: as for `Cropping2D`, with one axis of space.

    Shape:
        ``(batch, steps, channels) -> (batch, new_steps, channels)``

    Example:
        >>> import numpy as np
        >>> Cropping1D(1)(np.ones((2, 6, 3), "float32")).shape
        (2, 4, 3)
    """

    space = 1


class Cropping2D(Cropping):
    """Values cut off before and after two axes, such as those of an image.

    Args:
        cropping: How many values on all sides, or for each axis a number or a pair for before and after. Defaults
            to 1.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, height, width, channels) -> (batch, new_height, new_width, channels)``

    Raises:
        ArgumentError: a number is below 0, or there are more or fewer than axes.
        ShapeError: the input has other axes, or too few values.

    Example:
        >>> import numpy as np
        >>> Cropping2D(1)(np.ones((2, 6, 6, 3), "float32")).shape
        (2, 4, 4, 3)
    """

    space = 2


class Cropping3D(Cropping):
    """Values cut off before and after three axes, such as those of a volume.

    Args: as for `Cropping2D`, with three axes of space.

    Shape:
        ``(batch, depth, height, width, channels) -> (batch, new_depth, new_height, new_width, channels)``

    Example:
        >>> import numpy as np
        >>> Cropping3D(1)(np.ones((2, 6, 6, 6, 3), "float32")).shape
        (2, 4, 4, 4, 3)
    """

    space = 3
