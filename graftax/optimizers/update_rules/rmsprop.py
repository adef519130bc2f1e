"""RMSprop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import FLAG, FRACTION, NOT_NEGATIVE, Kinds, choice_of
from graftax.optimizers.engine.arithmetic import divisor, moving_average
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.numbers import is_on
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.optimizers.update_rules.adam import EpsilonForm
from graftax.variables.variable import Variable


class RMSprop(Optimizer):
    """Divides the gradient by the root of the moving average of its square.

    ``v = rho * v + (1 - rho) * g**2;  w = w - rate * g / sqrt(v + epsilon)``. Centred: ``a = rho * a + (1 - rho) * g``
    and ``v - a**2`` under the root. With momentum: ``m = momentum * m + rate * g / sqrt(v + epsilon);  w = w - m``.
    Nothing is corrected.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.001.
        rho: How much of the averages is kept, in [0, 1); 0.99 in torch. Defaults to 0.9.
        momentum: How much of the last move is kept, in [0, 1). Defaults to 0.0.
        epsilon: Added below the root. Defaults to 1e-7.
        centered: Whether the square of the average is taken off. Defaults to False.
        initial_rms: What ``v`` starts at; 1 in TensorFlow 1. Defaults to 0.0.
        epsilon_form: ``"keras"`` (and optax): below the root. ``"torch"``: added to the root. Defaults to ``"keras"``.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: rho or momentum is outside [0, 1), the start is negative, or the form is unknown.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, -2.0])
        >>> RMSprop(0.5, rho=0.75).apply([[3.0, -1.0]], [w])
        >>> w.numpy().round(3).tolist()
        [0.0, -1.0]

    Source: Tieleman and Hinton, Neural Networks for Machine Learning, lecture 6.5, 2012; centred: Graves,
    arXiv:1308.0850.
    """

    elementwise = True

    _gx_settled: ClassVar[frozenset[str]] = frozenset({"initial_rms"})

    arguments: ClassVar[Kinds] = {
        "rho": FRACTION,
        "momentum": FRACTION,
        "epsilon": NOT_NEGATIVE,
        "initial_rms": NOT_NEGATIVE,
        "centered": FLAG,
        "epsilon_form": choice_of("keras", "torch"),
    }

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        initial_rms: float = 0.0,
        epsilon_form: EpsilonForm = "keras",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.rho = rho
        self.momentum = momentum
        self.epsilon = epsilon
        self.centered = centered
        self.initial_rms = initial_rms
        self.epsilon_form = epsilon_form

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the average of squares; that of gradients and the momentum where they are used."""
        slots = {"velocity": Slot(initializer=self.initial_rms)}
        if self.centered:
            slots["average"] = Slot()
        return slots | {"momentum": Slot()} if is_on(self.momentum) else slots

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        new = {"velocity": moving_average(self.rho, slots.velocity, gradient * gradient)}
        variance = new["velocity"]
        if self.centered:
            new["average"] = average = moving_average(self.rho, slots.average, gradient)
            variance = ops.maximum(variance - average * average, 0.0)  # rounding may go below
        inside = self.epsilon_form == "keras"
        root = ops.sqrt(variance + self.epsilon) if inside else divisor(variance) + self.epsilon
        move = step.learning_rate * gradient / root
        if is_on(self.momentum):
            new["momentum"] = move = self.momentum * slots.momentum + move
        return value - move, new
