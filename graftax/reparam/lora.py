"""LoRA: a frozen weight plus a product of two thin matrices that are trained."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from graftax import ops
from graftax.core.typedefs import Array
from graftax.reparam.adapted import Adapter, AdapterCreator
from graftax.reparam.creator import Check, check_positive, count, flag
from graftax.variables.initializers import Zeros
from graftax.variables.spec import VariableSpec
from graftax.variables.variance_scaling import VarianceScaling

_ALPHA = check_positive("it scales the product", 16)


class LoRA(AdapterCreator):
    r"""A creator that freezes weights of two and more axes and adds a trained product of low rank; other shapes pass.

    .. math:: W = W_0 + \frac{\alpha}{r} D U, \quad D \in \mathbb{R}^{m \times r}, \; U \in \mathbb{R}^{r \times n}

    Of a kernel with more axes, the last one is ``n`` and all others together are ``m``. ``U`` starts as zeros, so that
    the model computes at first what it did before. Adapters of other names can be added and switched, see
    `graftax.adapters`.

    Args:
        rank: ``r``; capped at ``min(m, n)``.
        alpha: How much the product counts. Defaults to None: the rank, so that its factor is 1.
        name: What the adapter is called. Defaults to ``"lora"``.
        stabilized: Divide by the root of the rank, which keeps the size of updates at high ranks: rsLoRA. Defaults to
            False.

    Raises:
        ArgumentError: the rank is not a positive integer, or ``alpha`` is not above 0.

    Example:
        >>> import numpy as np, graftax as gx
        >>> layer = gx.layers.Dense(8)
        >>> y = layer(np.ones((1, 16), "float32"))
        >>> done = gx.graft(layer, LoRA(rank=2, name="poet"), where="kernel")
        >>> [(v.path, v.shape) for v in layer.trainable_variables]
        [('kernel/adapters/poet/down', (16, 2)), ('kernel/adapters/poet/up', (2, 8)), ('bias', (8,))]

    Source: Hu et al., arXiv 2106.09685; rsLoRA: Kalajdzievski, arXiv 2312.03732.
    """

    checks: ClassVar[Mapping[str, Check]] = {
        **AdapterCreator.checks,
        "rank": count("a rank is a positive integer", 8),
        "alpha": lambda name, value: None if value is None else _ALPHA(name, value),
        "stabilized": flag,
    }

    def __init__(self, rank: int, alpha: float | None = None, name: str = "lora", stabilized: bool = False) -> None:
        super().__init__(name)
        self.rank = rank
        self.alpha = alpha
        self.stabilized = stabilized

    @property
    def scale(self) -> float:
        """Return the factor of the product."""
        alpha = self.rank if self.alpha is None else self.alpha
        return alpha / (math.sqrt(self.rank) if self.stabilized else self.rank)

    def adapter(self, part: Callable[..., Any], spec: VariableSpec) -> Adapter:
        """Make the product for a weight."""
        return LoRAAdapter(self.name, part, spec, self.rank, self.scale)

    def __repr__(self) -> str:
        more = ", stabilized=True" if self.stabilized else ""
        alpha = self.rank if self.alpha is None else self.alpha
        return f"{type(self).__name__}(rank={self.rank}, alpha={alpha:g}, name={self.name!r}{more})"


class LoRAAdapter(Adapter):
    """The product that `LoRA` adds.

    Args:
        name: What it is called.
        part: Makes a part.
        spec: The spec of the weight.
        rank: The inner size of the product, capped at what the weight has.
        scale: The factor of the product.
    """

    additive: ClassVar[bool] = True

    def __init__(self, name: str, part: Callable[..., Any], spec: VariableSpec, rank: int, scale: float) -> None:
        super().__init__(name)
        rows, columns = math.prod(spec.shape[:-1]), spec.shape[-1]
        rank = min(rank, rows, columns)
        self.scale = scale
        start = VarianceScaling(1 / 3, "fan_in", "uniform")  # as in the paper's code
        self.down = part("down", shape=(rows, rank), initializer=start)
        self.up = part("up", shape=(rank, columns), initializer=Zeros())

    def __call__(self, value: Array) -> Array:
        """Return the weight plus ``scale * down @ up``."""
        return value + self.product(value)

    def inverse(self, value: Array) -> Array:
        """Return the weight without the product."""
        return value - self.product(value)

    def product(self, value: Array) -> Array:
        """Compute ``scale * down @ up`` in the shape of the weight."""
        return ops.reshape(self.scale * ops.matmul(self.down, self.up), value.shape)
