"""SignSGD, and with momentum Signum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import FRACTION, Kinds
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.numbers import is_on
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


class SignSGD(Optimizer):
    """All elements move equally far, against the sign of the gradient or of its average.

    ``m = momentum * m + (1 - momentum) * g;  w = w - rate * sign(m)``.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.001.
        momentum: How much of the average is kept, in [0, 1); 0 keeps none, and no slot. Signum in the paper: 0.9.
            Defaults to 0.0.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: momentum is outside [0, 1).

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, -2.0])
        >>> SignSGD(0.5).apply([[3.0, -0.1]], [w])
        >>> w.numpy().tolist()
        [0.5, -1.5]

    Source: Bernstein et al., arXiv:1802.04434.
    """

    elementwise = True

    arguments: ClassVar[Kinds] = {"momentum": FRACTION}

    def __init__(self, learning_rate: LearningRate = 0.001, momentum: float = 0.0, **options: Unpack[Options]) -> None:
        super().__init__(learning_rate, **options)
        self.momentum = momentum

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the average, if there is one."""
        return {"momentum": Slot()} if is_on(self.momentum) else {}

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        if not is_on(self.momentum):
            return value - step.learning_rate * ops.sign(gradient), {}
        momentum = self.momentum * slots.momentum + (1 - self.momentum) * gradient
        return value - step.learning_rate * ops.sign(momentum), {"momentum": momentum}
