"""ReLU, LeakyReLU and PReLU: lines with a kink at 0."""

from __future__ import annotations

from collections.abc import Sequence

from graftax import ops
from graftax.core.errors import ArgumentError, ShapeError
from graftax.core.typedefs import Array, Shape
from graftax.layers import activations
from graftax.layers.arguments import array_shape, axis_numbers, check_range, require_real, single_shape, to_floating
from graftax.layers.layer import Layer
from graftax.layers.policy import DTypePolicy
from graftax.ops.checks import axis_in_range
from graftax.variables import constraints, initializers, regularizers
from graftax.variables.constraints import ConstraintLike
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike


class ReLU(Layer):
    """The positive part: ``max(x, 0)``, with an upper limit, a slope and a threshold where these are asked for.

    ``f(x) = min(x, max_value)`` where ``x >= threshold``, else ``negative_slope * (x - threshold)``.

    Args:
        max_value: The upper limit, at least 0. Defaults to None, no limit.
        negative_slope: The slope below the threshold, at least 0. Defaults to 0.
        threshold: Where the values that are kept begin, at least 0. Defaults to 0.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(...) -> (...)``

    Raises:
        ArgumentError: a number is below 0.

    Example:
        >>> import numpy as np
        >>> ReLU(max_value=2.0)(np.float32([-1, 1, 3])).tolist()
        [0.0, 1.0, 2.0]
    """

    supports_masking = True
    compiles_call = True

    def __init__(
        self,
        max_value: float | None = None,
        negative_slope: float = 0.0,
        threshold: float = 0.0,
        name: str | None = None,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, dtype=dtype)
        self.max_value = None if max_value is None else check_range("max_value", max_value, 0, float("inf"))
        self.negative_slope = check_range("negative_slope", negative_slope, 0, float("inf"))
        self.threshold = check_range("threshold", threshold, 0, float("inf"))

    def call(self, x: Array) -> Array:
        array_shape(x)
        x = to_floating(require_real(x), self.compute_dtype)
        if not self.threshold and not self.negative_slope:
            out = activations.relu(x)
        else:
            below = ops.multiply(ops.subtract(x, self.threshold), self.negative_slope)
            out = ops.where(x >= self.threshold, x, below)
        return out if self.max_value is None else ops.where(out >= self.max_value, self.max_value, out)


class LeakyReLU(Layer):
    """``x`` where positive, else ``negative_slope * x``.

    Args:
        negative_slope: The slope below 0, at least 0. Defaults to 0.3 as in Keras; PyTorch has 0.01.
        name: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(...) -> (...)``

    Raises:
        ArgumentError: the slope is below 0.

    Example:
        >>> import numpy as np
        >>> LeakyReLU(0.5)(np.float32([-1, 2])).tolist()
        [-0.5, 2.0]

    Source: Maas et al. 2013, Rectifier Nonlinearities Improve Neural Network Acoustic Models, ICML workshop.
    """

    supports_masking = True
    compiles_call = True

    def __init__(
        self, negative_slope: float = 0.3, name: str | None = None, dtype: str | DTypePolicy | None = None
    ) -> None:
        super().__init__(name, dtype=dtype)
        self.negative_slope = check_range("negative_slope", negative_slope, 0, float("inf"))

    def call(self, x: Array) -> Array:
        array_shape(x)
        return activations.leaky_relu(to_floating(x, self.compute_dtype), self.negative_slope)


class PReLU(Layer):
    """``x`` where positive, else ``alpha * x`` with learned slopes ``alpha``.

    Args:
        alpha_initializer: What ``alpha``, of the shape of an element of the batch, starts as. Defaults to zeros as in
            Keras; PyTorch has 0.25.
        alpha_regularizer: Penalty on ``alpha``. Defaults to None, none.
        alpha_constraint: Projection of ``alpha`` after each update. Defaults to None, none.
        shared_axes: The axes along which slopes are shared, ``(1, 2)`` for one slope a channel of images. Defaults to
            None: no axis.
        name: As for `Layer`.
        trainable: As for `Layer`.
        dtype: As for `Layer`.

    Shape:
        ``(batch, ...) -> (batch, ...)``

    Raises:
        ArgumentError: an axis is that of the batch, or given twice.
        ShapeError: a later input has other sizes than the first one.

    Example:
        >>> import numpy as np
        >>> layer = PReLU(alpha_initializer=0.25, shared_axes=(1, 2))
        >>> layer(-np.ones((1, 4, 4, 3), "float32"))[0, 0, 0].tolist(), layer.alpha.shape
        ([-0.25, -0.25, -0.25], (1, 1, 3))

    Source: He et al., arXiv 1502.01852.
    """

    _gx_of_weights = frozenset({"shared_axes"})

    supports_masking = True
    compiles_call = True

    def __init__(
        self,
        alpha_initializer: InitializerLike = "zeros",
        alpha_regularizer: RegularizerLike = None,
        alpha_constraint: ConstraintLike = None,
        shared_axes: int | Sequence[int] | None = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(name, trainable, dtype)
        self.alpha_initializer = initializers.get(alpha_initializer)
        self.alpha_regularizer = regularizers.get(alpha_regularizer)
        self.alpha_constraint = constraints.get(alpha_constraint)
        axes = () if shared_axes is None else axis_numbers("shared_axes", shared_axes)
        self.shared_axes = (axes,) if isinstance(axes, int) else axes
        if 0 in self.shared_axes:
            raise ArgumentError(
                f"shared_axes={shared_axes!r}", "axis 0 is the batch, whose elements share anyway", "shared_axes=(1, 2)"
            )

    def build(self, input_shape: Shape) -> None:
        self.alpha = self.add_weight(
            self._slopes_of(single_shape(input_shape, least=2)),
            self.alpha_initializer,
            name="alpha",
            regularizer=self.alpha_regularizer,
            constraint=self.alpha_constraint,
        )

    def call(self, x: Array) -> Array:
        sizes, shape = array_shape(x)[1:], self.alpha.shape
        if len(sizes) != len(shape) or self._slopes_of((1, *sizes)) != tuple(shape):
            raise ShapeError(
                f"an input of shape {tuple(x.shape)}",
                f"the slopes were made for {shape}, at the first call",
                "shared_axes= for the axes whose size changes, or a new layer",
            )
        x = to_floating(x, self.compute_dtype)
        return ops.where(x >= 0, x, x * self.alpha)

    def _slopes_of(self, shape: Shape) -> Shape:
        """Return the shape of the slopes for inputs of a shape."""
        shared = {axis_in_range("PReLU", axis, len(shape)) for axis in self.shared_axes}
        return tuple(1 if i in shared else n for i, n in enumerate(shape))[1:]
