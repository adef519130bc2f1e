"""Dropout of whole channels: what is dropped is dropped everywhere in space."""

from __future__ import annotations

from typing import ClassVar

from graftax.core.typedefs import Shape
from graftax.layers.arguments import single_shape
from graftax.layers.dropout import Dropout
from graftax.layers.policy import DTypePolicy


class SpatialDropout(Dropout):
    """The base of `SpatialDropout1D`, `SpatialDropout2D` and `SpatialDropout3D`, which describe the arguments."""

    space: ClassVar[int]

    def __init__(
        self, rate: float, seed: int | None = None, name: str | None = None, dtype: str | DTypePolicy | None = None
    ) -> None:
        super().__init__(rate, seed=seed, name=name, dtype=dtype)

    def _noise_shape(self, shape: Shape) -> Shape:
        batch, *_, channels = single_shape(shape, self.space + 2, self.space + 2)
        return (batch, *[1] * self.space, channels)


class SpatialDropout1D(SpatialDropout):
    """Sets whole channels to 0 with a probability while training, for all steps of a sequence together.

    Args: as for `SpatialDropout2D`.

    Shape:
        ``(batch, steps, channels) -> (batch, steps, channels)``

    Example:
        >>> import numpy as np
        >>> out = SpatialDropout1D(0.5, seed=0)(np.ones((1, 4, 8), "float32"), training=True)
        >>> bool((out == out[:, :1]).all())
        True
    """

    space = 1


class SpatialDropout2D(SpatialDropout):
    """Sets whole channels to 0 with a probability while training, and scales the others so that the mean stays.

    Args:
        rate: The probability, from 0 to 1.
        seed: Fixes the draws, as for `Dropout`. Defaults to None: a stream of the layer's own.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, height, width, channels) -> (batch, height, width, channels)``

    Raises:
        ArgumentError: the rate is not from 0 to 1.
        ShapeError: in training: the input has other axes.

    Example:
        >>> import numpy as np
        >>> out = SpatialDropout2D(0.5, seed=0)(np.ones((1, 4, 4, 8), "float32"), training=True)
        >>> bool((out == out[:, :1, :1]).all())
        True

    Source: Tompson et al., arXiv 1411.4280.
    """

    space = 2


class SpatialDropout3D(SpatialDropout):
    """Sets whole channels of volumes to 0 with a probability while training.

    Args: as for `SpatialDropout2D`.

    Shape:
        ``(batch, depth, height, width, channels) -> (batch, depth, height, width, channels)``

    Example:
        >>> import numpy as np
        >>> SpatialDropout3D(1.0)(np.ones((1, 2, 2, 2, 1), "float32"), training=True).max().tolist()
        0.0
    """

    space = 3
