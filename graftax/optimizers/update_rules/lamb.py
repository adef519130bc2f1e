"""LAMB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import FRACTION, NOT_NEGATIVE, Kinds
from graftax.optimizers.engine.arithmetic import bias_correction, divisor, moving_average, norm
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


class LAMB(Optimizer):
    """Adam, with the step of each variable scaled to the norm of the variable.

    With Adam's corrected averages m and v, ``u = m / (sqrt(v) + epsilon) + weight_decay * w`` and
    ``w = w - rate * |w| / |u| * u``; where one of both norms is zero, their ratio counts as 1. The decay is in u,
    hence in the ratio; Keras has it before, like any other decay. Epsilon is added to the corrected root.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.001.
        beta_1: How much of the average of gradients is kept, in [0, 1). Defaults to 0.9.
        beta_2: How much of the average of squares is kept, in [0, 1). Defaults to 0.999.
        epsilon: Added to the root. Keras's; 1e-6 in the paper and in optax. Defaults to 1e-7.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: a beta is outside [0, 1).

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([3.0, -3.0])
        >>> LAMB(0.5).apply([[3.0, -0.1]], [w])  # half its norm, by the sign
        >>> w.numpy().round(3).tolist()
        [1.5, -1.5]

    Source: You et al., arXiv:1904.00962.
    """

    decays_inside = True

    arguments: ClassVar[Kinds] = {"beta_1": FRACTION, "beta_2": FRACTION, "epsilon": NOT_NEGATIVE}

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the two averages."""
        return {"momentum": Slot(), "velocity": Slot()}

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        momentum = moving_average(self.beta_1, slots.momentum, gradient)
        velocity = moving_average(self.beta_2, slots.velocity, gradient * gradient)
        corrected = momentum / bias_correction(self.beta_1, step.count)
        root = divisor(velocity / bias_correction(self.beta_2, step.count))
        direction = corrected / (root + self.epsilon) + step.weight_decay * value
        moved = value - step.learning_rate * trust_ratio(value, direction) * direction
        return moved, {"momentum": momentum, "velocity": velocity}


def trust_ratio(value: Array, direction: Array) -> Array:
    """Compute ``|value| / |direction|``, and 1 where one of them is zero."""
    size, length = norm(value), norm(direction)
    usable = (size > 0) & (length > 0)
    return ops.where(usable, size / ops.where(usable, length, ops.ones_like(length)), ops.ones_like(size))
