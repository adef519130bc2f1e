"""Embedding: a learned vector for each integer."""

from __future__ import annotations

from graftax import ops
from graftax.core.typedefs import Array, Shape
from graftax.layers.arguments import array_shape, check_flag, check_positive
from graftax.layers.layer import Layer
from graftax.layers.masking import combine_masks
from graftax.layers.policy import DTypePolicy
from graftax.variables import constraints, initializers, regularizers
from graftax.variables.constraints import ConstraintLike
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike


class Embedding(Layer):
    """A learned vector for each integer from 0 to ``input_dim - 1``.

    Args:
        input_dim: How many integers there are.
        output_dim: Size of a vector.
        embeddings_initializer: What the vectors, of shape ``(input_dim, output_dim)``, start as. Defaults to
            ``"uniform"``.
        embeddings_regularizer: Penalty on the vectors. Defaults to None.
        embeddings_constraint: Projection of the vectors after each update. Defaults to None.
        mask_zero: True makes 0 padding: it still has a vector, but the layers and losses that follow get a mask.
            Defaults to False.
        name: As for `Layer`. Defaults to None.
        trainable: As for `Layer`. Defaults to True.
        dtype: As for `Layer`. Defaults to None.

    Shape:
        ``(...) -> (..., output_dim)``

    Raises:
        ArgumentError: a size is not above 0.
        IndexRangeError: in eager code: an integer outside ``[0, input_dim)``.
        DTypeError: the input holds no integers.

    Example:
        >>> import numpy as np
        >>> layer = Embedding(10, 4)
        >>> layer(np.array([[1, 2, 0]])).shape, layer.embeddings.shape
        ((1, 3, 4), (10, 4))
    """

    _gx_of_weights = frozenset({"input_dim", "output_dim"})

    _gx_input_dtype = "int32"

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: InitializerLike = "uniform",
        embeddings_regularizer: RegularizerLike = None,
        embeddings_constraint: ConstraintLike = None,
        mask_zero: bool = False,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        self.input_dim = check_positive("input_dim", input_dim)
        self.output_dim = check_positive("output_dim", output_dim)
        self.embeddings_initializer = initializers.get(embeddings_initializer)
        self.embeddings_regularizer = regularizers.get(embeddings_regularizer)
        self.embeddings_constraint = constraints.get(embeddings_constraint)
        self.mask_zero = check_flag("mask_zero", mask_zero)

    def build(self, input_shape: Shape) -> None:
        self.embeddings = self.add_weight(
            (self.input_dim, self.output_dim),
            self.embeddings_initializer,
            name="embeddings",
            regularizer=self.embeddings_regularizer,
            constraint=self.embeddings_constraint,
        )

    def call(self, indices: Array) -> Array:
        array_shape(indices)  # several arrays of indices would be stacked
        return ops.take(self.embeddings, indices, axis=0)

    def compute_mask(self, inputs: Array, mask: Array | None) -> Array | None:
        """Return True where the integer is not 0, if 0 is padding, and where a mask that comes lets through."""
        return combine_masks(mask, ops.not_equal(inputs, 0)) if self.mask_zero else mask
