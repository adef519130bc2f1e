"""Novograd."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import FRACTION, NOT_NEGATIVE, Kinds
from graftax.optimizers.engine.arithmetic import divisor, moving_average
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


class Novograd(Optimizer):
    """Gradients divided by an average of their norm, one number for each variable, then momentum.

    ``v = beta_2 * v + (1 - beta_2) * |g|**2``, which starts as the first ``|g|**2`` of the variable;
    ``m = beta_1 * m + g / (sqrt(v) + epsilon) + weight_decay * w;  w = w - rate * m``. Nothing is corrected, and m is
    a sum, ``1 / (1 - beta_1)`` times as long as an average.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.001.
        beta_1: How much of the sum of steps is kept, in [0, 1). Defaults to 0.95.
        beta_2: How much of the average of squared norms is kept, in [0, 1). Defaults to 0.98.
        epsilon: Added to the root. Defaults to 1e-8.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: a beta is outside [0, 1).

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, -2.0])
        >>> Novograd(0.5).apply([[4.0, 0.0]], [w])
        >>> w.numpy().round(3).tolist()
        [0.5, -2.0]

    Source: Ginsburg et al., arXiv:1905.11286.
    """

    decays_inside = True

    arguments: ClassVar[Kinds] = {"beta_1": FRACTION, "beta_2": FRACTION, "epsilon": NOT_NEGATIVE}

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.95,
        beta_2: float = 0.98,
        epsilon: float = 1e-8,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the sum of steps, and the average of the squared norm."""
        return {"momentum": Slot(), "velocity": Slot(shape=(), initializer=-1.0)}  # below 0: it has seen no gradient

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        square = ops.sum(gradient * gradient)
        average = moving_average(self.beta_2, slots.velocity, square)
        first = ops.logical_or(step.iterations < 1, slots.velocity < 0)
        velocity = ops.where(first, square, average)
        direction = gradient / (divisor(velocity) + self.epsilon) + step.weight_decay * value
        momentum = self.beta_1 * slots.momentum + direction
        return value - step.learning_rate * momentum, {"momentum": momentum, "velocity": velocity}
