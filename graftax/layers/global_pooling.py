"""Pooling over all of space, channels last."""

from __future__ import annotations

import math
from typing import ClassVar

from graftax import ops
from graftax.core.typedefs import Array, Shape
from graftax.core.undefined import undefined_error
from graftax.layers.arguments import array_shape, check_flag, narrow, require_real, single_shape, widen
from graftax.layers.layer import Layer
from graftax.layers.masked_space import clear_hidden, lower_hidden, over_space
from graftax.layers.masking import hide
from graftax.layers.policy import DTypePolicy


class GlobalPooling(Layer):
    """The base of poolings over all of space, which describe the arguments. What a mask hides is left out."""

    compiles_call = True
    space: ClassVar[int]

    def __init__(self, keepdims: bool = False, name: str | None = None, dtype: str | DTypePolicy | None = None) -> None:
        super().__init__(name, dtype=dtype)
        self.keepdims = check_flag("keepdims", keepdims)
        self.axes = tuple(range(1, self.space + 1))

    def call(self, x: Array, mask: Array | None = None) -> Array:
        single_shape(array_shape(x), self.space + 2, self.space + 2)
        return self.pool(x, None if mask is None else over_space(mask, x))

    def pool(self, x: Array, seen: Array | None) -> Array:
        """Return what is left of the axes of space; subclasses must define it.

        Args:
            x: ``(batch, *space, channels)``.
            seen: What counts, as `over_space` gives it; None for all.
        """
        raise undefined_error(self, "pool(x, seen)")

    def compute_mask(self, inputs: Array, mask: Array | None) -> None:
        """Return None: it is used up here."""


def mean(x: Array, axes: Shape, keepdims: bool, dtype: str) -> Array:
    """Return the mean over axes, summed in float32 at least, of integers in a dtype; 0 over no values at all."""
    total = ops.sum(widen(x), axis=axes, keepdims=keepdims)
    return narrow(total / (math.prod(x.shape[i] for i in axes) or 1), x, dtype)


class GlobalMaxPooling1D(GlobalPooling):
    """The largest value over the steps; where there is a mask, of those that it lets through, 0 where there is none.

    Args: as for `GlobalAveragePooling2D`.

    Shape:
        ``(batch, steps, channels) -> (batch, channels)``

    Example:
        >>> import numpy as np
        >>> x = np.float32([[[1], [3]]])
        >>> GlobalMaxPooling1D()(x).tolist(), GlobalMaxPooling1D()(x, mask=np.array([[True, False]])).tolist()
        ([[3.0]], [[1.0]])
    """

    space = 1

    def pool(self, x: Array, seen: Array | None) -> Array:
        require_real(x)
        if any(x.shape[axis] == 0 for axis in self.axes):  # 0, as where all is hidden
            return ops.cast(ops.sum(x, axis=self.axes, keepdims=self.keepdims), str(x.dtype))
        if seen is None:
            return ops.max(x, axis=self.axes, keepdims=self.keepdims)
        largest = ops.max(lower_hidden(x, seen), axis=self.axes, keepdims=self.keepdims)
        return clear_hidden(largest, ops.any(seen, axis=self.axes, keepdims=self.keepdims))


class GlobalMaxPooling2D(GlobalMaxPooling1D):
    """The largest value over height and width, of what a mask lets through; 0 where there is nothing.

    Args: as for `GlobalAveragePooling2D`.

    Shape:
        ``(batch, height, width, channels) -> (batch, channels)``

    Example:
        >>> import numpy as np
        >>> GlobalMaxPooling2D(keepdims=True)(np.ones((2, 4, 4, 3), "float32")).shape
        (2, 1, 1, 3)
    """

    space = 2


class GlobalMaxPooling3D(GlobalMaxPooling1D):
    """The largest value of a volume.

    Args: as for `GlobalAveragePooling2D`.

    Shape:
        ``(batch, depth, height, width, channels) -> (batch, channels)``

    Example:
        >>> import numpy as np
        >>> GlobalMaxPooling3D()(np.ones((2, 4, 4, 4, 3), "float32")).shape
        (2, 3)
    """

    space = 3


class GlobalAveragePooling1D(GlobalPooling):
    """The mean over the steps; where there is a mask, over those that it lets through, 0 where there is none.

    Args: as for `GlobalAveragePooling2D`.

    Shape:
        ``(batch, steps, channels) -> (batch, channels)``

    Example:
        >>> import numpy as np
        >>> x = np.float32([[[1], [3]]])
        >>> GlobalAveragePooling1D()(x).tolist(), GlobalAveragePooling1D()(x, mask=np.array([[True, False]])).tolist()
        ([[2.0]], [[1.0]])
    """

    space = 1

    def pool(self, x: Array, seen: Array | None) -> Array:
        if seen is None:
            return mean(x, self.axes, self.keepdims, self.compute_dtype)
        total = ops.sum(widen(hide(x, seen)), axis=self.axes, keepdims=self.keepdims)
        count = ops.sum(ops.cast(seen, "float32"), axis=self.axes, keepdims=self.keepdims)
        return narrow(total / ops.cast(ops.maximum(count, 1), total.dtype), x, self.compute_dtype)


class GlobalAveragePooling2D(GlobalAveragePooling1D):
    """The mean over height and width, of what a mask lets through; 0 where there is nothing.

    Args:
        keepdims: Whether the axes stay, with size 1. Defaults to False.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, height, width, channels) -> (batch, channels)``

    Raises:
        ShapeError: the first input has other axes.

    Example:
        >>> import numpy as np
        >>> GlobalAveragePooling2D()(np.ones((2, 4, 4, 3), "float32")).shape
        (2, 3)
    """

    space = 2


class GlobalAveragePooling3D(GlobalAveragePooling1D):
    """The mean over depth, height and width.

    Args: as for `GlobalAveragePooling2D`.

    Shape:
        ``(batch, depth, height, width, channels) -> (batch, channels)``

    Example:
        >>> import numpy as np
        >>> GlobalAveragePooling3D(keepdims=True)(np.ones((2, 4, 4, 4, 3), "float32")).shape
        (2, 1, 1, 1, 3)
    """

    space = 3


GlobalAvgPool1D = GlobalAveragePooling1D
GlobalAvgPool2D = GlobalAveragePooling2D
GlobalAvgPool3D = GlobalAveragePooling3D
GlobalMaxPool1D = GlobalMaxPooling1D
GlobalMaxPool2D = GlobalMaxPooling2D
GlobalMaxPool3D = GlobalMaxPooling3D
