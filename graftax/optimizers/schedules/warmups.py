"""Other ways than a straight line up to where another schedule starts."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from graftax import ops
from graftax.backend import registry
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import NOT_NEGATIVE, POSITIVE, STEPS, Kinds
from graftax.optimizers.schedules.schedule import SCHEDULE, Schedule, ScheduleLike


class ConstantWarmup(Schedule):
    """One rate for some steps, then another schedule, which sees steps counted from there.

    Args:
        warmup_steps: Steps of the constant.
        then: The schedule after it, or a number.
        value: The rate before.

    Example:
        >>> schedule = ConstantWarmup(4, 1.0, 0.125)
        >>> [schedule(step).tolist() for step in (0, 3, 4)]
        [0.125, 0.125, 1.0]
    """

    arguments: ClassVar[Kinds] = {"warmup_steps": STEPS, "value": NOT_NEGATIVE, "then": SCHEDULE}
    then: Schedule

    def __init__(self, warmup_steps: float, then: ScheduleLike, value: float) -> None:
        super().__init__()
        self.warmup_steps = warmup_steps
        self.then = cast(Any, then)
        self.value = value

    def rate(self, step: Array) -> Array:
        """See the class."""
        return ops.where(step < self.warmup_steps, self.value, self.then(ops.maximum(step - self.warmup_steps, 0.0)))


class ExponentialWarmup(Schedule):
    """``target * (start / target) ** (1 - step / warmup_steps)``: the same factor in each step, up to another schedule.

    Args:
        warmup_steps: Steps up to where the other starts, the target.
        then: The schedule after it, which sees steps counted from there, or a number.
        start: Rate at step 0, positive.

    Raises:
        ArgumentError: the start, the number of steps or the target is not positive.

    Example:
        >>> schedule = ExponentialWarmup(4, 1.0, 0.0625)
        >>> [schedule(step).round(6).tolist() for step in (0, 1, 4)]
        [0.0625, 0.125, 1.0]
    """

    arguments: ClassVar[Kinds] = {"warmup_steps": STEPS, "start": POSITIVE, "then": SCHEDULE}
    then: Schedule

    def __init__(self, warmup_steps: float, then: ScheduleLike, start: float) -> None:
        super().__init__()
        self.warmup_steps = warmup_steps
        self.then = cast(Any, then)
        self.start = start
        self._gx_check_together()

    def _gx_check_together(self) -> None:
        """Raise if the other schedule starts at 0, which no factor leads to."""
        arrays = registry.current().arrays
        target = self.then(0)
        if arrays.is_concrete(target) and not float(target) > 0:
            raise ArgumentError(
                f"ExponentialWarmup towards {self.then!r}, which starts at {float(target):g}",
                "the rate grows by the same factor in each step, and none leads there",
                "a schedule that starts above 0, or LinearWarmup",
            )

    def rate(self, step: Array) -> Array:
        """See the class."""
        after = self.then(ops.maximum(step - self.warmup_steps, 0.0))  # below the boundary: its start, the target
        return after * (self.start / after) ** ops.maximum(1 - step / self.warmup_steps, 0.0)
