"""Warm-up, a long stable part, and a short decay."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from graftax import ops
from graftax.core.typedefs import Array
from graftax.optimizers.arguments.kinds import NOT_NEGATIVE, STEPS, Kinds, choice_of
from graftax.optimizers.schedules.schedule import Schedule


class WarmupStableDecay(Schedule):
    """Straight up from 0 to ``peak``, constant, then down to ``end``; the stable part can be of any length.

    Args:
        peak: Rate of the stable part.
        warmup_steps: Steps up to it, from 0.
        stable_steps: Steps in it.
        decay_steps: Steps of the decay.
        end: Rate at the end, and after it. Defaults to 0.0.
        shape: How it falls: ``"linear"``, half a ``"cosine"``, or ``"root"``: ``1 - sqrt(part done)``. Defaults to
            ``"linear"``.

    Raises:
        ArgumentError: a number of steps is not positive, or the shape is unknown.

    Example:
        >>> schedule = WarmupStableDecay(1.0, 4, 10, 4)
        >>> [schedule(step).tolist() for step in (0, 1, 4, 14, 15, 18)]
        [0.0, 0.25, 1.0, 1.0, 0.75, 0.0]

    Source: Hu et al. (MiniCPM), arXiv:2404.06395; the root: Hägele et al., arXiv:2405.18392.
    """

    arguments: ClassVar[Kinds] = {
        "peak": NOT_NEGATIVE,
        "end": NOT_NEGATIVE,
        "warmup_steps": STEPS,
        "stable_steps": STEPS,
        "decay_steps": STEPS,
        "shape": choice_of("linear", "cosine", "root"),
    }

    def __init__(
        self,
        peak: float,
        warmup_steps: float,
        stable_steps: float,
        decay_steps: float,
        end: float = 0.0,
        shape: Literal["linear", "cosine", "root"] = "linear",
    ) -> None:
        super().__init__()
        self.peak = peak
        self.warmup_steps = warmup_steps
        self.stable_steps = stable_steps
        self.decay_steps = decay_steps
        self.end = end
        self.shape = shape

    def rate(self, step: Array) -> Array:
        """See the class."""
        done = ops.clip((step - self.warmup_steps - self.stable_steps) / self.decay_steps, 0.0, 1.0)
        if self.shape == "cosine":
            done = 0.5 - 0.5 * ops.cos(math.pi * done)
        elif self.shape == "root":
            done = ops.sqrt(done)
        return (self.peak + (self.end - self.peak) * done) * ops.minimum(step / self.warmup_steps, 1.0)
