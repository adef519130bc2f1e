"""Adadelta."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import FRACTION, POSITIVE, Kinds
from graftax.optimizers.engine.arithmetic import moving_average
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


class Adadelta(Optimizer):
    """Steps in the units of the weights: the root of the average of squared steps over that of squared gradients.

    ``a = rho * a + (1 - rho) * g**2;  d = sqrt(s + epsilon) / sqrt(a + epsilon) * g;  s = rho * s + (1 - rho) * d**2;
    w = w - rate * d``; epsilon is below both roots, in every library, and nothing is corrected.

    Args:
        learning_rate: See `Optimizer`; 1 in the paper and in torch. Keras has 0.001, with which almost nothing moves.
            Defaults to 1.0.
        rho: How much of the averages is kept, in [0, 1); 0.9 in torch. Defaults to 0.95.
        epsilon: Added below the roots; it sets the size of the first steps. Keras's; 1e-6 in torch and optax. Defaults
            to 1e-7.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: rho is outside [0, 1).

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, -2.0])
        >>> Adadelta(rho=0.75, epsilon=0.01).apply([[3.0, -1.0]], [w])
        >>> print(w.numpy().round(3))
        [ 0.8   -1.804]

    Source: Zeiler, arXiv:1212.5701.
    """

    elementwise = True

    arguments: ClassVar[Kinds] = {"rho": FRACTION, "epsilon": POSITIVE}

    def __init__(
        self,
        learning_rate: LearningRate = 1.0,
        rho: float = 0.95,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.rho = rho
        self.epsilon = epsilon

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the two averages."""
        return {"squares": Slot(), "steps": Slot()}

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        squares = moving_average(self.rho, slots.squares, gradient * gradient)
        move = ops.sqrt(slots.steps + self.epsilon) / ops.sqrt(squares + self.epsilon) * gradient
        steps = moving_average(self.rho, slots.steps, move * move)
        return value - step.learning_rate * move, {"squares": squares, "steps": steps}
