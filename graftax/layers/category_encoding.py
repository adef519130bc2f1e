"""CategoryEncoding: integers as vectors with a place for each category."""

from __future__ import annotations

from collections.abc import Sequence

from graftax import ops
from graftax.core.errors import ArgumentError, DTypeError, ShapeError
from graftax.core.typedefs import Array, ArrayLike
from graftax.layers.arguments import array_shape, check_choice, check_positive, single_shape
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy

MODES = ("multi_hot", "one_hot", "count")


class CategoryEncoding(Layer):
    """Integers from 0 to ``num_tokens - 1`` as vectors with a place for each.

    Every integer counts as a category. So an array of zeros and ones that is one-hot already is not left as it is: its
    numbers are the categories 0 and 1. ``ops.argmax(x, axis=-1)`` gives the categories back.

    Args:
        num_tokens: How many categories there are.
        output_mode: ``"multi_hot"`` for 1 at each category that a row has, ``"count"`` for how often it has it, or
            ``"one_hot"`` for a vector for each integer. Defaults to ``"multi_hot"``.
        name: As for `Layer`.
        dtype: As for `Layer`.

    A call takes ``count_weights``, of the shape of the input, for what each integer counts in ``"count"``.

    Shape:
        ``(batch, n) -> (batch, num_tokens)``; for ``"one_hot"`` ``(..., n) -> (..., n, num_tokens)``, where an axis of
        size 1 at the end is replaced

    Raises:
        ArgumentError: a setting is out of range, or there are weights in another mode.
        IndexRangeError: in eager code: an integer outside ``[0, num_tokens)``.
        DTypeError: the input holds no integers.

    Example:
        >>> import numpy as np
        >>> CategoryEncoding(4)(np.array([[0, 2, 2]])).tolist()
        [[1.0, 0.0, 1.0, 0.0]]
    """

    _gx_takes_wide = True
    _gx_input_dtype = "int32"

    def __init__(
        self,
        num_tokens: int,
        output_mode: str = "multi_hot",
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, dtype=dtype)
        self.num_tokens = check_positive("num_tokens", num_tokens, 10)
        self.output_mode = check_choice("output_mode", output_mode, MODES)

    def call(self, inputs: Array, count_weights: ArrayLike | None = None) -> Array:
        single_shape(array_shape(inputs), least=1)
        indices = ops.asarray(inputs)
        if indices.dtype.kind not in "iu":
            raise DTypeError(
                f"an input of dtype {indices.dtype.name}",
                "categories are counted",
                'ops.cast(x, "int32") of whole numbers; Discretization for numbers with fractions',
            )
        if count_weights is not None and self.output_mode != "count":
            raise ArgumentError(
                f"count_weights with output_mode={self.output_mode!r}", "nothing is counted", 'output_mode="count"'
            )
        return encode(indices, self.num_tokens, self.output_mode, self.compute_dtype, count_weights)


def encode(indices: Array, size: int, mode: str, dtype: str, weights: ArrayLike | None = None) -> Array:
    """Return indices as vectors with a place for each of ``size``.

    Args:
        indices: The integers.
        size: How many places there are.
        mode: One of `MODES`.
        dtype: That of the result.
        weights: What each integer counts. Defaults to None, 1.
    """
    if mode == "one_hot":
        flat = indices[..., 0] if indices.ndim > 1 and indices.shape[-1] == 1 else indices
        return ops.one_hot(flat, size, dtype=dtype)
    hot = ops.one_hot(indices if indices.ndim > 1 else indices[:, None], size, dtype="float32")
    if mode == "multi_hot":
        return ops.cast(ops.any(hot > 0, axis=-2), dtype)
    if weights is not None:
        given = ops.asarray(weights)
        if tuple(given.shape) != tuple(indices.shape):
            raise ShapeError(
                f"count_weights of shape {tuple(given.shape)} for integers of shape {tuple(indices.shape)}",
                "each integer has a weight",
                "weights of the shape of the input",
            )
        hot = ops.where(hot > 0, (given if given.ndim > 1 else given[:, None])[..., None], 0)  # 0 * inf is nan
    return ops.cast(ops.sum(hot, axis=-2), dtype)


def check_modes(mode: str, modes: Sequence[str] = ("int", *MODES)) -> str:
    """Return the mode of a layer that makes integers itself."""
    return check_choice("output_mode", mode, modes)
