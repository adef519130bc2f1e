"""Layers that only change the shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

from graftax import ops
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array, Shape
from graftax.layers.arguments import array_shape, check_positive, single_shape
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy


class Flatten(Layer):
    """All axes but the first as one.

    Shape:
        ``(batch, ...) -> (batch, size)``; ``(batch,) -> (batch, 1)``

    Raises:
        ShapeError: a scalar.

    Example:
        >>> import numpy as np
        >>> Flatten()(np.ones((2, 3, 4), "float32")).shape
        (2, 12)
    """

    compiles_call = True

    def call(self, x: Array) -> Array:
        batch, *rest = single_shape(array_shape(x), least=1)
        return ops.reshape(x, (batch, math.prod(rest)))


class Reshape(Layer):
    """The axes after the first in another shape.

    Args:
        target_shape: The new axes, without the batch; one may be -1, which stands for what is left.
        name: As for `Layer`. Defaults to None.
        dtype: As for `Layer`. Defaults to None.

    Shape:
        ``(batch, ...) -> (batch, *target_shape)``

    Raises:
        ArgumentError: the target is no sequence of sizes.
        ShapeError: the numbers of elements differ.

    Example:
        >>> import numpy as np
        >>> Reshape((3, -1))(np.ones((2, 12), "float32")).shape
        (2, 3, 4)
    """

    compiles_call = True

    def __init__(
        self, target_shape: Sequence[int], name: str | None = None, dtype: str | DTypePolicy | None = None
    ) -> None:
        super().__init__(name, dtype=dtype)
        sizes: tuple[Any, ...] = tuple(target_shape) if isinstance(target_shape, list | tuple) else (None,)
        valid = all(hasattr(n, "__index__") and not isinstance(n, bool) and n >= -1 for n in sizes)
        if not valid or sizes.count(-1) > 1:
            raise ArgumentError(
                f"target_shape={target_shape!r}",
                "it is a sequence of sizes, at most one of them -1",
                "target_shape=(4, -1)",
            )
        self.target_shape = tuple(map(index, sizes))

    def call(self, x: Array) -> Array:
        batch, *rest = single_shape(array_shape(x), least=1)
        return ops.reshape(x, (batch, *self._resolve_shape(tuple(rest))))

    def _resolve_shape(self, sizes: Shape) -> Shape:
        have, known = math.prod(sizes), math.prod(n for n in self.target_shape if n != -1)
        left = have // known if known else 0
        result = tuple(left if n == -1 else n for n in self.target_shape)
        if math.prod(result) != have:
            raise ShapeError(
                f"{have} values for each element of the batch, shape {sizes}",
                f"target_shape={self.target_shape} holds {'a multiple of ' if -1 in self.target_shape else ''}{known}",
                "target_shape=(-1,) takes any number",
            )
        return result


class Permute(Layer):
    """The axes after the first in another order.

    Args:
        dims: The order, counted from 1, without the batch: ``(2, 1)`` exchanges the two axes after it.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, ...) -> (batch, ...)``

    Raises:
        ArgumentError: ``dims`` has not each of the numbers from 1 once.
        ShapeError: the input has other axes.

    Example:
        >>> import numpy as np
        >>> Permute((2, 1))(np.ones((5, 3, 4), "float32")).shape
        (5, 4, 3)
    """

    compiles_call = True

    def __init__(self, dims: Sequence[int], name: str | None = None, dtype: str | DTypePolicy | None = None) -> None:
        super().__init__(name, dtype=dtype)
        order = tuple(dims) if isinstance(dims, list | tuple) else ()
        whole = all(hasattr(n, "__index__") and not isinstance(n, bool) and not hasattr(n, "shape") for n in order)
        if not order or not whole or sorted(map(index, order)) != list(range(1, len(order) + 1)):
            raise ArgumentError(
                f"dims={dims!r:.60}", "it has each of the axes after the batch once, counted from 1", "dims=(2, 1)"
            )
        self.dims = tuple(map(index, order))

    def call(self, x: Array) -> Array:
        single_shape(array_shape(x), len(self.dims) + 1, len(self.dims) + 1)
        return ops.transpose(x, (0, *self.dims))


class RepeatVector(Layer):
    """Each element of the batch as a sequence of copies of itself.

    Args:
        n: How many copies.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, features) -> (batch, n, features)``

    Raises:
        ArgumentError: ``n`` is not above 0.
        ShapeError: the input has other axes.

    Example:
        >>> import numpy as np
        >>> RepeatVector(3)(np.ones((2, 4), "float32")).shape
        (2, 3, 4)
    """

    compiles_call = True

    def __init__(self, n: int, name: str | None = None, dtype: str | DTypePolicy | None = None) -> None:
        super().__init__(name, dtype=dtype)
        self.n = check_positive("n", n, 3)

    def call(self, x: Array) -> Array:
        batch, features = single_shape(array_shape(x), 2, 2)
        return ops.broadcast_to(x[:, None], (batch, self.n, features))
