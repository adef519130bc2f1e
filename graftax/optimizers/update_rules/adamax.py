"""Adamax: Adam with the largest gradient in place of the average of squares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import FRACTION, NOT_NEGATIVE, Kinds, choice_of
from graftax.optimizers.engine.arithmetic import bias_correction, moving_average
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.optimizers.update_rules.adam import EpsilonForm
from graftax.variables.variable import Variable


class Adamax(Optimizer):
    """Moves by the average of gradients over the largest that there was, which is slowly forgotten.

    ``m = beta_1 * m + (1 - beta_1) * g;  u = max(beta_2 * u, |g|)`` and, at the t-th update, ``w = w - rate / (1 -
    beta_1**t) * m / (u + epsilon)``; ``u`` needs no correction.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.001.
        beta_1: How much of the average is kept, in [0, 1). Defaults to 0.9.
        beta_2: How much of the largest is kept, in [0, 1). Defaults to 0.999.
        epsilon: Added to ``u``. Defaults to 1e-7.
        epsilon_form: ``"keras"``: as above. ``"torch"``: ``u = max(beta_2 * u, |g| + epsilon)``, without it elsewhere.
            Defaults to ``"keras"``.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: a beta is outside [0, 1), or the form is unknown.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, -2.0])
        >>> Adamax(0.5).apply([[3.0, -0.1]], [w])
        >>> w.numpy().round(3).tolist()
        [0.5, -1.5]

    Source: Kingma and Ba, arXiv:1412.6980, section 7.1.
    """

    elementwise = True

    arguments: ClassVar[Kinds] = {
        "beta_1": FRACTION,
        "beta_2": FRACTION,
        "epsilon": NOT_NEGATIVE,
        "epsilon_form": choice_of("keras", "torch"),
    }

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        epsilon_form: EpsilonForm = "keras",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.epsilon_form = epsilon_form

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the average and the largest."""
        return {"momentum": Slot(), "largest": Slot()}

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        rate = step.once(self._corrected_rate)
        added, inside = (self.epsilon, 0.0) if self.epsilon_form == "keras" else (0.0, self.epsilon)
        momentum = moving_average(self.beta_1, slots.momentum, gradient)
        largest = ops.maximum(self.beta_2 * slots.largest, ops.abs(gradient) + inside)
        return value - rate * momentum / (largest + added), {"momentum": momentum, "largest": largest}

    def _corrected_rate(self, step: Step) -> Array:
        return step.learning_rate / bias_correction(self.beta_1, step.count)
