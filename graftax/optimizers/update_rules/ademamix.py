"""AdEMAMix: Adam with a second, much slower average of gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import FRACTION, INSIDE, NOT_NEGATIVE, WHOLE, Kinds
from graftax.optimizers.engine.arithmetic import bias_correction, divisor, log, moving_average
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


class AdEMAMix(Optimizer):
    """Adam whose numerator is the mixture of a fast and a slow average of gradients.

    ``m = beta_1 * m + (1 - beta_1) * g;  s = b * s + (1 - b) * g;  v = beta_2 * v + (1 - beta_2) * g**2`` and, at the
    t-th update, ``w = w - rate * (m / (1 - beta_1**t) + a * s) / (sqrt(v / (1 - beta_2**t)) + epsilon)``: the slow
    average is not corrected. Over the first ``warmup_steps`` updates ``a`` grows in a straight line to ``alpha``, and
    ``b`` from ``beta_1`` to ``beta_3`` so that its half-life does: ``b = exp(log(beta_1) * log(beta_3) / ((1 - r) *
    log(beta_3) + r * log(beta_1)))``, ``r = t / warmup_steps``.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.001.
        beta_1: How much of the fast average is kept, in (0, 1). Defaults to 0.9.
        beta_2: How much of the average of squares is kept, in [0, 1). Defaults to 0.999.
        beta_3: How much of the slow average is kept, in (0, 1). Defaults to 0.9999.
        alpha: Weight of the slow average. Defaults to 5.0.
        warmup_steps: Updates until both are what they are to be; 0: from the start, as in optax. Defaults to 0.
        epsilon: Added to the corrected root. Defaults to 1e-8.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: a beta is outside its range.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, -2.0])
        >>> AdEMAMix(0.5).apply([[3.0, -0.1]], [w])
        >>> w.numpy().round(3).tolist()
        [0.5, -1.5]

    Source: Pagliardini et al., arXiv:2409.03137.
    """

    elementwise = True

    arguments: ClassVar[Kinds] = {
        "beta_1": INSIDE,
        "beta_3": INSIDE,
        "beta_2": FRACTION,
        "alpha": NOT_NEGATIVE,
        "epsilon": NOT_NEGATIVE,
        "warmup_steps": WHOLE,
    }

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        beta_3: float = 0.9999,
        alpha: float = 5.0,
        warmup_steps: int = 0,
        epsilon: float = 1e-8,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.beta_3 = beta_3
        self.alpha = alpha
        self.warmup_steps = warmup_steps
        self.epsilon = epsilon

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the three averages."""
        return {"momentum": Slot(), "slow": Slot(), "velocity": Slot()}

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        correction_1, correction_2, alpha, beta_3 = step.once(self._warm)
        momentum = moving_average(self.beta_1, slots.momentum, gradient)
        slow = moving_average(beta_3, slots.slow, gradient)
        velocity = moving_average(self.beta_2, slots.velocity, gradient * gradient)
        move = (momentum * correction_1 + alpha * slow) / (divisor(velocity * correction_2) + self.epsilon)
        return value - step.learning_rate * move, {"momentum": momentum, "slow": slow, "velocity": velocity}

    def _warm(self, step: Step) -> tuple[Array, Array, Array | float, Array | float]:
        corrections = 1 / bias_correction(self.beta_1, step.count), 1 / bias_correction(self.beta_2, step.count)
        if not self.warmup_steps:
            return *corrections, self.alpha, self.beta_3
        done = ops.minimum(step.count / self.warmup_steps, 1.0)
        fast, slow = log(self.beta_1), log(self.beta_3)
        return *corrections, self.alpha * done, ops.exp(fast * slow / ((1 - done) * slow + done * fast))
