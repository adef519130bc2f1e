"""Mask: weights of which some are pruned."""

from __future__ import annotations

from collections.abc import Callable

from graftax import ops
from graftax.core.typedefs import Array, VariableLike
from graftax.reparam.base import Reparam
from graftax.variables.graph.structure import Adjustable
from graftax.variables.initializers import Ones
from graftax.variables.spec import VariableSpec


class Mask(Adjustable):
    """A creator that gives weights of two and more axes a mask, which `graftax.reparam.prune` moves; other shapes pass.

    What is masked is 0 and has no gradient. The mask starts as ones. `graftax.ungraft` folds the zeros in.

    Example:
        >>> import numpy as np, graftax as gx
        >>> layer = gx.layers.Dense(8)
        >>> y = layer(np.ones((1, 16), "float32"))
        >>> done = gx.graft(layer, Mask(), where="kernel")
        >>> float(gx.reparam.prune(layer, 0.75)), float((layer.kernel.value == 0).mean())
        (0.75, 0.75)

    Source: Han et al., arXiv 1506.02626.
    """

    def __call__(self, next_creator: Callable[[VariableSpec], VariableLike], spec: VariableSpec) -> VariableLike:
        """Make the masked weight for a matrix or kernel, anything else as it would have been."""
        return next_creator(spec) if len(spec.shape) < 2 else MaskedWeight(next_creator, spec)

    def __repr__(self) -> str:
        return "Mask()"


class MaskedWeight(Reparam):
    """The weight that `Mask` makes.

    Args:
        next_creator: Makes the parts.
        spec: The spec of the weight.
    """

    def __init__(self, next_creator: Callable[[VariableSpec], VariableLike], spec: VariableSpec) -> None:
        super().__init__(spec)
        self.base = next_creator(spec.replace(name="base"))
        mask = spec.replace(name="mask", dtype="bool", role="state", trainable=False, initializer=Ones())
        self.mask = next_creator(mask)

    def forward(self) -> Array:
        """Compute ``base`` where the mask is true, else 0."""
        return ops.where(self.mask, self.base, 0)

    def inverse(self, value: Array) -> None:
        """Assign the value to the base; what is pruned stays 0."""
        self.base.assign(value)  # type: ignore[attr-defined]
