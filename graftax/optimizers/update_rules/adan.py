"""Adan: Nesterov's momentum, written with differences of gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import FRACTION, NOT_NEGATIVE, Kinds
from graftax.optimizers.engine.arithmetic import bias_correction, divisor, moving_average
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


class Adan(Optimizer):
    """Averages of the gradient, of its change, and of the square of both together.

    With ``d = g - g_before`` (0 in the first update of a variable): ``m = beta_1 * m + (1 - beta_1) * g;  v = beta_2 *
    v + (1 - beta_2) * d; n = beta_3 * n + (1 - beta_3) * (g + beta_2 * d)**2``; all corrected by ``1 - beta**t``; ``w =
    w - rate * (m + beta_2 * v) / (sqrt(n) + epsilon)``. The betas are one minus those of the paper, as in the code of
    its authors; they, and optax with 1 - beta_2 in place of the two factors beta_2, differ in the weight of the change.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.001.
        beta_1: How much of the average of gradients is kept, in [0, 1). Defaults to 0.98.
        beta_2: How much of the average of changes is kept, in [0, 1). Defaults to 0.92.
        beta_3: How much of the average of squares is kept, in [0, 1). Defaults to 0.99.
        epsilon: Added to the corrected root. Defaults to 1e-8.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: a beta is outside [0, 1).

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, -2.0])
        >>> Adan(0.5).apply([[3.0, -0.1]], [w])
        >>> w.numpy().round(3).tolist()
        [0.5, -1.5]

    Source: Xie et al., arXiv:2208.06677.
    """

    elementwise = True

    arguments: ClassVar[Kinds] = {"beta_1": FRACTION, "beta_2": FRACTION, "beta_3": FRACTION, "epsilon": NOT_NEGATIVE}

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.98,
        beta_2: float = 0.92,
        beta_3: float = 0.99,
        epsilon: float = 1e-8,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.beta_3 = beta_3
        self.epsilon = epsilon

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the three averages, and the gradient before."""
        kept = {name: Slot() for name in ("momentum", "change", "square", "gradient")}
        return kept | {"square": Slot(initializer=-1.0)}  # below 0: there was no gradient before

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        correction_1, correction_2, correction_3 = step.once(self._corrections)
        has_one = ops.logical_and(step.count > 1, slots.square >= 0)
        difference = ops.where(has_one, gradient - slots.gradient, 0.0)
        ahead = gradient + self.beta_2 * difference
        momentum = moving_average(self.beta_1, slots.momentum, gradient)
        change = moving_average(self.beta_2, slots.change, difference)
        before = ops.maximum(slots.square, 0.0)
        square = moving_average(self.beta_3, before, ahead * ahead)
        move = momentum * correction_1 + self.beta_2 * change * correction_2
        new = value - step.learning_rate * move / (divisor(square * correction_3) + self.epsilon)
        return new, {"momentum": momentum, "change": change, "square": square, "gradient": gradient}

    def _corrections(self, step: Step) -> tuple[Array, Array, Array]:
        first, second, third = (bias_correction(beta, step.count) for beta in (self.beta_1, self.beta_2, self.beta_3))
        return 1 / first, 1 / second, 1 / third
