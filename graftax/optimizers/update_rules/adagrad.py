"""Adagrad."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import NOT_NEGATIVE, Kinds, choice_of
from graftax.optimizers.engine.arithmetic import divisor
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.optimizers.update_rules.adam import EpsilonForm
from graftax.variables.variable import Variable


class Adagrad(Optimizer):
    """Divides the gradient by the root of the sum of all its squares.

    ``a = a + g**2;  w = w - rate * g / sqrt(a + epsilon)``.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.001.
        initial_accumulator: What ``a`` starts at; 0 in torch. Defaults to 0.1.
        epsilon: Added below the root. Defaults to 1e-7.
        epsilon_form: ``"keras"`` (and optax): below the root. ``"torch"``: added to the root. Defaults to ``"keras"``.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: the start is negative, or the form is unknown.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, -2.0])
        >>> Adagrad(0.5, initial_accumulator=0.0).apply([[3.0, -1.0]], [w])
        >>> w.numpy().round(3).tolist()
        [0.5, -1.5]

    Source: Duchi et al., Adaptive subgradient methods for online learning and stochastic optimization, JMLR 12, 2011.
    """

    elementwise = True

    _gx_settled: ClassVar[frozenset[str]] = frozenset({"initial_accumulator"})

    arguments: ClassVar[Kinds] = {
        "initial_accumulator": NOT_NEGATIVE,
        "epsilon": NOT_NEGATIVE,
        "epsilon_form": choice_of("keras", "torch"),
    }

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        initial_accumulator: float = 0.1,
        epsilon: float = 1e-7,
        epsilon_form: EpsilonForm = "keras",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.initial_accumulator = initial_accumulator
        self.epsilon = epsilon
        self.epsilon_form = epsilon_form

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the sum of squares."""
        return {"accumulator": Slot(initializer=self.initial_accumulator)}

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        accumulator = slots.accumulator + gradient * gradient
        inside = self.epsilon_form == "keras"
        root = ops.sqrt(accumulator + self.epsilon) if inside else divisor(accumulator) + self.epsilon
        return value - step.learning_rate * gradient / root, {"accumulator": accumulator}
