"""Schedules made of schedules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import NOT_NEGATIVE, STEPS, Kinds
from graftax.optimizers.schedules.schedule import (
    BOUNDARIES,
    SCHEDULE,
    SCHEDULES,
    Schedule,
    ScheduleLike,
    check_boundaries,
)


class LinearWarmup(Schedule):
    """A straight line up to where another schedule starts, which then sees steps counted from there.

    Args:
        warmup_steps: Steps of the line.
        then: The schedule after it, or a number.
        start: Rate at step 0. Defaults to 0.0.

    Example:
        >>> import graftax as gx
        >>> schedule = LinearWarmup(4, gx.optimizers.schedules.CosineDecay(1.0, 10))
        >>> [schedule(step).round(6).tolist() for step in (0, 1, 4, 9)]
        [0.0, 0.25, 1.0, 0.5]
    """

    arguments: ClassVar[Kinds] = {"warmup_steps": STEPS, "start": NOT_NEGATIVE, "then": SCHEDULE}
    then: Schedule

    def __init__(self, warmup_steps: float, then: ScheduleLike, start: float = 0.0) -> None:
        super().__init__()
        self.warmup_steps = warmup_steps
        self.then = cast(Any, then)
        self.start = start

    def rate(self, step: Array) -> Array:
        """See the class."""
        after = self.then(ops.maximum(step - self.warmup_steps, 0.0))  # below the boundary: its start, the target
        return self.start + (after - self.start) * ops.minimum(step / self.warmup_steps, 1.0)


class Join(Schedule):
    """One schedule after another, each of which sees steps counted from its own start.

    Args:
        schedules: Schedules, or numbers.
        boundaries: Steps in ascending order, one less than schedules: the first step of each but the first.

    Raises:
        ArgumentError: the boundaries do not ascend, or the numbers of both do not fit.

    Example:
        >>> import graftax as gx
        >>> schedule = Join([0.5, gx.optimizers.schedules.PolynomialDecay(0.5, 10, 0.0)], [100])
        >>> [schedule(step).tolist() for step in (99, 100, 105)]
        [0.5, 0.5, 0.25]
    """

    arguments: ClassVar[Kinds] = {"schedules": SCHEDULES, "boundaries": BOUNDARIES}
    schedules: list[Schedule]
    boundaries: tuple[float, ...]

    def __init__(self, schedules: Sequence[ScheduleLike], boundaries: Sequence[float]) -> None:
        super().__init__()
        self.boundaries = cast(Any, boundaries)
        self.schedules = cast(Any, schedules)
        self._gx_check_together()

    def _gx_check_together(self) -> None:
        """Raise unless the boundaries ascend, and are as many as it takes."""
        check_boundaries(self.boundaries, len(self.schedules), "schedules", first=1)

    def rate(self, step: Array) -> Array:
        """See the class."""
        found = self.schedules[0](step)
        for boundary, schedule in zip(self.boundaries, self.schedules[1:], strict=True):
            found = ops.where(step >= boundary, schedule(ops.maximum(step - boundary, 0.0)), found)
        return found
