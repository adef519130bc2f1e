"""PositionEmbedding and SinePositionEncoding: vectors that say where in a sequence a row stands."""

from __future__ import annotations

import math

import numpy as np

from graftax import ops
from graftax.backend import registry, traced_checks
from graftax.core.errors import ArgumentError, DTypeError, ShapeError
from graftax.core.typedefs import Array, ArrayLike, Shape
from graftax.layers.arguments import array_shape, check_positive, narrow, single_shape, widen
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.variables import constraints, initializers, regularizers
from graftax.variables.constraints import ConstraintLike
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike


def check_start(start: ArrayLike) -> Array:
    """Return the position of the first row as an array.

    Raises:
        ShapeError: it is several.
        DTypeError: it is no integer.
    """
    start = ops.asarray(start)
    if start.ndim:
        raise ShapeError(
            f"start of shape {tuple(start.shape)}",
            "it is the position of the first row, one for the whole batch",
            "start=3, or gx.vectorized_map over the batch",
        )
    if start.dtype.kind not in "iu":  # half precision, which floating arguments come in, has no 301
        raise DTypeError(f"start of dtype {start.dtype.name}", "positions are counted", "start=3, an integer")
    return start if start.dtype.itemsize >= 4 else ops.cast(start, "int32")  # short ones hold no position beyond 127


class PositionEmbedding(Layer):
    """A learned vector for each position of a sequence, to be added to its rows: ``x + PositionEmbedding(512)(x)``.

    Args:
        sequence_length: How many positions there are.
        initializer: What the weight ``position_embeddings``, of shape ``(sequence_length, features)``, starts as.
        regularizer: Penalty on it. Defaults to None, none.
        constraint: Projection of it after each update. Defaults to None, none.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`.

    A call takes ``start=``, the position of the first row, by default 0.

    Shape:
        ``(batch, steps, features) -> (batch, steps, features)``

    Raises:
        ArgumentError: the length is not above 0, or rows lie beyond it; in compiled code, where ``start`` is computed,
            if that is checked.
        ShapeError: an input with other axes or features than the first one.

    Example:
        >>> import numpy as np
        >>> x = np.ones((2, 5, 4), "float32")
        >>> layer = PositionEmbedding(16)
        >>> (x + layer(x, start=3)).shape, layer.position_embeddings.shape
        ((2, 5, 4), (16, 4))
    """

    _gx_of_weights = frozenset({"constraint", "initializer", "regularizer", "sequence_length"})

    supports_masking = True
    compiles_call = True

    def __init__(
        self,
        sequence_length: int,
        initializer: InitializerLike = "glorot_uniform",
        regularizer: RegularizerLike = None,
        constraint: ConstraintLike = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        self.sequence_length = check_positive("sequence_length", sequence_length, 512)
        self.initializer = initializers.get(initializer)
        self.regularizer, self.constraint = regularizers.get(regularizer), constraints.get(constraint)

    def build(self, input_shape: Shape) -> None:
        features = single_shape(input_shape, 3, 3)[-1]
        self.position_embeddings = self.add_weight(
            (self.sequence_length, features),
            self.initializer,
            name="position_embeddings",
            regularizer=self.regularizer,
            constraint=self.constraint,
        )

    def call(self, x: Array, start: ArrayLike = 0) -> Array:
        shape = single_shape(array_shape(x), 3, 3)
        if shape[2] != self.position_embeddings.shape[1]:
            raise ShapeError(
                f"an input of shape {shape}",
                f"the vectors were made of {self.position_embeddings.shape[1]} numbers, at the first call",
                "a new layer for other features",
            )
        first = check_start(start)
        arrays = registry.current().arrays
        if shape[1] > self.sequence_length or arrays.is_concrete(first):
            host = int(arrays.to_numpy(first)) if arrays.is_concrete(first) else 0
            if (error := self._range_error(shape[1], host)) is not None:
                raise error
        elif traced_checks.is_checking():
            bad = (first < 0) | (first > self.sequence_length - shape[1])
            traced_checks.emit(lambda host: self._range_error(shape[1], host), bad, first)
        rows = ops.slice(self.position_embeddings, ops.stack([first, ops.zeros_like(first)]), shape[1:])
        return ops.broadcast_to(rows, shape)

    def _range_error(self, steps: int, start: int) -> ArgumentError | None:
        if 0 <= start <= self.sequence_length - steps:
            return None
        return ArgumentError(
            f"{steps} rows from position {start} on",
            f"there are vectors for {self.sequence_length} positions",
            f"PositionEmbedding({max(int(start), 0) + steps})",
        )


class SinePositionEncoding(Layer):
    r"""Sines and cosines of the position at many wavelengths, to be added to the rows of a sequence.

    .. math:: p_{t, 2i} = \sin(t / \lambda^{2i / d}) \qquad p_{t, 2i + 1} = \cos(t / \lambda^{2i / d})

    Args:
        max_wavelength: ``λ``, above 1. Defaults to 10000.
        name: As for `Layer`.
        dtype: As for `Layer`; angles are computed in float32 at least.

    A call takes ``start=``, the position of the first row, by default 0.

    Shape:
        ``(batch, steps, features) -> (batch, steps, features)``

    Raises:
        ArgumentError: the wavelength is not above 1.
        ShapeError: an input with other axes.

    Example:
        >>> import numpy as np
        >>> [[round(x, 3) for x in row] for row in SinePositionEncoding()(np.zeros((1, 2, 2), "float32"))[0].tolist()]
        [[0.0, 1.0], [0.841, 0.54]]

    Source: Vaswani et al., arXiv 1706.03762.
    """

    supports_masking = True
    compiles_call = True

    def __init__(
        self, max_wavelength: float = 10000.0, name: str | None = None, dtype: str | DTypePolicy | None = None
    ) -> None:
        super().__init__(name, dtype=dtype)
        number = isinstance(max_wavelength, int | float | np.number) and not isinstance(max_wavelength, bool)
        if not number or not 1 < max_wavelength < math.inf:
            raise ArgumentError(f"max_wavelength={max_wavelength!r:.60}", "it is above 1", "max_wavelength=10000.0")
        self.max_wavelength = float(max_wavelength)

    def call(self, x: Array, start: ArrayLike = 0) -> Array:
        shape = single_shape(array_shape(x), 3, 3)
        dtype = widen(x).dtype
        features = ops.arange(shape[2])
        pair = ops.cast(features // 2, dtype) * (2 / shape[2])
        speeds = ops.power(ops.asarray(self.max_wavelength, dtype), -pair)
        positions = ops.cast(check_start(start), dtype) + ops.arange(shape[1], dtype=dtype)
        angles = positions[:, None] * speeds
        encoding = ops.where(ops.equal(features % 2, 0), ops.sin(angles), ops.cos(angles))
        return ops.broadcast_to(narrow(encoding, x, self.compute_dtype), shape)
