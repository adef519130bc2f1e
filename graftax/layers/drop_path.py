"""DropPath: whole elements of the batch dropped while training."""

from __future__ import annotations

from graftax.core.typedefs import Shape
from graftax.layers.arguments import single_shape
from graftax.layers.dropout import Dropout
from graftax.layers.policy import DTypePolicy


class DropPath(Dropout):
    """Sets whole elements of the batch to 0 with a probability while training, and scales the others: stochastic depth.

    Put it at the end of a branch that is added to its input: ``x + DropPath(0.1)(block(x))``.

    Args:
        rate: The probability, from 0 to 1.
        seed: Fixes the draws, as for `Dropout`. Defaults to None: a stream of the layer's own.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, ...) -> (batch, ...)``

    Raises:
        ArgumentError: the rate is not from 0 to 1.

    Example:
        >>> import numpy as np
        >>> out = DropPath(0.5, seed=0)(np.ones((8, 3), "float32"), training=True)
        >>> set(out.ravel().tolist()) <= {0.0, 2.0}, bool((out == out[:, :1]).all())
        (True, True)

    Source: Huang et al., arXiv 1603.09382.
    """

    def __init__(
        self, rate: float, seed: int | None = None, name: str | None = None, dtype: str | DTypePolicy | None = None
    ) -> None:
        super().__init__(rate, seed=seed, name=name, dtype=dtype)

    def _noise_shape(self, shape: Shape) -> Shape:
        batch, *rest = single_shape(shape, least=1)
        return (batch, *[1] * len(rest))
