"""Ftrl: follow the regularised leader, which makes weights exactly zero."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import NOT_NEGATIVE, NOT_POSITIVE, Kinds
from graftax.optimizers.engine.learning_rate import LearningRate
from graftax.optimizers.engine.options import Options
from graftax.optimizers.engine.slot import Slot, SlotValues
from graftax.optimizers.engine.step import Step
from graftax.optimizers.optimizer import Optimizer
from graftax.variables.variable import Variable


class Ftrl(Optimizer):
    """FTRL-proximal: the weights that would have been best so far, with penalties on them.

    With ``p = -learning_rate_power`` and ``b = a + g**2``: ``z = z + g + 2 * shrinkage * w - (b**p - a**p) / rate * w;
    a = b; w = (clip(z, -l1, l1) - z) / ((b**p + beta) / rate + 2 * l2)``, where l1, l2 and shrinkage are the three
    strengths. As the weights follow from ``z`` alone, the value at the start counts for little. At a rate of 0, as
    at the start of a warm-up, nothing changes.

    Args:
        learning_rate: See `Optimizer`. Defaults to 0.001.
        learning_rate_power: How fast the rates of the elements fall, at most 0. Defaults to -0.5.
        initial_accumulator: What ``a`` starts at. Defaults to 0.1.
        l1_strength: Penalty on magnitudes: where ``|z|`` is below it, the weight is zero. Defaults to 0.0.
        l2_strength: Penalty on squares, in the choice of the weights. Defaults to 0.0.
        l2_shrinkage: Penalty on squares, in the gradient; unlike the option ``l2``, it is not in the accumulator.
            Defaults to 0.0.
        beta: Added to the root of the sum of squares. Defaults to 0.0.
        **options: See `Optimizer`.

    Raises:
        ArgumentError: the power is positive, or one of the others is negative.

    Example:
        >>> import graftax as gx
        >>> w = gx.Variable([1.0, -2.0])
        >>> Ftrl(0.5, l1_strength=2.0).apply([[3.0, -0.1]], [w])
        >>> print(w.numpy().round(3))
        [0.066 0.   ]

    Source: McMahan et al., Ad click prediction: a view from the trenches, KDD 2013.
    """

    elementwise = True

    _gx_settled: ClassVar[frozenset[str]] = frozenset({"initial_accumulator"})

    arguments: ClassVar[Kinds] = {
        "learning_rate_power": NOT_POSITIVE,
        "initial_accumulator": NOT_NEGATIVE,
        "l1_strength": NOT_NEGATIVE,
        "l2_strength": NOT_NEGATIVE,
        "l2_shrinkage": NOT_NEGATIVE,
        "beta": NOT_NEGATIVE,
    }

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator: float = 0.1,
        l1_strength: float = 0.0,
        l2_strength: float = 0.0,
        l2_shrinkage: float = 0.0,
        beta: float = 0.0,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.learning_rate_power = learning_rate_power
        self.initial_accumulator = initial_accumulator
        self.l1_strength = l1_strength
        self.l2_strength = l2_strength
        self.l2_shrinkage = l2_shrinkage
        self.beta = beta

    def create_slots(self, variable: Variable) -> Mapping[str, Slot]:
        """Declare the sum of squares, and what the penalties work on."""
        return {"accumulator": Slot(initializer=self.initial_accumulator), "linear": Slot()}

    def update(self, gradient: Array, value: Array, slots: SlotValues, step: Step) -> tuple[Array, Mapping[str, Array]]:
        """Compute the new value of a variable, and of its slots."""
        moves, per_rate = step.once(self._per_rate)
        accumulator = slots.accumulator + gradient * gradient
        power = -self.learning_rate_power
        before, after = slots.accumulator**power, accumulator**power
        linear = slots.linear + gradient + 2 * self.l2_shrinkage * value - (after - before) * per_rate * value
        curvature = (after + self.beta) * per_rate + 2 * self.l2_strength
        new = (ops.clip(linear, -self.l1_strength, self.l1_strength) - linear) / curvature
        return ops.where(moves, new, value), {
            "accumulator": ops.where(moves, accumulator, slots.accumulator),
            "linear": ops.where(moves, linear, slots.linear),
        }

    def _per_rate(self, step: Step) -> tuple[Array, Array]:
        moves = step.learning_rate > 0
        return moves, 1 / ops.where(moves, step.learning_rate, 1.0)
