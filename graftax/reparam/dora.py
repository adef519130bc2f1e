"""DoRA: LoRA moves the directions of a frozen weight, and a trained magnitude says how long each column is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from graftax import ops
from graftax.core.typedefs import Array
from graftax.reparam.adapted import Adapter
from graftax.reparam.lora import LoRA, LoRAAdapter
from graftax.variables.initializers import Ones
from graftax.variables.spec import VariableSpec


class DoRA(LoRA):
    r"""A creator that freezes weights of two and more axes, and trains length and direction apart; other shapes pass.

    .. math:: w = g \, \lVert w_0 \rVert \, \frac{v}{\lVert v \rVert}, \quad V = W_0 + \frac{\alpha}{r} D U

    for each column, the index of the last axis. The paper trains the magnitude :math:`m = g \lVert w_0 \rVert`; here it
    is ``g``, which starts as ones, so that an adapter says how much longer each column becomes, whatever base it meets.

    Args:
        rank: ``r``; capped at ``min(m, n)``.
        alpha: How much the product counts. Defaults to None: the rank, so that its factor is 1.
        name: What the adapter is called. Defaults to ``"dora"``.
        stabilized: Divide by the root of the rank. Defaults to False.

    Raises:
        ArgumentError: the rank is not a positive integer, or ``alpha`` is not above 0.

    Example:
        >>> import numpy as np, graftax as gx
        >>> layer = gx.layers.Dense(8, use_bias=False)
        >>> y = layer(np.ones((1, 16), "float32"))
        >>> done = gx.graft(layer, DoRA(rank=2), where="kernel")
        >>> [v.path for v in layer.trainable_variables]
        ['kernel/adapters/dora/down', 'kernel/adapters/dora/up', 'kernel/adapters/dora/magnitude']

    Source: Liu et al., arXiv 2402.09353.
    """

    def __init__(self, rank: int, alpha: float | None = None, name: str = "dora", stabilized: bool = False) -> None:
        super().__init__(rank, alpha, name, stabilized)

    def adapter(self, part: Callable[..., Any], spec: VariableSpec) -> Adapter:
        """Make the product and the magnitude for a weight."""
        return DoRAAdapter(self.name, part, spec, self.rank, self.scale)


class DoRAAdapter(LoRAAdapter):
    """What `DoRA` makes of a weight; the arguments are those of `LoRAAdapter`."""

    additive: ClassVar[bool] = False

    def __init__(self, name: str, part: Callable[..., Any], spec: VariableSpec, rank: int, scale: float) -> None:
        super().__init__(name, part, spec, rank, scale)
        self.magnitude = part("magnitude", shape=spec.shape[-1:], initializer=Ones())

    def __call__(self, value: Array) -> Array:
        """Return the sum, each column as long as that of the weight times its magnitude."""
        moved = value + self.product(value)
        lengths = _lengths(moved)
        wanted = ops.multiply(self.magnitude, _lengths(value))
        return moved * ops.divide(wanted, ops.where(ops.equal(lengths, 0), 1, lengths))

    def inverse(self, value: Array) -> Array:
        """Return the column w0 with length r on the line through w, less the product: ``|t u - d| = r`` for ``t``."""
        product = self.product(value)
        axes = tuple(range(value.ndim - 1))
        lengths = _lengths(value)
        signed = ops.where(ops.less(self.magnitude, 0), -1.0, 1.0) * ops.where(ops.equal(lengths, 0), 1, lengths)
        unit = value / signed
        r = lengths / ops.where(ops.equal(self.magnitude, 0), 1, ops.abs(self.magnitude))
        along = ops.sum(unit * product, axis=axes)
        root = along**2 + r**2 - ops.sum(product**2, axis=axes)
        known = ops.greater(root, 0)  # the slope of the root at 0 is infinite: a column of zeros has none of it
        return unit * (along + ops.where(known, ops.sqrt(ops.where(known, root, 1)), 0)) - product


def _lengths(value: Array) -> Array:
    return ops.norm(value, axis=tuple(range(value.ndim - 1)))
