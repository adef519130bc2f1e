"""Pooling to an output of a given size, whatever that of the input, channels last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from graftax import ops
from graftax.core.errors import ExportError, ShapeError
from graftax.core.free_sizes import is_free
from graftax.core.typedefs import Array
from graftax.core.undefined import undefined_error
from graftax.layers.arguments import array_shape, for_each_axis, narrow, require_real, single_shape, widen
from graftax.layers.layer import Layer
from graftax.layers.masked_space import clear_hidden, lower_hidden, over_space
from graftax.layers.masking import hide
from graftax.layers.policy import DTypePolicy


class AdaptivePooling(Layer):
    """The base of poolings to a given size, which describe the arguments.

    Each axis is pooled on its own, which is the same: windows are products of windows over one axis.
    """

    compiles_call = True
    space: ClassVar[int]

    def __init__(
        self, output_size: int | Sequence[int], name: str | None = None, dtype: str | DTypePolicy | None = None
    ) -> None:
        super().__init__(name, dtype=dtype)
        self.output_size = for_each_axis("output_size", output_size, self.space)

    def call(self, x: Array, mask: Array | None = None) -> Array:
        sizes = single_shape(array_shape(x), self.space + 2, self.space + 2)[1:-1]
        if not all(sizes):
            raise ShapeError(
                f"an input of shape {tuple(x.shape)}",
                "there is nothing to pool on an axis",
                "at least one value on each",
            )
        for axis, (n, m) in enumerate(zip(sizes, self.output_size, strict=True), 1):
            if is_free(n % m):
                raise ExportError(
                    f"an input of shape {tuple(x.shape)}, pooled to {m} on axis {axis}",
                    f"which windows there are depends on {n}, which is known only when the exported program runs",
                    f'a number for that size, or a multiple: Spec("batch {m}*{n} ...")',
                )
        return self.pool(x) if mask is None else self.pool_visible(x, over_space(mask, x))

    def compute_mask(self, inputs: Array, mask: Array | None) -> Array | None:
        """Return True for the windows in which something is seen."""
        return None if mask is None else (self.shares(over_space(mask, inputs)) > 0)[..., 0]

    def pool(self, x: Array) -> Array:
        """Return an array with all axes of space pooled."""
        for axis, m in enumerate(self.output_size, 1):
            n = x.shape[axis]
            if n % m:
                x = self.pool_unevenly(x, axis, m)
            elif n != m:
                shape = (*x.shape[:axis], m, n // m, *x.shape[axis + 1 :])
                x = self.reduce_axis(ops.reshape(x, shape), axis + 1)
        return x

    def shares(self, seen: Array) -> Array:
        """Return above 0, in float32, for the windows in which something is seen."""
        return self.pool(ops.cast(seen, "float32"))

    def pool_visible(self, x: Array, seen: Array) -> Array:
        """Return what is seen with all axes of space pooled, 0 where that is nothing; subclasses must define it."""
        raise undefined_error(self, "pool_visible(x, seen)")

    def reduce_axis(self, x: Array, axis: int) -> Array:
        """Return one axis pooled whole; subclasses must define it."""
        raise undefined_error(self, "reduce_axis(x, axis)")

    def pool_unevenly(self, x: Array, axis: int, m: int) -> Array:
        """Return one axis pooled by windows of several sizes; subclasses must define it."""
        raise undefined_error(self, "pool_unevenly(x, axis, m)")


def bounds(n: int, m: int) -> tuple[Any, Any]:
    """Return where the ``m`` windows over ``n`` values begin and end."""
    i = np.arange(m)
    return i * n // m, -(-(i + 1) * n // m)


class AdaptiveMaxPooling(AdaptivePooling):
    """The largest value of each window."""

    def call(self, x: Array, mask: Array | None = None) -> Array:
        return super().call(require_real(x), mask)

    def pool_visible(self, x: Array, seen: Array) -> Array:
        return clear_hidden(self.pool(lower_hidden(x, seen)), self.shares(seen) > 0)

    def reduce_axis(self, x: Array, axis: int) -> Array:
        return ops.max(x, axis=axis)

    def pool_unevenly(self, x: Array, axis: int, m: int) -> Array:
        start, end = bounds(x.shape[axis], m)
        seen = np.minimum(start[:, None] + np.arange((end - start).max()), end[:, None] - 1)  # the last one repeated
        return ops.max(ops.take(x, seen, axis=axis), axis=axis + 1)


class AdaptiveAveragePooling(AdaptivePooling):
    """The mean of each window."""

    def call(self, x: Array, mask: Array | None = None) -> Array:
        return narrow(super().call(x, mask), x, self.compute_dtype)

    def pool(self, x: Array) -> Array:
        return super().pool(widen(x))

    def pool_visible(self, x: Array, seen: Array) -> Array:
        share, mean = self.shares(seen), self.pool(hide(x, seen))  # windows are products of those of each axis
        return mean / ops.cast(ops.where(share > 0, share, 1), mean.dtype)

    def reduce_axis(self, x: Array, axis: int) -> Array:
        return ops.mean(x, axis=axis)

    def pool_unevenly(self, x: Array, axis: int, m: int) -> Array:
        start, end = bounds(x.shape[axis], m)
        place = np.arange(x.shape[axis])
        inside = (place >= start[:, None]) & (place < end[:, None])
        shares = ops.asarray((inside / (end - start)[:, None]).astype("float32"), x.dtype)
        return ops.moveaxis(ops.tensordot(shares, x, axes=((1,), (axis,))), 0, axis)


class AdaptiveAveragePooling1D(AdaptiveAveragePooling):
    """The mean of each window over one axis, such as time: as many as are asked for.

    Args: as for `AdaptiveAveragePooling2D`, with one axis of space.

    Shape:
        ``(batch, steps, channels) -> (batch, output_size, channels)``

    Example:
        >>> import numpy as np
        >>> AdaptiveAveragePooling1D(3)(np.ones((1, 7, 3), "float32")).shape
        (1, 3, 3)
    """

    space = 1


class AdaptiveAveragePooling2D(AdaptiveAveragePooling):
    """The mean of each window over two axes, such as those of an image: as many as are asked for.

    Args:
        output_size: Height and width of the output; one number for both.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Window ``i`` of ``m`` over ``n`` values goes from ``floor(i * n / m)`` to ``ceil((i + 1) * n / m)``.

    What a mask hides is left out; the output has a mask of the windows in which something counts.

    Shape:
        ``(batch, height, width, channels) -> (batch, *output_size, channels)``

    Raises:
        ArgumentError: a size is not above 0.
        ShapeError: the input has other axes, or one without values.

    Example:
        >>> import numpy as np
        >>> AdaptiveAveragePooling2D(3)(np.ones((1, 7, 7, 3), "float32")).shape
        (1, 3, 3, 3)
    """

    space = 2


class AdaptiveAveragePooling3D(AdaptiveAveragePooling):
    """The mean of each window over three axes, such as those of a volume: as many as are asked for.

    Args: as for `AdaptiveAveragePooling2D`, with three axes of space.

    Shape:
        ``(batch, depth, height, width, channels) -> (batch, *output_size, channels)``

    Example:
        >>> import numpy as np
        >>> AdaptiveAveragePooling3D(3)(np.ones((1, 7, 7, 7, 3), "float32")).shape
        (1, 3, 3, 3, 3)
    """

    space = 3


class AdaptiveMaxPooling1D(AdaptiveMaxPooling):
    """The largest value of each window over one axis, such as time: as many as are asked for.

    Args: as for `AdaptiveMaxPooling2D`, with one axis of space.

    Shape:
        ``(batch, steps, channels) -> (batch, output_size, channels)``

    Example:
        >>> import numpy as np
        >>> AdaptiveMaxPooling1D(3)(np.ones((1, 7, 3), "float32")).shape
        (1, 3, 3)
    """

    space = 1


class AdaptiveMaxPooling2D(AdaptiveMaxPooling):
    """The largest value of each window over two axes, such as those of an image: as many as are asked for.

    Args:
        output_size: Height and width of the output; one number for both.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Window ``i`` of ``m`` over ``n`` values goes from ``floor(i * n / m)`` to ``ceil((i + 1) * n / m)``.

    What a mask hides is left out; the output has a mask of the windows in which something counts.

    Shape:
        ``(batch, height, width, channels) -> (batch, *output_size, channels)``

    Raises:
        ArgumentError: a size is not above 0.
        ShapeError: the input has other axes, or one without values.

    Example:
        >>> import numpy as np
        >>> AdaptiveMaxPooling2D(3)(np.ones((1, 7, 7, 3), "float32")).shape
        (1, 3, 3, 3)
    """

    space = 2


class AdaptiveMaxPooling3D(AdaptiveMaxPooling):
    """The largest value of each window over three axes, such as those of a volume: as many as are asked for.

    Args: as for `AdaptiveMaxPooling2D`, with three axes of space.

    Shape:
        ``(batch, depth, height, width, channels) -> (batch, *output_size, channels)``

    Example:
        >>> import numpy as np
        >>> AdaptiveMaxPooling3D(3)(np.ones((1, 7, 7, 7, 3), "float32")).shape
        (1, 3, 3, 3, 3)
    """

    space = 3
