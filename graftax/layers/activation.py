"""Activation: a function of the values as a layer."""

from __future__ import annotations

from graftax.core.typedefs import Array
from graftax.layers import activations
from graftax.layers.arguments import to_floating
from graftax.layers.layer import Layer
from graftax.layers.named_activation import NamedActivation
from graftax.layers.policy import DTypePolicy
from graftax.variables.given_back import apply_activation


class Activation(Layer):
    """An activation as a layer.

    Args:
        activation: A name or function of `graftax.activations`.
        name: As for `Layer`. Defaults to None.
        dtype: As for `Layer`. Defaults to None.

    Shape:
        ``(...) -> (...)``

    Raises:
        ArgumentError: there is no activation of that name.

    Example:
        >>> import numpy as np
        >>> Activation("relu")(np.float32([-1, 2])).tolist()
        [0.0, 2.0]
    """

    supports_masking = True
    compiles_call = True
    activation: activations.Activation = NamedActivation()  # type: ignore[assignment]  # takes names, too

    def __init__(
        self, activation: activations.ActivationLike, name: str | None = None, dtype: str | DTypePolicy | None = None
    ) -> None:
        super().__init__(name, dtype=dtype)
        self.activation = activations.get(activation)

    def call(self, x: Array) -> Array:
        return apply_activation(self.activation, to_floating(x, self.compute_dtype))
