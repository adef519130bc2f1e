"""LARS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import FRACTION, NOT_NEGATIVE, POSITIVE, Kinds
from graftax.optimizers.engine.arithmetic import norm
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


class LARS(Optimizer):
    """Momentum, with the rate of each variable in proportion to its norm over that of its gradient.

    ``local = trust * |w| / (|g| + weight_decay * |w| + epsilon)``, 1 where a norm is zero;
    ``m = momentum * m + rate * local * (g + weight_decay * w);  w = w - m``. The rate is inside m, as in the paper
    and unlike torch's SGD. The paper leaves biases and scales of norms as they are in SGD: give these an optimizer of
    their own.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.1.
        momentum: How much of the last step is kept, in [0, 1). Defaults to 0.9.
        trust: How far a variable may move at a rate of 1, as a fraction of its norm. Defaults to 0.001.
        epsilon: Added to the denominator. Defaults to 0.0.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: the momentum is outside [0, 1), or trust is not positive.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([3.0, -4.0])
        >>> LARS(1.0, trust=0.25).apply([[6.0, -8.0]], [w])
        >>> w.numpy().round(3).tolist()
        [2.25, -3.0]

    Source: You, Gitman and Ginsburg, arXiv:1708.03888.
    """

    decays_inside = True

    arguments: ClassVar[Kinds] = {"momentum": FRACTION, "trust": POSITIVE, "epsilon": NOT_NEGATIVE}

    def __init__(
        self,
        learning_rate: LearningRate = 0.1,
        momentum: float = 0.9,
        trust: float = 0.001,
        epsilon: float = 0.0,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.momentum = momentum
        self.trust = trust
        self.epsilon = epsilon

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the last step."""
        return {"momentum": Slot()}

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        size, slope = norm(value), norm(gradient)
        usable = (size > 0) & (slope > 0)
        below = slope + step.weight_decay * size + self.epsilon
        ratio = self.trust * size / ops.where(usable, below, ops.ones_like(below))
        local = ops.where(usable, ratio, ops.ones_like(ratio))
        push = step.learning_rate * local * (gradient + step.weight_decay * value)
        momentum = self.momentum * slots.momentum + push
        return value - momentum, {"momentum": momentum}
