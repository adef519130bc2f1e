"""A rate that falls with the root of time, after a warm-up."""

from __future__ import annotations

from typing import ClassVar

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import NOT_NEGATIVE, STEPS, Kinds
from graftax.optimizers.schedules.schedule import Schedule


class InverseSquareRoot(Schedule):
    """``peak * min(t / warmup_steps, sqrt(warmup_steps / t))`` with ``t = step + 1``, the number of the update.

    The schedule of the Transformer ("Noam") is that of ``peak = factor / sqrt(model_size * warmup_steps)``.

    Args:
        peak: The highest rate, in update ``warmup_steps``.
        warmup_steps: Updates up to it.

    Raises:
        ArgumentError: the number of steps is not positive.

    Example:
        >>> schedule = InverseSquareRoot(1.0, 4)
        >>> [schedule(step).tolist() for step in (0, 3, 15)]
        [0.25, 1.0, 0.5]

    Source: Vaswani et al., arXiv:1706.03762, section 5.3.
    """

    arguments: ClassVar[Kinds] = {"peak": NOT_NEGATIVE, "warmup_steps": STEPS}

    def __init__(self, peak: float, warmup_steps: float) -> None:
        super().__init__()
        self.peak = peak
        self.warmup_steps = warmup_steps

    def rate(self, step: Array) -> Array:
        """See the class."""
        count = step + 1
        return self.peak * ops.minimum(count / self.warmup_steps, ops.sqrt(self.warmup_steps / count))
