"""Gradients of tables of which a step reads a few rows: the rows alone, in place of a whole array of zeros."""

from __future__ import annotations

from typing import Any, NamedTuple

from graftax import ops
from graftax.backend import registry
from graftax.core.errors import DTypeError, ShapeError
from graftax.core.short_traceback import door
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.ops.indexing import count_from_0


class IndexedRows:
    """A gradient that is zero except for some rows; rows that come several times add up.

    An optimizer takes it as the whole gradient that it stands for, so that every rule, clip and option does the same as
    with a dense one: Adam moves rows that have no gradient, too. With ``lazy=True`` it reads and moves these rows only.

    Args:
        indices: Which rows, in any shape; integers in ``[0, shape[0])``.
        values: A row for each of them.
        shape: The shape of the whole gradient, which is that of its variable.

    Shape:
        indices ``(...)``, values ``(..., *shape[1:])``

    Raises:
        ShapeError: the shapes do not fit together.
        DTypeError: the indices are no integers.

    Example:
        >>> import numpy as np, graftax as gx
        >>> table = gx.Variable(np.zeros((4, 2), "float32"))
        >>> words = np.array([3, 1, 3])
        >>> rows = gx.ops.take(table, words, axis=0)
        >>> loss, gradient = gx.value_and_grad(lambda rows: gx.ops.sum(rows - 1.0))(rows)
        >>> adam = gx.optimizers.Adam(0.5, lazy=True)
        >>> adam.apply([gx.IndexedRows(words, gradient, table.shape)], [table])
        >>> table.numpy().round(3).tolist()
        [[0.0, 0.0], [-0.5, -0.5], [0.0, 0.0], [-0.5, -0.5]]
    """

    @door
    def __init__(self, indices: ArrayLike, values: ArrayLike, shape: Shape) -> None:
        self.indices: Any = ops.asarray(indices)
        self.values: Any = ops.asarray(values)
        self.shape = tuple(shape)
        if "int" not in str(self.indices.dtype):
            raise DTypeError(
                f"IndexedRows got indices of dtype {self.indices.dtype}",
                "they say which rows, and are integers",
                'ops.cast(indices, "int32")',
            )
        if not self.shape or tuple(self.values.shape) != (*self.indices.shape, *self.shape[1:]):
            raise ShapeError(
                f"IndexedRows got indices of shape {tuple(self.indices.shape)}, values of shape "
                f"{tuple(self.values.shape)} and the whole shape {self.shape}",
                "there is one row for each index",
                "IndexedRows(words, gradient of the looked-up rows, table.shape)",
            )

    def _flatten(self) -> tuple[Any, Any]:
        count = self.indices.size
        indices = count_from_0(registry.current().arrays, self.indices, self.shape[0])
        return ops.reshape(indices, (count,)), ops.reshape(self.values, (count, *self.shape[1:]))

    @door
    def dense(self) -> Array:
        """Return the whole gradient."""
        indices, values = self._flatten()
        return ops.scatter_add(ops.zeros(self.shape, values.dtype), indices, values)

    @door
    def summed(self) -> tuple[TouchedRows, Array]:
        """Return which rows are touched, and what each distinct one gets in sum; the rest of the sums is zero."""
        indices, values = self._flatten()
        order = ops.argsort(indices)
        places = ops.take(indices, order, axis=0)
        changes = ops.cast(ops.not_equal(places[1:], places[:-1]), "int32")
        first = ops.zeros((min(indices.size, 1),), "int32")
        segments = ops.concatenate([first, ops.cumsum(changes)])
        sums = ops.segment_sum(ops.take(values, order, axis=0), segments, indices.size)
        return TouchedRows(places, segments), sums

    def __repr__(self) -> str:
        return f"IndexedRows({tuple(self.indices.shape)} of {self.shape})"


class TouchedRows(NamedTuple):
    """The rows that a gradient touches: sorted, as often as they were given; and, for each, which sum it gets."""

    places: Any
    segments: Any

    def of(self, whole: Any) -> Any:
        """Return these rows of an array."""
        return ops.take(whole, self.places, axis=0)

    def share(self, sums: Any) -> Any:
        """Return what each of them gets of the sums."""
        return ops.take(sums, self.segments, axis=0)

    def put(self, whole: Any, rows: Any) -> Any:
        """Return the array with other rows in their place; where a row comes several times, all of them are equal."""
        return registry.current().arrays.set_at(whole, self.places, rows)
