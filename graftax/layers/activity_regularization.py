"""ActivityRegularization: a penalty on values."""

from __future__ import annotations

from graftax import ops
from graftax.core.typedefs import Array
from graftax.layers.arguments import array_shape, check_range, require_real, single_shape, widen
from graftax.layers.layer import Layer
from graftax.layers.masking import check_mask, hide
from graftax.layers.policy import DTypePolicy


class ActivityRegularization(Layer):
    """Adds a penalty on its input to the loss, and returns the input: ``(l1 * sum(abs(x)) + l2 * sum(x**2)) / batch``.

    What a mask hides does not count.

    Args:
        l1: The factor of the sum of absolute values, at least 0. Defaults to 0.
        l2: The factor of the sum of squares, at least 0. Defaults to 0.
        name: As for `Layer`.
        dtype: As for `Layer`; the sums are taken in float32 at least.

    Shape:
        ``(...) -> (...)``

    Raises:
        ArgumentError: a factor is below 0.
        ShapeError: the input has no axis of a batch.

    Example:
        >>> import numpy as np
        >>> layer = ActivityRegularization(l1=0.5)
        >>> layer(np.float32([[1, -3]])).tolist(), [float(loss) for loss in layer.losses]
        ([[1.0, -3.0]], [2.0])
    """

    supports_masking = True

    def __init__(
        self, l1: float = 0.0, l2: float = 0.0, name: str | None = None, dtype: str | DTypePolicy | None = None
    ) -> None:
        super().__init__(name, dtype=dtype)
        self.l1, self.l2 = check_range("l1", l1, 0, float("inf")), check_range("l2", l2, 0, float("inf"))

    def call(self, x: Array, mask: Array | None = None) -> Array:
        shape = single_shape(array_shape(x), least=1)
        require_real(x)
        seen = widen(x if mask is None else hide(x, check_mask(mask, shape)))
        share = 1 / max(shape[0], 1)
        if self.l1:
            self.add_loss(self.l1 * share * ops.sum(ops.abs(seen)))
        if self.l2:
            self.add_loss(self.l2 * share * ops.sum(ops.square(seen)))
        return x
