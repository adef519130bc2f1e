"""Learning rates that fall: exponentially, with time, along a polynomial, in steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import FLAG, NOT_NEGATIVE, POSITIVE, STEPS, Kinds
from graftax.optimizers.schedules.schedule import BOUNDARIES, RATES, Schedule, check_boundaries


class ExponentialDecay(Schedule):
    """``initial * decay_rate ** (step / decay_steps)``.

    Args:
        initial_learning_rate: Rate at step 0.
        decay_steps: Steps in which it falls by one factor.
        decay_rate: That factor.
        staircase: Whether it falls only at every full ``decay_steps``. Defaults to False.

    Example:
        >>> ExponentialDecay(1.0, 10, 0.5)(20).tolist()
        0.25
    """

    arguments: ClassVar[Kinds] = {
        "initial_learning_rate": NOT_NEGATIVE,
        "decay_steps": STEPS,
        "decay_rate": POSITIVE,
        "staircase": FLAG,
    }

    def __init__(
        self, initial_learning_rate: float, decay_steps: float, decay_rate: float, staircase: bool = False
    ) -> None:
        super().__init__()
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.decay_rate = decay_rate
        self.staircase = staircase

    def rate(self, step: Array) -> Array:
        """See the class."""
        return self.initial_learning_rate * self.decay_rate ** _periods(step, self.decay_steps, self.staircase)


class InverseTimeDecay(Schedule):
    """``initial / (1 + decay_rate * step / decay_steps)``.

    Args:
        initial_learning_rate: Rate at step 0.
        decay_steps: Steps that count as one unit of time.
        decay_rate: How fast it falls.
        staircase: Whether it falls only at every full ``decay_steps``. Defaults to False.

    Example:
        >>> InverseTimeDecay(1.0, 10, 0.5)(20).tolist()
        0.5
    """

    arguments: ClassVar[Kinds] = {
        "initial_learning_rate": NOT_NEGATIVE,
        "decay_rate": NOT_NEGATIVE,
        "decay_steps": STEPS,
        "staircase": FLAG,
    }

    def __init__(
        self, initial_learning_rate: float, decay_steps: float, decay_rate: float, staircase: bool = False
    ) -> None:
        super().__init__()
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.decay_rate = decay_rate
        self.staircase = staircase

    def rate(self, step: Array) -> Array:
        """See the class."""
        return self.initial_learning_rate / (1 + self.decay_rate * _periods(step, self.decay_steps, self.staircase))


class PolynomialDecay(Schedule):
    """``(initial - end) * (1 - step / decay_steps) ** power + end``, and ``end`` from ``decay_steps`` on.

    Args:
        initial_learning_rate: Rate at step 0.
        decay_steps: Steps until the end.
        end_learning_rate: Rate at the end. Defaults to 0.0001.
        power: 1 for a straight line. Defaults to 1.0.
        cycle: Whether ``decay_steps`` grows to its next multiple at the end: the rate jumps up and falls again.
            Defaults to False.

    Example:
        >>> PolynomialDecay(1.0, 10, 0.0)(5).tolist()
        0.5
    """

    arguments: ClassVar[Kinds] = {
        "initial_learning_rate": NOT_NEGATIVE,
        "end_learning_rate": NOT_NEGATIVE,
        "decay_steps": STEPS,
        "power": POSITIVE,
        "cycle": FLAG,
    }

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        end_learning_rate: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
    ) -> None:
        super().__init__()
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.end_learning_rate = end_learning_rate
        self.power = power
        self.cycle = cycle

    def rate(self, step: Array) -> Array:
        """See the class."""
        if self.cycle:
            left = 1 - step / (self.decay_steps * ops.maximum(ops.ceil(step / self.decay_steps), 1.0))
        else:
            left = 1 - ops.minimum(step, self.decay_steps) / self.decay_steps
        return (self.initial_learning_rate - self.end_learning_rate) * left**self.power + self.end_learning_rate


class PiecewiseConstant(Schedule):
    """Constant between boundaries; a boundary belongs to the piece on its left.

    Args:
        boundaries: Steps in ascending order.
        values: Rates, one more than boundaries.

    Raises:
        ArgumentError: the boundaries do not ascend, or the numbers of both do not fit.

    Example:
        >>> schedule = PiecewiseConstant([5, 10], [1.0, 0.5, 0.25])
        >>> [schedule(step).tolist() for step in (5, 6, 11)]
        [1.0, 0.5, 0.25]
    """

    arguments: ClassVar[Kinds] = {"boundaries": BOUNDARIES, "values": RATES}
    boundaries: tuple[float, ...]
    values: tuple[float, ...]

    def __init__(self, boundaries: Sequence[float], values: Sequence[float]) -> None:
        super().__init__()
        self.boundaries = cast(Any, boundaries)
        self.values = cast(Any, values)
        self._gx_check_together()

    def _gx_check_together(self) -> None:
        """Raise unless the boundaries ascend, and are as many as it takes."""
        check_boundaries(self.boundaries, len(self.values), "values", first=0)

    def rate(self, step: Array) -> Array:
        """See the class."""
        found = ops.full_like(step, self.values[0])
        for boundary, value in zip(self.boundaries, self.values[1:], strict=True):
            found = ops.where(step > boundary, value, found)
        return found


def _periods(step: Array, length: float, whole: bool) -> Array:
    return ops.floor(step / length) if whole else step / length
