"""AdaBelief: Adam that trusts gradients which come as expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import FRACTION, NOT_NEGATIVE, Kinds
from graftax.optimizers.engine.arithmetic import bias_correction, divisor, moving_average
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


class AdaBelief(Optimizer):
    """Adam with the distance of the gradient from its average in place of the gradient's square.

    ``m = beta_1 * m + (1 - beta_1) * g;  s = beta_2 * s + (1 - beta_2) * (g - m)**2 + epsilon_root`` and, at the t-th
    update, ``w = w - rate * m / (1 - beta_1**t) / (sqrt(s / (1 - beta_2**t)) + epsilon)``.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.001.
        beta_1: How much of the average of gradients is kept, in [0, 1). Defaults to 0.9.
        beta_2: How much of the average of squared distances is kept, in [0, 1). Defaults to 0.999.
        epsilon: Added to the corrected root, as in the paper and in optax. Defaults to 1e-16.
        epsilon_root: Added to ``s`` in each update. Defaults to 1e-16.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: a beta is outside [0, 1).

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, -2.0])
        >>> AdaBelief(0.5).apply([[3.0, -0.1]], [w])
        >>> print(w.numpy().round(3))
        [ 0.444 -1.444]

    Source: Zhuang et al., arXiv:2010.07468.
    """

    elementwise = True

    arguments: ClassVar[Kinds] = {
        "beta_1": FRACTION,
        "beta_2": FRACTION,
        "epsilon": NOT_NEGATIVE,
        "epsilon_root": NOT_NEGATIVE,
    }

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-16,
        epsilon_root: float = 1e-16,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.epsilon_root = epsilon_root

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the two averages."""
        return {"momentum": Slot(), "surprise": Slot()}

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        correction_1, correction_2 = step.once(self._corrections)
        momentum = moving_average(self.beta_1, slots.momentum, gradient)
        distance = gradient - momentum
        surprise = moving_average(self.beta_2, slots.surprise, distance * distance) + self.epsilon_root
        move = momentum * correction_1 / (divisor(surprise * correction_2) + self.epsilon)
        return value - step.learning_rate * move, {"momentum": momentum, "surprise": surprise}

    def _corrections(self, step: Step) -> tuple[Array, Array]:
        return 1 / bias_correction(self.beta_1, step.count), 1 / bias_correction(self.beta_2, step.count)
