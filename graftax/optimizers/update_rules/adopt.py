"""ADOPT: Adam that converges with any beta_2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import FLAG, FRACTION, NOT_NEGATIVE, Kinds
from graftax.optimizers.engine.arithmetic import divisor, moving_average
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


class ADOPT(Optimizer):
    """Divides each gradient by the average of the squares *before* it, then averages.

    In the first update of a variable only ``v = g**2``. Then ``m = beta_1 * m + (1 - beta_1) * clip(g / max(sqrt(v),
    epsilon), ±(t - 1)**0.25); w = w - rate * m;  v = beta_2 * v + (1 - beta_2) * g**2``. Nothing is corrected: neither
    average starts at zero.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.001.
        beta_1: How much of the average of steps is kept, in [0, 1). Defaults to 0.9.
        beta_2: How much of the average of squares is kept, in [0, 1). Defaults to 0.9999.
        epsilon: The least that the root may be. Defaults to 1e-6.
        clipping: Whether the normalised gradient is clipped as above; the first version of the paper does not. Defaults
            to True.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: a beta is outside [0, 1).

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, -2.0])
        >>> optimizer = ADOPT(0.5)
        >>> optimizer.apply([[3.0, -0.1]], [w])  # only looks
        >>> optimizer.apply([[3.0, -0.1]], [w])
        >>> print(w.numpy().round(3))
        [ 0.95 -1.95]

    Source: Taniguchi et al., arXiv:2411.02853.
    """

    elementwise = True

    arguments: ClassVar[Kinds] = {"beta_1": FRACTION, "beta_2": FRACTION, "epsilon": NOT_NEGATIVE, "clipping": FLAG}

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.9999,
        epsilon: float = 1e-6,
        clipping: bool = True,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.clipping = clipping

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the average of normalised gradients, and that of squares."""
        return {"momentum": Slot(), "velocity": Slot(initializer=-1.0)}  # below 0: it has seen no gradient

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        first, limit = step.once(self._first_and_limit)
        first = ops.logical_or(first, slots.velocity < 0)
        square = gradient * gradient
        normal = gradient / ops.maximum(divisor(slots.velocity), self.epsilon)
        if self.clipping:
            normal = ops.clip(normal, -limit, limit)
        momentum = ops.where(first, slots.momentum, moving_average(self.beta_1, slots.momentum, normal))
        velocity = ops.where(first, square, moving_average(self.beta_2, slots.velocity, square))
        new = ops.where(first, value, value - step.learning_rate * momentum)
        return new, {"momentum": momentum, "velocity": velocity}

    def _first_and_limit(self, step: Step) -> tuple[Array, Array]:
        return ops.equal(step.count, 1), (step.count - 1) ** 0.25
