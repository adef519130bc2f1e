"""EverySteps: when so many steps are over again, also where several are run at once."""

from __future__ import annotations


class EverySteps:
    """Tells when ``every`` steps are over again; 0 for never.

    With ``steps_per_execution=`` hooks see the last step of each run alone, which is seldom a multiple: what was due
    within a run is due at its end.

    Args:
        every: Steps between two times.

    Example:
        >>> due = EverySteps(5)
        >>> due.begin(0)
        >>> [step for step in (4, 8, 12, 16) if due.comes_at(step)]
        [8, 12, 16]
    """

    def __init__(self, every: int) -> None:
        self.every = every
        self._last = 0

    def begin(self, step: int) -> None:
        """Take note of the step at which a run begins."""
        self._last = step

    def comes_at(self, step: int) -> bool:
        """Tell whether it is due at a step; asked once at each that hooks see."""
        last, self._last = self._last, step
        return self.every > 0 and step // self.every > last // self.every
