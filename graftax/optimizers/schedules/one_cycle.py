"""One cycle: up to a high rate and down to a very low one."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from graftax import ops
from graftax.core.errors import ArgumentError
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import COUNT, INSIDE, NOT_NEGATIVE, POSITIVE, Kinds, choice_of
from graftax.optimizers.schedules.schedule import Schedule


class OneCycle(Schedule):
    """From ``peak / start_factor`` to ``peak``, then down to ``peak / start_factor / end_factor``.

    The last step is ``total_steps - 1``, as in torch; the rate stays there.

    Args:
        peak: The highest rate.
        total_steps: Steps of the cycle, above 2.
        rising: The part of the cycle in which the rate rises, in (0, 1). Defaults to 0.3.
        start_factor: How many times smaller than the peak the start is. Defaults to 25.0.
        end_factor: How many times smaller than the start the end is. Defaults to 1e4.
        shape: Whether both parts are half a ``"cosine"`` or ``"linear"``. Defaults to ``"cosine"``.

    Raises:
        ArgumentError: an argument is out of range.

    Example:
        >>> schedule = OneCycle(1.0, 10, rising=0.5, start_factor=4.0)
        >>> [schedule(step).round(4).tolist() for step in (0, 2, 4)]
        [0.25, 0.625, 1.0]

    Source: Smith and Topin, arXiv:1708.07120.
    """

    arguments: ClassVar[Kinds] = {
        "peak": NOT_NEGATIVE,
        "total_steps": COUNT,
        "rising": INSIDE,
        "start_factor": POSITIVE,
        "end_factor": POSITIVE,
        "shape": choice_of("cosine", "linear"),
    }

    def __init__(
        self,
        peak: float,
        total_steps: int,
        rising: float = 0.3,
        start_factor: float = 25.0,
        end_factor: float = 1e4,
        shape: Literal["cosine", "linear"] = "cosine",
    ) -> None:
        super().__init__()
        self.peak = peak
        self.total_steps = total_steps
        self.rising = rising
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.shape = shape
        self._gx_check_together()

    def _gx_check_together(self) -> None:
        """Raise if one of the two parts has no step."""
        steps, rising = self.total_steps, self.rising
        if steps <= 2 or (isinstance(rising, int | float) and rising * steps <= 1):
            raise ArgumentError(
                f"OneCycle: total_steps={steps!r}, rising={rising!r}",
                "there is a step for each part",
                "total_steps=1000, rising=0.3",
            )

    def rate(self, step: Array) -> Array:
        """See the class."""
        start = self.peak / self.start_factor
        top, last = self.rising * self.total_steps - 1, self.total_steps - 1
        up = self._interpolate(start, self.peak, step / top)
        down = self._interpolate(self.peak, start / self.end_factor, (ops.minimum(step, last) - top) / (last - top))
        return ops.where(step <= top, up, down)

    def _interpolate(self, first: float, last: float, done: Array) -> Array:
        part = done if self.shape == "linear" else 0.5 - 0.5 * ops.cos(math.pi * done)
        return first + (last - first) * part
