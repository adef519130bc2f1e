"""Lion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import FRACTION, Kinds
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


class Lion(Optimizer):
    """The sign of an average in which the newest gradient counts more than it will in the next.

    ``w = w - rate * sign(beta_1 * m + (1 - beta_1) * g);  m = beta_2 * m + (1 - beta_2) * g``; no epsilon, no
    correction. All elements move equally far, so that the rate is 3 to 10 times smaller than Adam's, the decay as many
    times larger.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.001.
        beta_1: How much the average counts in the sign, in [0, 1). Defaults to 0.9.
        beta_2: How much of the average is kept, in [0, 1). Defaults to 0.99.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: a beta is outside [0, 1).

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, -2.0])
        >>> Lion(0.5).apply([[3.0, -0.1]], [w])
        >>> w.numpy().tolist()
        [0.5, -1.5]

    Source: Chen et al., arXiv:2302.06675.
    """

    elementwise = True

    arguments: ClassVar[Kinds] = {"beta_1": FRACTION, "beta_2": FRACTION}

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.99,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the average."""
        return {"momentum": Slot()}

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        direction = ops.sign(self.beta_1 * slots.momentum + (1 - self.beta_1) * gradient)
        momentum = self.beta_2 * slots.momentum + (1 - self.beta_2) * gradient
        return value - step.learning_rate * direction, {"momentum": momentum}
