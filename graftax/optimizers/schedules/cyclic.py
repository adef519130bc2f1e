"""A rate that goes up and down again and again."""

from __future__ import annotations

from typing import ClassVar

from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import NOT_NEGATIVE, POSITIVE, STEPS, Kinds
from graftax.optimizers.schedules.schedule import Schedule


class Cyclic(Schedule):
    """Straight up from ``low`` to ``high``, straight down, and so on: torch's mode ``triangular``.

    Args:
        low: The lowest rate, at step 0.
        high: The highest.
        steps_up: Steps from low to high. Defaults to 2000.
        steps_down: Steps from high to low. Defaults to ``steps_up``.
        cycle_factor: Factor on ``high - low`` for each cycle; 0.5 for the mode ``triangular2``. Defaults to 1.0.
        step_factor: Factor on ``high - low`` for each step, for the mode ``exp_range``. Defaults to 1.0.

    Raises:
        ArgumentError: a number of steps is not positive.

    Example:
        >>> schedule = Cyclic(0.0, 1.0, 4, cycle_factor=0.5)
        >>> [schedule(step).tolist() for step in (0, 1, 4, 6, 8, 12)]
        [0.0, 0.25, 1.0, 0.5, 0.0, 0.5]

    Source: Smith, arXiv:1506.01186.
    """

    arguments: ClassVar[Kinds] = {
        "low": NOT_NEGATIVE,
        "high": NOT_NEGATIVE,
        "steps_up": STEPS,
        "steps_down": STEPS.or_none(),
        "cycle_factor": POSITIVE,
        "step_factor": POSITIVE,
    }

    def __init__(
        self,
        low: float,
        high: float,
        steps_up: float = 2000,
        steps_down: float | None = None,
        cycle_factor: float = 1.0,
        step_factor: float = 1.0,
    ) -> None:
        super().__init__()
        self.low = low
        self.high = high
        self.steps_up = steps_up
        self.steps_down = steps_down
        self.cycle_factor = cycle_factor
        self.step_factor = step_factor
        self._gx_check_together()

    def _gx_check_together(self) -> None:
        """Raise if the lowest rate is above the highest."""
        low, high = self.low, self.high
        if isinstance(low, int | float) and isinstance(high, int | float) and low > high:
            raise ArgumentError(f"Cyclic: low={low!r}, high={high!r}", "it goes up first", f"Cyclic({high!r}, {low!r})")

    def rate(self, step: Array) -> Array:
        """See the class."""
        down = self.steps_up if self.steps_down is None else self.steps_down
        length = self.steps_up + down
        cycle = ops.floor(step / length)
        place = step - cycle * length
        height = ops.minimum(place / self.steps_up, (length - place) / down)
        return self.low + (self.high - self.low) * height * self.cycle_factor**cycle * self.step_factor**step
