"""Pooling over windows, channels last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array, Shape
from graftax.layers.arguments import array_shape, for_each_axis, narrow, require_real, single_shape, widen
from graftax.layers.borders import Padding, Pairs, check_mode, fill_borders, standardize_padding
from graftax.layers.layer import Layer
from graftax.layers.masked_space import clear_hidden, lower_hidden, over_space
from graftax.layers.masking import hide
from graftax.layers.policy import DTypePolicy


class Pooling(Layer):
    """The base of poolings over windows, which describe the arguments."""

    _gx_of_constructor = frozenset({"pool_size"})  # the strides may be those of the window

    compiles_call = True
    space: ClassVar[int]

    def __init__(
        self,
        pool_size: int | Sequence[int] = 2,
        strides: int | Sequence[int] | None = None,
        padding: Padding = "valid",
        padding_mode: str | None = None,
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, dtype=dtype)
        self.pool_size = for_each_axis("pool_size", pool_size, self.space)
        self.strides = self.pool_size if strides is None else for_each_axis("strides", strides, self.space)
        self.padding = standardize_padding(padding, self.space, ("valid", "same"))
        self.padding_mode = check_mode(padding_mode, self.padding, None)
        if not isinstance(self.padding, str):
            for size, pair in zip(self.pool_size, self.padding, strict=True):
                if max(pair) >= size:
                    raise ArgumentError(
                        f"pool_size={pool_size!r}, padding={padding!r}",
                        "a window of borders alone would have nothing to pool",
                        f"padding={size - 1} at most for a window of {size}",
                    )

    def build(self, input_shape: Shape) -> None:
        single_shape(input_shape, self.space + 2, self.space + 2)

    def check_input(self, x: Array) -> None:
        """Raise if the input is no array, or one of other axes."""
        single_shape(array_shape(x), self.space + 2, self.space + 2)

    def add_borders(self, x: Array) -> tuple[Array, str | Pairs]:
        """Return the input with borders of its own values, if these are asked for, and what padding is left to do."""
        return fill_borders(x, self.padding, self.padding_mode, self.pool_size, self.strides)

    def largest(self, x: Array) -> Array:
        """Return the largest value of each window."""
        x, padding = self.add_borders(x)
        return ops.max_pool(x, self.pool_size, self.strides, padding)

    def sums(self, x: Array) -> Array:
        """Return the sum of each window, of what is inside the input only."""
        x, padding = self.add_borders(x)
        return ops.sum_pool(x, self.pool_size, self.strides, padding)

    def visible_windows(self, seen: Array) -> Array:
        """Return True for the windows in which something is seen."""
        return self.largest(ops.cast(seen, "float32")) > 0

    def compute_mask(self, inputs: Array, mask: Array | None) -> Array | None:
        """Return True for the windows in which something is seen."""
        return None if mask is None else self.visible_windows(over_space(mask, inputs))[..., 0]


class MaxPooling(Pooling):
    """The largest value of each window."""

    def call(self, x: Array, mask: Array | None = None) -> Array:
        self.check_input(require_real(x))
        if mask is None:
            return self.largest(x)
        seen = over_space(mask, x)
        return clear_hidden(self.largest(lower_hidden(x, seen)), self.visible_windows(seen))


class AveragePooling(Pooling):
    """The mean of each window, of what is inside the input only."""

    def call(self, x: Array, mask: Array | None = None) -> Array:
        self.check_input(x)
        seen = ops.ones((1, *x.shape[1:-1], 1), "bool") if mask is None else over_space(mask, x)
        total = self.sums(widen(x if mask is None else hide(x, seen)))
        count = ops.maximum(self.sums(ops.cast(seen, "float32")), 1)
        return narrow(total / ops.cast(count, total.dtype), x, self.compute_dtype)


class MaxPooling1D(MaxPooling):
    """The largest value of each window over one axis.

    Args: as for `MaxPooling2D`, with one axis of space.

    Shape:
        ``(batch, steps, channels) -> (batch, new_steps, channels)``

    Example:
        >>> import numpy as np
        >>> MaxPooling1D(2)(np.float32([[[1], [3], [2], [0]]])).tolist()
        [[[3.0], [2.0]]]
    """

    space = 1


class MaxPooling2D(MaxPooling):
    """The largest value of each window over two axes.

    What a mask hides is left out; the output has a mask of the windows in which something counts.

    Args:
        pool_size: Height and width of the window; one number for both. Defaults to 2.
        strides: Steps of the window. Defaults to its size.
        padding: ``"valid"`` leaves out windows that would stand out; ``"same"`` has a window wherever one can start. A
            number, or for each axis a number or a pair, widens the input on both sides. Defaults to ``"valid"``.
        padding_mode: What stands in the borders: nothing that counts, or ``"reflect"``, ``"replicate"`` or
            ``"circular"`` values of the input, as for `Conv2D`. Defaults to None, nothing.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, height, width, channels) -> (batch, new_height, new_width, channels)``

    Raises:
        ArgumentError: a setting is out of range.
        ShapeError: an input has other axes, or the window is larger than it.

    Example:
        >>> import numpy as np
        >>> MaxPooling2D(2)(np.ones((1, 5, 4, 3), "float32")).shape
        (1, 2, 2, 3)
    """

    space = 2


class MaxPooling3D(MaxPooling):
    """The largest value of each window over three axes.

    Args: as for `MaxPooling2D`, with three axes of space.

    Shape:
        ``(batch, depth, height, width, channels) -> (batch, new_depth, new_height, new_width, channels)``

    Example:
        >>> import numpy as np
        >>> MaxPooling3D(2)(np.ones((1, 4, 4, 4, 3), "float32")).shape
        (1, 2, 2, 2, 3)
    """

    space = 3


class AveragePooling1D(AveragePooling):
    """The mean of each window over one axis.

    Args: as for `MaxPooling2D`, with one axis of space.

    Shape:
        ``(batch, steps, channels) -> (batch, new_steps, channels)``

    Example:
        >>> import numpy as np
        >>> AveragePooling1D(2, padding="same")(np.float32([[[1], [3], [2]]])).tolist()
        [[[2.0], [2.0]]]
    """

    space = 1


class AveragePooling2D(AveragePooling):
    """The mean of each window over two axes; zeros that ``"same"`` adds do not count.

    Args: as for `MaxPooling2D`.

    Shape:
        ``(batch, height, width, channels) -> (batch, new_height, new_width, channels)``

    Example:
        >>> import numpy as np
        >>> AveragePooling2D(2)(np.ones((1, 4, 4, 3), "float32")).shape
        (1, 2, 2, 3)
    """

    space = 2


class AveragePooling3D(AveragePooling):
    """The mean of each window over three axes.

    Args: as for `MaxPooling2D`, with three axes of space.

    Shape:
        ``(batch, depth, height, width, channels) -> (batch, new_depth, new_height, new_width, channels)``

    Example:
        >>> import numpy as np
        >>> AveragePooling3D(2)(np.ones((1, 4, 4, 4, 3), "float32")).shape
        (1, 2, 2, 2, 3)
    """

    space = 3


AvgPool1D = AveragePooling1D
AvgPool2D = AveragePooling2D
AvgPool3D = AveragePooling3D
MaxPool1D = MaxPooling1D
MaxPool2D = MaxPooling2D
MaxPool3D = MaxPooling3D
