"""Nadam: Adam with Nesterov's momentum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import FRACTION, NOT_NEGATIVE, POSITIVE, Kinds
from graftax.optimizers.engine.arithmetic import bias_correction, divisor, moving_average
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.numbers import is_plain
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


class Nadam(Optimizer):
    """Adam that looks one step ahead along the average of gradients.

    ``m`` and ``v`` as in Adam. With ``u(t) = beta_1 * (1 - 0.96**(momentum_decay * t) / 2)`` and ``U(t) = u(1) * ... *
    u(t)``, the t-th update is ``w = w - rate * (u(t+1) * m / (1 - U(t+1)) + (1 - u(t)) * g / (1 - U(t))) / (sqrt(v / (1
    - beta_2**t)) + epsilon)``.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.001.
        beta_1: How much of the average of gradients is kept, in [0, 1). Defaults to 0.9.
        beta_2: How much of the average of squares is kept, in [0, 1). Defaults to 0.999.
        epsilon: Added to the corrected root, as in Keras, torch and optax. Defaults to 1e-7.
        momentum_decay: How fast ``u`` grows from half of beta_1 to all of it: 0.004 in the paper and torch, 1 in Keras
            3. None, as in optax: it is beta_1 from the start. Defaults to 0.004.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: a beta is outside [0, 1), or the decay is not positive.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, -2.0])
        >>> Nadam(0.5, momentum_decay=None).apply([[3.0, -0.1]], [w])
        >>> print(w.numpy().round(3))
        [ 0.263 -1.263]

    Source: Dozat, Incorporating Nesterov momentum into Adam, ICLR workshop 2016.
    """

    elementwise = True

    arguments: ClassVar[Kinds] = {
        "beta_1": FRACTION,
        "beta_2": FRACTION,
        "epsilon": NOT_NEGATIVE,
        "momentum_decay": POSITIVE.or_none(),
    }

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        momentum_decay: float | None = 0.004,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.momentum_decay = momentum_decay

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the two averages."""
        return {"momentum": Slot(), "velocity": Slot()}

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        ahead, now, correction = step.once(self._factors)
        momentum = moving_average(self.beta_1, slots.momentum, gradient)
        velocity = moving_average(self.beta_2, slots.velocity, gradient * gradient)
        move = (ahead * momentum + now * gradient) / (divisor(velocity * correction) + self.epsilon)
        return value - step.learning_rate * move, {"momentum": momentum, "velocity": velocity}

    def _factors(self, step: Step) -> tuple[Array, Array, Array]:
        t = step.count
        ahead = self._momentum(t + 1) / self._correction(t + 1)
        return ahead, (1 - self._momentum(t)) / self._correction(t), 1 / bias_correction(self.beta_2, t)

    def _momentum(self, t: Array) -> Array | float:
        """Compute ``u(t)``."""
        return (
            self.beta_1 if self.momentum_decay is None else self.beta_1 * (1 - 0.5 * 0.96 ** (self.momentum_decay * t))
        )

    def _correction(self, t: Array) -> Array:
        """Compute ``1 - U(t)`` from t: the log of a factor is a power series; its terms sum to geometric series."""
        if self.momentum_decay is None:
            return bias_correction(self.beta_1, t)
        rate = self.momentum_decay * math.log(0.96)
        expm1 = math.expm1 if is_plain(rate) else ops.expm1
        series = [0.5**k / (k * -expm1(-k * rate)) * ops.expm1(k * rate * t) for k in range(1, 33)]
        return bias_correction(self.beta_1, t, ops.sum(ops.stack(series)))
