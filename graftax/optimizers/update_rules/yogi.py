"""Yogi: Adam whose average of squares moves by additive steps."""

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


class Yogi(Optimizer):
    """Adam with ``v = v - (1 - beta_2) * sign(v - g**2) * g**2``: small gradients forget no large ones.

    ``w = w - rate * m / (1 - beta_1**t) / (sqrt(v / (1 - beta_2**t)) + epsilon)`` at the t-th update.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.01.
        beta_1: How much of the average of gradients is kept, in [0, 1). Defaults to 0.9.
        beta_2: One minus the step of ``v``, in [0, 1). Defaults to 0.999.
        epsilon: Added to the corrected root, as in optax. Defaults to 1e-3.
        initial_accumulator: What ``m`` and ``v`` start at, as in optax. Defaults to 1e-6.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: a beta is outside [0, 1), or the start is negative.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, -2.0])
        >>> Yogi(0.5).apply([[3.0, -1.0]], [w])
        >>> w.numpy().round(2).tolist()
        [0.5, -1.5]

    Source: Zaheer et al., Adaptive methods for nonconvex optimization, NeurIPS 2018.
    """

    elementwise = True

    _gx_settled: ClassVar[frozenset[str]] = frozenset({"initial_accumulator"})

    arguments: ClassVar[Kinds] = {
        "beta_1": FRACTION,
        "beta_2": FRACTION,
        "epsilon": NOT_NEGATIVE,
        "initial_accumulator": NOT_NEGATIVE,
    }

    def __init__(
        self,
        learning_rate: LearningRate = 0.01,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-3,
        initial_accumulator: float = 1e-6,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.initial_accumulator = initial_accumulator

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the average of gradients, and what stands for that of squares."""
        return {name: Slot(initializer=self.initial_accumulator) for name in ("momentum", "velocity")}

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        correction_1, correction_2 = step.once(self._corrections)
        square = gradient * gradient
        momentum = moving_average(self.beta_1, slots.momentum, gradient)
        velocity = slots.velocity - (1 - self.beta_2) * ops.sign(slots.velocity - square) * square
        move = momentum * correction_1 / (divisor(velocity * correction_2) + self.epsilon)
        return value - step.learning_rate * move, {"momentum": momentum, "velocity": velocity}

    def _corrections(self, step: Step) -> tuple[Array, Array]:
        return 1 / bias_correction(self.beta_1, step.count), 1 / bias_correction(self.beta_2, step.count)
